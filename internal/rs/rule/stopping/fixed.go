package stopping

import (
	"fmt"

	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

func planFixed(s *rule.Settings) (ledger.Rule, error) {
	return ledger.Rule{
		Looks:  []ledger.Level{{Samples: s.MaxSamples, Alpha: s.Alpha}},
		Budget: "all of alpha at the one look",
	}, nil
}

// fixed has one look.
type fixed struct {
	sigma float64
	look  ledger.Level
}

func readFixed(p *Plan) (method, error) {
	if n := len(p.rule.Looks); n != 1 {
		return nil, fmt.Errorf("the rule %q has %d looks, want 1", p.rule.Name, n)
	}
	return fixed{p.sigma, p.rule.Looks[0]}, nil
}

func (f fixed) samples(int, int) int { return f.look.Samples }

func (f fixed) judge(t *Trial, _, n int) bool {
	t.K, t.N = t.hits, n
	t.Lower, t.Radius = certificate(f.sigma, must(bound.Lower(t.hits, n, f.look.Alpha)))
	return true
}

func (f fixed) most() float64 {
	_, radius := certificate(f.sigma, must(bound.Lower(f.look.Samples, f.look.Samples, f.look.Alpha)))
	return radius
}
