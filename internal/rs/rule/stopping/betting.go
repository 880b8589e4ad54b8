package stopping

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// maxTargets keeps the header a line that people can open.
const maxTargets = 1000

func planBetting(s *rule.Settings) (ledger.Rule, error) {
	r := ledger.Rule{Futility: s.Futility,
		Budget: "time-uniform: alpha at all looks together, for the radii in ascending order"}
	if s.Futility == 0 {
		r.Futility = s.Alpha
	}
	switch {
	case !(r.Futility > 0 && r.Futility < 1):
		return r, OptionErrorf("Futility is %v, want a level between 0 and 1", s.Futility)
	case len(s.Radii) == 0:
		return r, OptionErrorf("Radii is empty, but the rule %q tests radii: name them, e.g. 0.25", rule.Betting)
	case len(s.Radii) > maxTargets:
		return r, OptionErrorf("Radii has %d radii, want at most %d", len(s.Radii), maxTargets)
	}
	for n := s.Block; ; n += max(1, n/s.Block/20) * s.Block {
		r.Looks = append(r.Looks, ledger.Level{Samples: min(n, s.MaxSamples), Alpha: s.Alpha})
		if n >= s.MaxSamples {
			break
		}
	}
	for i, radius := range s.Radii {
		if !(radius >= 0) || math.IsInf(radius, 0) || i > 0 && radius <= s.Radii[i-1] {
			return r, OptionErrorf("Radii has %v, want ascending radii of at least 0", radius)
		}
		p, err := bound.Threshold(radius, s.Sigma)
		if err != nil {
			return r, OptionErrorf("Radii has %v, which no number of noise samples certifies at σ = %v", radius,
				s.Sigma)
		}
		r.Targets = append(r.Targets, ledger.Target{Radius: radius, Probability: probabilityText(p.P)})
	}
	return r, nil
}

// betting tests radii in ascending order.
type betting struct {
	looks   []ledger.Level
	targets []target
}

// target is one radius under test.
type target struct {
	radius, lower float64
	above, below  *bound.Betting // that p is above the target's probability, that 1−p is above the complement
	least, misses []atomic.Int64 // by look: hits that certify, misses that end; 0: not yet computed
}

func readBetting(p *Plan) (method, error) {
	if len(p.rule.Targets) == 0 || len(p.rule.Targets) > maxTargets {
		return nil, fmt.Errorf("the rule %q has %d targets, want 1 to %d", p.rule.Name, len(p.rule.Targets), maxTargets)
	}
	b := &betting{looks: p.rule.Looks, targets: make([]target, len(p.rule.Targets))}
	for i, to := range p.rule.Targets {
		t := &b.targets[i]
		at, err := parseProbability(to.Probability)
		if err != nil {
			return nil, err
		}
		if need, err := bound.Threshold(to.Radius, p.sigma); err != nil || at != need {
			return nil, fmt.Errorf("the radius %v is tested at the probability %s, which is not Φ(%[1]v/%[3]v) "+
				"rounded up", to.Radius, to.Probability, p.sigma)
		}
		if t.above, err = bound.NewBetting(at, p.alpha); err != nil {
			return nil, err
		}
		if t.below, err = bound.NewBetting(bound.Probability{P: at.Q, Q: at.P}, p.rule.Futility); err != nil {
			return nil, err
		}
		t.radius, t.lower = to.Radius, at.P
		t.least, t.misses = make([]atomic.Int64, len(b.looks)), make([]atomic.Int64, len(b.looks))
	}
	if n := p.MaxSamples(); !p.judges && b.targets[len(b.targets)-1].above.LeastHits(n) > n {
		return nil, fmt.Errorf("the radius %v cannot be certified with %d noise samples at α = %v, even if all hit; "+
			"leave it out or raise their number",
			b.targets[len(b.targets)-1].radius, n, p.alpha)
	}
	return b, nil
}

// lookUp is the least number of hits with which a test decides at a look, computed once.
func lookUp(table []atomic.Int64, i int, test *bound.Betting, samples int) int {
	if v := table[i].Load(); v > 0 {
		return int(v)
	}
	v := test.LeastHits(samples)
	table[i].Store(int64(v))
	return v
}

func (b *betting) samples(i, _ int) int { return b.looks[i].Samples }

func (b *betting) judge(t *Trial, i, n int) bool {
	for t.targets < len(b.targets) {
		next := &b.targets[t.targets]
		if t.hits < lookUp(next.least, i, next.above, n) {
			if t.targets == 0 {
				t.K, t.N = t.hits, n
			}
			return i == len(b.looks)-1 || n-t.hits >= lookUp(next.misses, i, next.below, n)
		}
		t.K, t.N, t.Lower, t.Radius = t.hits, n, next.lower, next.radius
		t.targets++
	}
	return true
}

func (b *betting) most() float64 { return b.targets[len(b.targets)-1].radius }
