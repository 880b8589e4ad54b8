package stopping

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// issGrid is the number of steps between p = ½ and 1 at which n* is computed.
const issGrid = 500

func planISS(s *rule.Settings) (ledger.Rule, error) {
	if err := tolerance(s); err != nil {
		return ledger.Rule{}, err
	}
	r := ledger.Rule{
		Tolerance: s.Tolerance, Relative: s.Relative,
		Looks:  []ledger.Level{{Samples: s.MaxSamples, Alpha: s.Alpha}},
		Sizes:  issSizes(s),
		Budget: "all of alpha at the one look, whose copies are none of those that chose their number",
	}
	if len(r.Sizes) == 1 {
		return r, OptionErrorf("Tolerance is %v, which gives up every radius that %d noise samples can certify",
			s.Tolerance, s.MaxSamples)
	}
	return r, nil
}

// issSizes gives the samples for each number of votes, as steps.
func issSizes(s *rule.Settings) []ledger.Size {
	needed := make([]int, issGrid+1)
	for i := range needed {
		needed[i] = issSamples(s, float64(issGrid+i)/(2*issGrid))
	}
	at := func(p float64) int { return min(issGrid, max(0, int(math.Floor(p*2*issGrid))-issGrid)) }
	sizes := []ledger.Size{{Hits: 0, Samples: 0}}
	for votes := 1; votes <= s.Selection; votes++ {
		samples := 0
		low := must(bound.Lower(votes, s.Selection, s.Alpha/2))
		if high := must(bound.Upper(votes, s.Selection, s.Alpha/2)); high.P >= 0.5 {
			samples = slices.Max(needed[at(low.P) : min(issGrid, at(high.P)+1)+1])
		}
		if samples != sizes[len(sizes)-1].Samples {
			sizes = append(sizes, ledger.Size{Hits: votes, Samples: samples})
		}
	}
	return sizes
}

// issSamples is n*(p).
func issSamples(s *rule.Settings, p float64) int {
	// tail is P[Bin(n, at) ≥ n·p], continued to a real number of hits; LCB is where it is α.
	tail := func(n, at float64) float64 {
		if p == 1 {
			return math.Pow(at, n)
		}
		return mathext.RegIncBeta(n*p, n-n*p+1, at)
	}
	most := float64(s.MaxSamples)
	best := math.Pow(s.Alpha, 1/most)
	if p < 1 {
		best = mathext.InvRegIncBeta(most*p, most-most*p+1, s.Alpha)
	}
	target := s.Sigma*mathext.NormalQuantile(best) - s.Tolerance
	if s.Relative {
		target = s.Sigma * mathext.NormalQuantile(best) * (1 - s.Tolerance)
	}
	if !(target > 0) {
		return 0
	}
	at := normalCDF(target / s.Sigma)
	low, high := 0, s.MaxSamples/s.Block // high suffices, low does not
	for high-low > 1 {
		middle := low + (high-low)/2
		if tail(float64(middle*s.Block), at) <= s.Alpha {
			high = middle
		} else {
			low = middle
		}
	}
	return high * s.Block
}

func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// iss has one look of a size that the selection chose.
type iss struct {
	sigma, alpha float64
	sizes        []ledger.Size
}

func readISS(p *Plan) (method, error) {
	if n := len(p.rule.Looks); n != 1 {
		return nil, fmt.Errorf("the rule %q has %d looks, want 1", p.rule.Name, n)
	}
	for _, s := range p.rule.Sizes {
		if s.Samples%p.block != 0 || s.Samples > p.MaxSamples() || s.Hits > p.selection {
			return nil, fmt.Errorf("%d noise samples from %d hits on, want at most %d noise samples, a multiple of "+
				"the block of %d, and at most %d hits",
				s.Samples, s.Hits, p.MaxSamples(), p.block, p.selection)
		}
	}
	return &iss{p.sigma, p.rule.Looks[0].Alpha, p.rule.Sizes}, nil
}

func (m *iss) samples(_, votes int) int {
	for i := len(m.sizes) - 1; i >= 0; i-- {
		if votes >= m.sizes[i].Hits {
			return m.sizes[i].Samples
		}
	}
	return 0
}

func (m *iss) judge(t *Trial, _, n int) bool {
	t.K, t.N = t.hits, n
	t.Lower, t.Radius = certificate(m.sigma, must(bound.Lower(t.hits, n, m.alpha)))
	return true
}

func (m *iss) most() (radius float64) {
	n := 0
	for _, s := range m.sizes {
		n = max(n, s.Samples)
	}
	if n > 0 {
		_, radius = certificate(m.sigma, must(bound.Lower(n, n, m.alpha)))
	}
	return radius
}
