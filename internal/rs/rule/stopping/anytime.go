package stopping

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/portable"
	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

const (
	anytimeStrength = 60          // r of the prior Beta(rp, r(1−p)) against p
	anytimeMost     = 100_000_000 // default of MaxSamples: a guard of what the bounds are derived for, not an aim
	anytimeWords    = "time-uniform: alpha at all numbers of noise samples together, by a mixture with the prior " +
		"Beta(60 p, 60 (1-p)) against p"
	shardWords = "; shards that spread their noise samples alone: "
)

func planAnytime(s *rule.Settings) (ledger.Rule, error) {
	r := ledger.Rule{Looks: []ledger.Level{{Samples: s.MaxSamples, Alpha: s.Alpha}}, Budget: anytimeWords}
	if s.Shards > 1 {
		r.Budget += shardWords + strconv.Itoa(s.Shards)
	}
	return r, nil
}

// anytime has one look of any length.
type anytime struct {
	sigma   float64
	level   ledger.Level
	mixture *bound.Mixture
}

func readAnytime(p *Plan) (method, error) {
	if n := len(p.rule.Looks); n != 1 {
		return nil, fmt.Errorf("the rule %q has %d looks, want 1", p.rule.Name, n)
	}
	if words, shards, cut := strings.Cut(p.rule.Budget, shardWords); words != anytimeWords || cut &&
		strings.Trim(shards, "0123456789") != "" {
		return nil, fmt.Errorf("the budget of the rule %q is %q, want %q", p.rule.Name, p.rule.Budget, anytimeWords)
	}
	look := p.rule.Looks[0]
	mixture, err := bound.NewMixture(look.Alpha, anytimeStrength)
	if err != nil {
		return nil, err
	}
	return &anytime{p.sigma, look, mixture}, nil
}

func (a *anytime) samples(int, int) int { return a.level.Samples }

func (a *anytime) judge(t *Trial, _, n int) bool {
	t.K, t.N = t.hits, n
	t.Lower, t.Radius = certificate(a.sigma, must(a.mixture.Lower(t.hits, n)))
	return true
}

func (a *anytime) most() float64 {
	_, radius := certificate(a.sigma, must(a.mixture.Lower(a.level.Samples, a.level.Samples)))
	return radius
}

// Upper bounds the radius from above, for hits of n noise samples behind the selection. It holds together with the
// certified radius. If the probability of the class is in its confidence sequence, the true radius of the smoothed
// classifier for that class is between the two. It is 0 where the class is no majority, and +Inf where all samples hit,
// or all but one.
//
// Errors: a rule other than Anytime; counts out of range.
func (p *Plan) Upper(hits, n int) (float64, error) {
	a, ok := p.method.(*anytime)
	if !ok {
		return 0, fmt.Errorf("rs: the rule %q has no upper bound that holds together with its radius", p.rule.Name)
	}
	up, err := a.mixture.Upper(hits, n)
	switch {
	case err != nil:
		return 0, err
	case up.Q == 0:
		return math.Inf(1), nil
	case up.P <= 0.5:
		return 0, nil
	}
	return -a.sigma * portable.NormalQuantile(up.Q) * (1 + 1e-9), nil
}

// Chunk returns the number of noise samples that an image gets next, with n behind its selection: an eighth of n in
// whole blocks, at least one. It is 0 at MaxSamples.
func (p *Plan) Chunk(n int) int {
	return min(max(1, n/p.block/8)*p.block, p.MaxSamples()-n)
}

// Priority returns the expected gain of radius, in units of σ, from one more noise sample of an image, with hits of n
// behind its selection. It is the largest mean over the next 1, 4, 16, … chunks, if they hit as often as those seen and
// one standard error more. It is a function of the counts alone, with the same bits on every platform. It decides where
// samples go, never what is claimed. It is 0 where nothing can be gained.
func (p *Plan) Priority(hits, n int) float64 {
	k, have := float64(hits), float64(n)
	missed := (have - k) / have
	missed = max(0, missed-math.Sqrt(float64(missed*(1-missed))/have))
	now, best := p.expected(have-k, have), 0.0
	for more := p.Chunk(n); more > 0; more *= 4 {
		more = min(more, p.MaxSamples()-n)
		then := have + float64(more)
		if gain := (p.expected(have-k+float64(missed*float64(more)), then) - now) / float64(more); gain > best {
			best = gain
		}
		if n+more >= p.MaxSamples() {
			break
		}
	}
	return best
}

// expected approximates Φ⁻¹ of the lower bound after misses of n samples, neither a whole number; 0
// where the bound is below ½. Products are rounded by themselves, so that no platform fuses them
// with a sum.
func (p *Plan) expected(misses, n float64) float64 {
	const r = anytimeStrength
	hits, rate := n-misses, misses/n
	if rate >= 0.5 {
		return 0
	}
	all := logGamma(n+r) - logGamma(r)
	wealth := func(q float64) float64 { // ln M, see bound.Mixture
		a, b := float64(r*(1-q)), float64(r*q)
		w := logGamma(hits+a) - logGamma(a) - all - float64(hits*portable.Log(1-q))
		if misses > 0 {
			w += logGamma(misses+b) - logGamma(b) - float64(misses*portable.Log(q))
		}
		return w
	}
	goal := -portable.Log(p.alpha)
	low, high := rate, 0.5
	if wealth(high) < goal {
		return 0
	}
	for range 24 {
		middle := 0.5 * (low + high)
		if low > 0 && high > 2*low {
			middle = math.Sqrt(float64(low * high))
		} else if low == 0 {
			middle = high / 8
		}
		if wealth(middle) < goal {
			low = middle
		} else {
			high = middle
		}
	}
	return -portable.NormalQuantile(high)
}

// logGamma is ln Γ(x) of x > 0 by Stirling's series from 8 on, with the same bits on every platform.
func logGamma(x float64) float64 {
	const halfLog2Pi = 0.9189385332046728
	product := 1.0
	for ; x < 8; x++ {
		product = float64(product * x)
	}
	square := float64(1 / float64(x*x))
	series := float64((1./12 - float64(square*(1./360-float64(square/1260)))) / x)
	return float64((x-0.5)*portable.Log(x)) - x + halfLog2Pi + series - portable.Log(product)
}

// RadiusOf is σ·Φ⁻¹ of a probability, rounded up; 0 up to ½, +Inf at 1.
func (p *Plan) RadiusOf(probability float64) float64 {
	switch {
	case probability >= 1:
		return math.Inf(1)
	case probability <= 0.5:
		return 0
	}
	return p.sigma * portable.NormalQuantile(probability) * (1 + 1e-9)
}
