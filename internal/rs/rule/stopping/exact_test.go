package stopping

import (
	"math"
	"testing"

	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// ways is the exact distribution of how a trial ends when each sample hits with probability p, independently: every
// trial that is done, with its probability.
func ways(t testing.TB, plan *Plan, p float64) map[Trial]float64 {
	t.Helper()
	done := map[Trial]float64{}
	chance := map[int][]float64{} // by samples: of each number of hits
	for at := map[Trial]float64{*plan.Trial(0, 1): 1}; len(at) > 0; {
		next := map[Trial]float64{}
		for trial, weight := range at {
			from, to := trial.Blocks()
			n := (to - from) * plan.block
			if chance[n] == nil {
				for hits := range n + 1 {
					chance[n] = append(chance[n], binomial(n, hits, p))
				}
			}
			for hits := range n + 1 {
				after, here := trial, weight*chance[n][hits]
				if here < 1e-13 { // all of them together are less than 1e-7, as is checked below
					continue
				}
				look := ledger.Look{Label: 1, From: from, To: to, Misses: n - hits}
				if hits > 0 {
					look.Counts = []ledger.Count{{Class: 1, N: hits}}
				}
				if err := after.Add(look); err != nil {
					t.Fatal(err)
				}
				if after.Done() {
					done[after] += here
				} else {
					after.Passes, after.Misses = 0, 0 // do not matter to what follows
					if plan.rule.Sizes == nil {
						after.votes = 0 // nor do these
					}
					next[after] += here
				}
			}
		}
		at = next
	}
	return done
}

func binomial(n, k int, p float64) float64 {
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return math.Exp(lg(n) - lg(k) - lg(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// The probability of a false claim, summed over every way that the samples can fall, is at most α, at
// the p at which it is largest too: just below what certifies one more radius. It is not needlessly small.
func TestFalseClaimsExactly(t *testing.T) {
	const alpha, sigma = .05, .5
	grid := []float64{.2, .5}
	for _, c := range []struct {
		settings rule.Settings
		least    float64 // of the probability, as a fraction of α; betting overshoots at its blocks, and ends at its last look
	}{
		{rule.Settings{Rule: rule.Fixed, MaxSamples: 300}, .8},
		{rule.Settings{Rule: rule.Staged, MaxSamples: 160, Tolerance: 1e-9}, .6},
		{rule.Settings{Rule: rule.Staged, MaxSamples: 160, Tolerance: .1}, .3},
		{rule.Settings{Rule: rule.ISS, MaxSamples: 160, Selection: 40, Tolerance: .1}, .7},
		{rule.Settings{Rule: rule.ISS, MaxSamples: 160, Selection: 40, Tolerance: .2, Relative: true}, .7},
		{rule.Settings{Rule: rule.Betting, MaxSamples: 300, Radii: grid[:1]}, .15},
		{rule.Settings{Rule: rule.Betting, MaxSamples: 300, Radii: grid}, .3},
		{rule.Settings{Rule: rule.Betting, MaxSamples: 300, Radii: grid, Futility: .5}, .3},
	} {
		c.settings.Alpha, c.settings.Sigma, c.settings.Block = alpha, sigma, 20
		plan, err := New(c.settings)
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for _, radius := range grid {
			// A radius of the grid is false if the true one is smaller by anything.
			p := normalCDF(radius / sigma * (1 - 1e-12))
			wrong, all := 0.0, 0.0
			for trial, weight := range ways(t, plan, p) {
				all += weight
				if trial.Class != Abstain && sigma*math.Sqrt2*math.Erfinv(2*p-1) < trial.Radius {
					wrong += weight
				}
			}
			if math.Abs(all-1) > 1e-7 {
				t.Fatalf("%+v: the ways sum to %v", c.settings, all)
			}
			if wrong > alpha*(1+1e-9) {
				t.Errorf("%+v: at the true radius %v a false claim has probability %v", c.settings, radius, wrong)
			}
			worst = max(worst, wrong)
		}
		if worst < c.least*alpha {
			t.Errorf("%+v: a false claim has probability %v at most, which wastes noise samples", c.settings, worst)
		}
		t.Logf("%s %v: at most %.4f", c.settings.Rule, c.settings.Radii, worst)
	}
}

// A class without hope is dropped early, and with the probability that its level says.
func TestHopelessImagesEndEarly(t *testing.T) {
	plan, err := New(rule.Settings{Rule: rule.Betting, Sigma: .5, MaxSamples: 2000, Block: 20, Radii: []float64{.5}})
	if err != nil {
		t.Fatal(err)
	}
	late, samples := 0.0, 0.0
	for trial, weight := range ways(t, plan, .6) { // .84 is needed
		if trial.Class != Abstain || trial.Lower != 0 || trial.Radius != 0 {
			t.Fatalf("certified: %+v", trial.Outcome)
		}
		if trial.N == 2000 {
			late += weight
		}
		samples += weight * float64(trial.N)
	}
	if late > 1e-6 || samples > 100 {
		t.Errorf("%v go on to the end, %v noise samples on average", late, samples)
	}
}
