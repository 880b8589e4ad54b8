package stopping

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

func testPlan(t testing.TB, s rule.Settings) *Plan {
	t.Helper()
	p, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// give adds the next look with so many hits of class 1; the others are of class 0.
func give(t testing.TB, tr *Trial, hits int) {
	t.Helper()
	from, to := tr.Blocks()
	l := ledger.Look{Image: tr.Image, From: from, To: to}
	if rest := (to-from)*tr.plan.block - hits; rest > 0 {
		l.Counts = append(l.Counts, ledger.Count{Class: 0, N: rest})
	}
	if hits > 0 {
		l.Counts = append(l.Counts, ledger.Count{Class: 1, N: hits})
	}
	if err := tr.Add(l); err != nil {
		t.Fatal(err)
	}
}

// spec §11.1: lower bounds to ten (or eight) digits and radii to six at α = .001; rounded down, as they must not be more.
func TestFixedRule(t *testing.T) {
	for _, c := range []struct {
		k, n         int
		lower, r, r2 string
	}{
		{100000, 100000, ".9999309248", ".952864", "1.905728"},
		{99990, 100000, ".9997586773", ".872552", "1.745104"},
		{99000, 100000, ".9889893404", ".572500", "1.145000"},
		{90000, 100000, ".8970364962", ".316211", ".632422"},
		{51000, 100000, ".5051093492", ".003202", ".006404"},
		{50490, 100000, ".5000089488", ".000006", ".000011"},
		{50489, 100000, "", "abstain", "abstain"},
		{9900, 10000, ".98653116", ".553105", "1.106210"},
		{900, 1000, ".86746402", ".278621", ".557242"},
		{99, 100, ".91137311", ".337315", ".674630"},
		{0, 100, "", "abstain", "abstain"},
	} {
		for sigma, want := range map[float64]string{.25: c.r, .5: c.r2} {
			tr := testPlan(t, rule.Settings{Sigma: sigma, Rule: rule.Fixed, MaxSamples: c.n}).Trial(3, 1)
			give(t, tr, 100)
			give(t, tr, c.k)
			row := tr.Outcome
			if !tr.done || row.N != c.n || row.K != c.k || row.Passes != c.n+100 {
				t.Errorf("%d of %d: done %v, %+v", c.k, c.n, tr.done, row)
			}
			if want == "abstain" {
				if row.Class != Abstain || row.Radius != 0 {
					t.Errorf("%d of %d: %+v, want an abstention", c.k, c.n, row)
				}
				continue
			}
			if row.Class != 1 || near(row.Lower, c.lower) || near(row.Radius, want) {
				t.Errorf("%d of %d at σ=%v: %+v, want %s and %s", c.k, c.n, sigma, row, c.lower, want)
			}
		}
	}
}

// near is false if got agrees with the digits of want, to half a unit and the outward rounding.
func near(got float64, want string) bool {
	v, _ := strconv.ParseFloat("0"+want, 64)
	if want[0] != '.' {
		v, _ = strconv.ParseFloat(want, 64)
	}
	unit := math.Pow(10, -float64(len(want)-strings.Index(want, ".")-1))
	return math.Abs(got-v) > .5*unit+2e-9*v
}

func TestStagedRule(t *testing.T) {
	p := testPlan(t, rule.Settings{Sigma: .25})
	sizes := []int{100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200, 100000}
	if len(p.rule.Looks) != len(sizes) {
		t.Fatalf("looks %v", p.rule.Looks)
	}
	sum := 0.0
	for i, l := range p.rule.Looks {
		if l.Samples != sizes[i] {
			t.Errorf("look %d after %d noise samples, want %d", i, l.Samples, sizes[i])
		}
		sum += l.Alpha
	}
	if math.Abs(sum-.001) > 1e-18 {
		t.Errorf("the looks spend %v of .001", sum)
	}

	// All hits: to the end, unless what is missing is within the tolerance. Spec §11.9: 3.766015σ at 100,000 with α/4.
	tr := testPlan(t, rule.Settings{Sigma: 1, Alpha: .001 * 11 / 4, Tolerance: 1e-9}).Trial(0, 1)
	for !tr.done {
		_, to := tr.Blocks()
		from, _ := tr.Blocks()
		give(t, tr, 100*(to-from))
	}
	if near(tr.Radius, "3.766015") || tr.N != 100_000 || tr.Passes != 100_100 {
		t.Errorf("%+v", tr.Outcome)
	}

	// The first blocks choose the class and do not enter the bound.
	tr = p.Trial(0, 1)
	give(t, tr, 51)
	if from, to := tr.Blocks(); from != 1 || to != 2 || tr.Class != 1 || tr.N != 0 {
		t.Errorf("after the selection: blocks %d to %d, %+v", from, to, tr.Outcome)
	}
	// Of 100 samples 10 hit: hopeless at once.
	give(t, tr, 10)
	if !tr.done || tr.Class != Abstain || tr.K != 10 || tr.N != 100 {
		t.Errorf("done %v, %+v", tr.done, tr.Outcome)
	}

	// A tie goes to the smaller class, as in the arg-max.
	tr = p.Trial(0, 1)
	give(t, tr, 50)
	if tr.Class != 0 {
		t.Errorf("tie: %+v", tr.Outcome)
	}

	// The best look counts, even if a later one is worse: 100 of 100, then 60 of 100.
	tr = testPlan(t, rule.Settings{Sigma: .25, MaxSamples: 200, Tolerance: 1e-9}).Trial(0, 1)
	give(t, tr, 100)
	give(t, tr, 100)
	first := tr.Outcome
	give(t, tr, 60)
	if !tr.done || tr.Radius != first.Radius || tr.K != 100 || tr.N != 100 || tr.Passes != 300 {
		t.Errorf("%+v after %+v", tr.Outcome, first)
	}

	// At p = .75 the projection is met early: 0.25·Φ⁻¹(.75) = .1686 less a tolerance of .05.
	tr = testPlan(t, rule.Settings{Sigma: .25, Tolerance: .05}).Trial(0, 1)
	give(t, tr, 75)
	for !tr.done {
		from, to := tr.Blocks()
		give(t, tr, 75*(to-from))
	}
	if tr.Radius < .1686-.05-.005 || tr.N > 1600 {
		t.Errorf("%+v", tr.Outcome)
	}
}

func TestTrialRefusesForeignLooks(t *testing.T) {
	tr := testPlan(t, rule.Settings{Sigma: .25, MaxSamples: 100}).Trial(0, 1)
	if err := tr.Add(ledger.Look{From: 0, To: 2}); err == nil {
		t.Error("took a selection of two blocks")
	}
	give(t, tr, 100)
	give(t, tr, 100)
	if err := tr.Add(ledger.Look{From: 2, To: 3}); err == nil || !strings.Contains(err.Error(), "decided") {
		t.Errorf("after the decision: %v", err)
	}
}

// What a ledger claims prints as digits that read as the same number, and is never above the exact value.
func TestClaimsRoundDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100_000).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		alpha := rapid.Float64Range(1e-12, .5).Draw(t, "alpha")
		sigma := rapid.Float64Range(1e-3, 10).Draw(t, "sigma")
		p := must(bound.Lower(k, n, alpha))
		lower, radius := certificate(sigma, p)
		// The claim is the decimal: the float64 next to it may lie above p.P where 1−p.Q is the finer of the two.
		printed, ok := new(big.Rat).SetString(Claim(rule.Outcome{Lower: lower}, 0).Lower)
		exact := new(big.Rat).Sub(big.NewRat(1, 1), new(big.Rat).SetFloat64(p.Q))
		if !ok || printed.Cmp(new(big.Rat).SetFloat64(p.P)) > 0 && printed.Cmp(exact) > 0 || lower < p.P-2e-15 {
			t.Fatalf("bound %v became %v", p, lower)
		}
		if radius > must(bound.Radius(sigma, p)) {
			t.Fatalf("radius %v became %v", must(bound.Radius(sigma, p)), radius)
		}
		for _, c := range []struct {
			v    float64
			text string
		}{{lower, Claim(rule.Outcome{Lower: lower}, 0).Lower}, {radius, RadiusText(radius)}} {
			if back, err := strconv.ParseFloat(c.text, 64); err != nil || back != c.v {
				t.Fatalf("%v prints as %s", c.v, c.text)
			}
		}
		if digits := strings.TrimLeft(strings.ReplaceAll(RadiusText(radius), ".", ""), "0"); len(digits) > 9 {
			t.Fatalf("radius %s has more than 9 digits", digits)
		}
	})
}

