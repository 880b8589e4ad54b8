package stopping

import (
	"strings"
	"testing"

	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// spec §10.3: n* in blocks of 200 at σ = .25, α = .001 and n̄ = 100,000.
func TestISSSamples(t *testing.T) {
	at := []float64{.6, .7, .8, .9, .95, .99, .999, 1}
	for tolerance, want := range map[float64][]int{
		.01: {5800, 6000, 6800, 8800, 11600, 22600, 47200, 85200},
		.05: {400, 400, 600, 600, 1000, 2400, 8800, 45400},
	} {
		s := rule.Settings{Sigma: .25, Alpha: .001, MaxSamples: 100_000, Block: 200, Tolerance: tolerance}
		for i, p := range at {
			if got := issSamples(&s, p); got != want[i] {
				t.Errorf("tolerance %v: %d noise samples at p = %v, want %d", tolerance, got, p, want[i])
			}
		}
	}
}

// The pilot's votes choose the samples and enter no bound; the bound spends all of α.
func TestISSRule(t *testing.T) {
	p := testPlan(t, rule.Settings{Rule: rule.ISS, Sigma: .25, Block: 200, Tolerance: .05})
	if p.Selection() != 1000 || len(p.rule.Looks) != 1 || p.rule.Looks[0] != (ledger.Level{Samples: 100_000, Alpha: .001}) {
		t.Errorf("plan %+v", p.rule)
	}
	// All 1,000 hit: p is between .9924 (α/2 = .0005, .0005^(1/1000)) and 1, where 45,400 samples are needed.
	tr := p.Trial(0, 1)
	if tr.Wanted() != 5 || tr.Possible() != 5 {
		t.Errorf("during the pilot blocks up to %d are wanted, %d possible; want 5, no look being known", tr.Wanted(), tr.Possible())
	}
	give(t, tr, 1000)
	if from, to := tr.Blocks(); from != 5 || to != 5+45_400/200 {
		t.Errorf("look at blocks %d to %d", from, to)
	}
	give(t, tr, 45_400)
	// Φ⁻¹(.001^(1/45400)) = 3.6116 by Python's statistics.NormalDist.
	if !tr.Done() || tr.N != 45_400 || tr.Passes != 46_400 || near(tr.Radius, "0.9029") || tr.Radius != p.RadiusCap() {
		t.Errorf("%+v, cap %v", tr.Outcome, p.RadiusCap())
	}
	// 460 of 1,000: at α/2 the upper bound is .51 or so, a radius that is given up; 400: below one half.
	for _, votes := range []int{460, 400} {
		tr = p.Trial(0, 1)
		if err := tr.Add(ledger.Look{To: 5, Counts: []ledger.Count{{Class: 3, N: votes}}, Misses: 1000 - votes}); err != nil {
			t.Fatal(err)
		}
		if !tr.Done() || tr.Class != Abstain || tr.N != 0 || tr.Passes != 1000 {
			t.Errorf("%d votes: %+v", votes, tr.Outcome)
		}
	}
	// 550: up to p = .6 is possible, where 400 samples are needed.
	tr = p.Trial(0, 1)
	give(t, tr, 550)
	if from, to := tr.Blocks(); to-from != 2 {
		t.Errorf("550 votes: %d blocks", to-from)
	}
	if _, err := New(rule.Settings{Rule: rule.ISS, Sigma: .25, Tolerance: 2}); err == nil || !strings.Contains(err.Error(), "gives up every radius") {
		t.Errorf("tolerance 2: %v", err)
	}
}
