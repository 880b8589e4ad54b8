package stopping

import (
	"fmt"

	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// firstLook is the number of samples, rounded up to a block, at the first look of Staged.
const firstLook = 100

func planStaged(s *rule.Settings) (ledger.Rule, error) {
	if err := tolerance(s); err != nil {
		return ledger.Rule{}, err
	}
	r := ledger.Rule{Tolerance: s.Tolerance}
	for n := RoundUp(firstLook, s.Block); n < s.MaxSamples; n *= 2 {
		r.Looks = append(r.Looks, ledger.Level{Samples: n})
	}
	r.Looks = append(r.Looks, ledger.Level{Samples: s.MaxSamples})
	for i := range r.Looks {
		r.Looks[i].Alpha = s.Alpha / float64(len(r.Looks))
	}
	r.Budget = fmt.Sprintf("union bound: alpha/%d at each look", len(r.Looks))
	return r, nil
}

// staged has a Clopper-Pearson bound at each look, and keeps the best.
type staged struct {
	sigma, tolerance float64
	looks            []ledger.Level
}

func readStaged(p *Plan) (method, error) {
	return &staged{p.sigma, p.rule.Tolerance, p.rule.Looks}, nil
}

func (s *staged) samples(i, _ int) int { return s.looks[i].Samples }

func (s *staged) judge(t *Trial, i, n int) bool {
	lower, radius := certificate(s.sigma, must(bound.Lower(t.hits, n, s.looks[i].Alpha)))
	if i == 0 || lower > t.Lower {
		t.K, t.N, t.Lower, t.Radius = t.hits, n, lower, radius
	}
	if i == len(s.looks)-1 {
		return true
	}
	projected := int(int64(t.hits) * int64(s.last().Samples) / int64(n))
	return s.atLast(projected)-t.Radius <= s.tolerance
}

func (s *staged) last() ledger.Level { return s.looks[len(s.looks)-1] }

// atLast is the radius, not yet rounded for print, of so many hits at the last look.
func (s *staged) atLast(hits int) float64 {
	return must(bound.Radius(s.sigma, must(bound.Lower(hits, s.last().Samples, s.last().Alpha))))
}

func (s *staged) most() float64 {
	_, radius := certificate(s.sigma, must(bound.Lower(s.last().Samples, s.last().Samples, s.last().Alpha)))
	return radius
}