// What is judged at another level are looks that were made: all of them, in their order, and no other.
func TestJudgeRefuses(t *testing.T) {
	p, err := New(rule.Settings{Sigma: .25, MaxSamples: 400})
	if err != nil {
		t.Fatal(err)
	}
	look := func(from, to int) ledger.Look {
		return ledger.Look{From: from, To: to, Counts: []ledger.Count{{Class: 1, N: 100 * (to - from)}}}
	}
	for name, looks := range map[string][]ledger.Look{
		"none": nil, "no selection": {look(1, 2)}, "a gap": {look(0, 1), look(2, 3)}, "other blocks": {look(0, 1), look(1, 3)},
		"too many": {look(0, 1), look(1, 2), look(2, 3), look(3, 5), look(5, 6)},
	} {
		if o, err := p.Judge(looks); err == nil {
			t.Errorf("%s: %+v", name, o)
		}
	}
	q, err := p.At(p.Alpha() / 100)
	if err != nil {
		t.Fatal(err)
	}
	// All looks count, also those behind the one at which a trial at the level would have ended.
	whole, _ := p.Judge([]ledger.Look{look(0, 1), look(1, 2), look(2, 3), look(3, 5)})
	strict, err := q.Judge([]ledger.Look{look(0, 1), look(1, 2), look(2, 3), look(3, 5)})
	if err != nil || strict.N != 400 || whole.N != 400 || !(strict.Radius < whole.Radius) || strict.Class != 1 {
		t.Errorf("%+v, %+v, %v", whole, strict, err)
	}
}
