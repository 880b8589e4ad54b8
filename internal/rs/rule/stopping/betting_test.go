package stopping

import (
	"strings"
	"testing"

	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

func TestParseProbability(t *testing.T) {
	for _, text := range []string{"0.500000000000000", "0.841344746068543", "0.999999999999999"} {
		p, err := parseProbability(text)
		if claim := Claim(rule.Outcome{Lower: p.P}, 0).Lower; err != nil || claim != text || p.Q <= 0 || p.P+p.Q != 1 {
			t.Errorf("%s reads as %+v and prints as %s, %v", text, p, claim, err)
		}
	}
	for _, text := range []string{"", "1", "0.5", "0.5000000000000000", "-0.50000000000000", "0.50000000000000e", "0,500000000000000"} {
		if _, err := parseProbability(text); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}

// all runs a trial of which so many samples in a hundred hit, the first of each hundred.
func all(t *testing.T, p *Plan, percent int) *Trial {
	t.Helper()
	tr := p.Trial(0, 1)
	give(t, tr, p.selection)
	hits, samples := 0, 0
	for !tr.Done() {
		from, to := tr.Blocks()
		samples += (to - from) * p.block
		sum := samples * percent / 100
		give(t, tr, sum-hits)
		hits = sum
	}
	return tr
}

// spec §10.5: with all hits r = σ needs 47 samples, 2σ 351 and 3σ 5,977, which the looks round up.
func TestBettingRule(t *testing.T) {
	p := testPlan(t, rule.Settings{Rule: rule.Betting, Sigma: .25, Block: 10, Radii: []float64{.25}})
	if tr := all(t, p, 100); tr.N != 50 || tr.K != 50 || tr.Class != 1 || tr.Radius != .25 || tr.Lower != .841344746068543 || tr.Passes != 150 {
		t.Errorf("%+v", tr.Outcome)
	}
	// One look certifies several radii, and the image ends with the last.
	p = testPlan(t, rule.Settings{Rule: rule.Betting, Sigma: .25, Block: 500, Radii: []float64{0, .25, .5}})
	if tr := all(t, p, 100); tr.N != 500 || tr.Radius != .5 || tr.Passes != 1000 || p.RadiusCap() != .5 {
		t.Errorf("%+v", tr.Outcome)
	}
	// 90 in 100: .25 needs .84, which is certified; .5 needs .977 and is hopeless. spec's table: 453 of 500, 889 of 1000.
	p = testPlan(t, rule.Settings{Rule: rule.Betting, Sigma: .25, Block: 50, Radii: []float64{.25, .5}})
	tr := all(t, p, 90)
	if tr.Class != 1 || tr.Radius != .25 || tr.Lower != .841344746068543 || tr.N <= 500 || tr.N > 1000 || tr.K != tr.N*9/10 || tr.Passes-50 < tr.N || tr.Passes > 1100 {
		t.Errorf("%+v", tr.Outcome)
	}
	// Never certified, never hopeless: k and n of the last look, and nothing claimed.
	p = testPlan(t, rule.Settings{Rule: rule.Betting, Sigma: .25, MaxSamples: 1000, Radii: []float64{.25}})
	if tr := all(t, p, 85); tr.Class != Abstain || tr.Lower != 0 || tr.Radius != 0 || tr.N != 1000 || tr.K != 850 || tr.Passes != 1100 {
		t.Errorf("%+v", tr.Outcome)
	}
	// Every block up to 20, then 5 % more.
	looks := testPlan(t, rule.Settings{Rule: rule.Betting, Sigma: 1, Radii: []float64{1}}).rule.Looks
	for i, l := range looks {
		if i < 40 && l.Samples != 100*(i+1) || l.Alpha != .001 || i > 0 && i < len(looks)-1 && float64(l.Samples-looks[i-1].Samples) > .0501*float64(l.Samples) && i >= 20 {
			t.Errorf("look %d at %+v", i, l)
		}
	}
	if looks[40].Samples != 4200 || looks[len(looks)-1].Samples != 100_000 || len(looks) > 120 {
		t.Errorf("looks %v", looks)
	}
	for want, radii := range map[string][]float64{
		"Radii is empty":                       nil,
		"Radii has 0.25, want ascending":       {.5, .25},
		"Radii has 0.5, want ascending":        {.5, .5},
		"Radii has -1, want ascending":         {-1},
		"2, which no number of noise samples":  {2},
		"0.95 cannot be certified with 100000": {.25, .95},
	} {
		if _, err := New(rule.Settings{Rule: rule.Betting, Sigma: .25, Radii: radii}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", radii, err, want)
		}
	}
}

// A header that a plan cannot have is refused by what is wrong.
func TestOf(t *testing.T) {
	make := func(s rule.Settings) ledger.Header {
		s.Sigma = .25
		p := testPlan(t, s)
		return ledger.Header{Sigma: .25, Alpha: p.alpha, Selection: p.selection, Block: p.block, Rule: p.Header()}
	}
	for _, s := range []rule.Settings{{}, {Rule: rule.Fixed}, {Rule: rule.ISS}, {Rule: rule.Betting, Radii: []float64{.1, .2}}} {
		h := make(s)
		s.Sigma = .25
		p, err := Of(h)
		if err != nil || p.RadiusCap() != testPlan(t, s).RadiusCap() {
			t.Errorf("%s: %v, %v", s.Rule, p, err)
		}
		for want, change := range map[string]func(h *ledger.Header){
			"the rule is \"bold\"": func(h *ledger.Header) { h.Rule.Name = "bold" },
			"has no look":          func(h *ledger.Header) { h.Rule.Looks = nil },
			"look is":              func(h *ledger.Header) { h.Rule.Looks[0].Samples++ },
			"selection is":         func(h *ledger.Header) { h.Selection = 0 },
			"spend":                func(h *ledger.Header) { h.Alpha /= 1.01 },
			"has sizes": func(h *ledger.Header) {
				h.Rule.Name, h.Rule.Sizes = rule.Fixed, []ledger.Size{{Samples: h.Rule.Looks[0].Samples}}
			},
			"has targets": func(h *ledger.Header) {
				h.Rule.Name, h.Rule.Sizes, h.Rule.Targets = rule.Staged, nil, []ledger.Target{{Radius: .1, Probability: "0.655421741610325"}}
			},
		} {
			h := make(s)
			change(&h)
			if _, err := Of(h); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", s.Rule, err, want)
			}
		}
	}
	for want, change := range map[string]func(h *ledger.Header){
		"has 0 targets":                  func(h *ledger.Header) { h.Rule.Targets = nil },
		"want 0. and 15":                 func(h *ledger.Header) { h.Rule.Targets[0].Probability = "0.6" },
		"alpha is 0":                     func(h *ledger.Header) { h.Rule.Futility = 0 },
		"cannot be certified with 1000 ": func(h *ledger.Header) { h.Rule.Looks = h.Rule.Looks[:10] },
		// Φ(.4) = .655421741610324166…, Φ(3.6) = .999840891409842466… (mpmath); a lower one would certify too much, a higher one too little.
		"0.655421741610324, which is not Φ(0.1/0.25)": func(h *ledger.Header) { h.Rule.Targets[0].Probability = "0.655421741610324" },
		"0.999840891409844, which is not Φ(0.9/0.25)": func(h *ledger.Header) { h.Rule.Targets[1].Probability = "0.999840891409844" },
		"tested at the probability":                   func(h *ledger.Header) { h.Rule.Targets[1].Radius = .8 },
		"which is not Φ(0.1/0.3)":                     func(h *ledger.Header) { h.Sigma = .3 },
	} {
		h := make(rule.Settings{Rule: rule.Betting, Radii: []float64{.1, .9}})
		change(&h)
		if _, err := Of(h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	h := make(rule.Settings{Rule: rule.ISS})
	h.Rule.Sizes[1].Samples++
	if _, err := Of(h); err == nil || !strings.Contains(err.Error(), "a multiple of the block") {
		t.Errorf("%v", err)
	}
}

func TestSettingsOfOtherRules(t *testing.T) {
	for _, s := range []rule.Settings{
		{Rule: rule.Fixed, Tolerance: .01}, {Rule: rule.Betting, Radii: []float64{.1}, Tolerance: .01}, {Rule: rule.Staged, Relative: true},
		{Radii: []float64{.1}}, {Rule: rule.ISS, Futility: .1}, {Rule: "bold"}, {Rule: rule.ISS, Relative: true}, {Rule: rule.ISS, Relative: true, Tolerance: 1},
		{OnlyCorrect: true}, {Rule: rule.Betting, Radii: []float64{.1}, Futility: 1}, {Rule: rule.Betting, Radii: []float64{.1}, Futility: -1},
	} {
		s.Sigma = .25
		if p, err := New(s); err == nil {
			t.Errorf("%+v passes: %+v", s, p.Header())
		}
	}
}
