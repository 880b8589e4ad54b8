package rs

import (
	"context"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/noise"
)

func testPlan(t testing.TB, o Options) *plan {
	t.Helper()
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	return newPlan(o)
}

// give adds the next look with so many hits of class 1; the others are of class 0.
func give(t testing.TB, tr *trial, hits int) {
	t.Helper()
	from, to := tr.blocks()
	l := ledger.Look{Image: tr.row.Image, From: from, To: to}
	if rest := (to-from)*tr.plan.block - hits; rest > 0 {
		l.Counts = append(l.Counts, ledger.Count{Class: 0, N: rest})
	}
	if hits > 0 {
		l.Counts = append(l.Counts, ledger.Count{Class: 1, N: hits})
	}
	if err := tr.add(l); err != nil {
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
			tr := newTrial(testPlan(t, Options{Sigma: sigma, Rule: Fixed, MaxSamples: c.n}), 3, 1)
			give(t, tr, 100)
			give(t, tr, c.k)
			row := tr.row
			if !tr.done || row.N != c.n || row.K != c.k || row.Passes != c.n+100 {
				t.Errorf("%d of %d: done %v, %+v", c.k, c.n, tr.done, row)
			}
			if want == "abstain" {
				if row.Certified() || row.Radius != 0 {
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
	p := testPlan(t, Options{Sigma: .25})
	sizes := []int{100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200, 100000}
	if len(p.looks) != len(sizes) {
		t.Fatalf("looks %v", p.looks)
	}
	sum := 0.0
	for i, l := range p.looks {
		if l.Copies != sizes[i] {
			t.Errorf("look %d after %d copies, want %d", i, l.Copies, sizes[i])
		}
		sum += l.Alpha
	}
	if math.Abs(sum-.001) > 1e-18 {
		t.Errorf("the looks spend %v of .001", sum)
	}

	// All hits: to the end, unless what is missing is within the tolerance. Spec §11.9: 3.766015σ at 100,000 with α/4.
	tr := newTrial(testPlan(t, Options{Sigma: 1, Alpha: .001 * 11 / 4, Tolerance: 1e-9}), 0, 1)
	for !tr.done {
		_, to := tr.blocks()
		from, _ := tr.blocks()
		give(t, tr, 100*(to-from))
	}
	if near(tr.row.Radius, "3.766015") || tr.row.N != 100_000 || tr.row.Passes != 100_100 {
		t.Errorf("%+v", tr.row)
	}

	// The first blocks choose the class and do not enter the bound.
	tr = newTrial(p, 0, 1)
	give(t, tr, 51)
	if from, to := tr.blocks(); from != 1 || to != 2 || tr.row.Class != 1 || tr.row.N != 0 {
		t.Errorf("after the selection: blocks %d to %d, %+v", from, to, tr.row)
	}
	// Of 100 copies 10 hit: hopeless at once.
	give(t, tr, 10)
	if !tr.done || tr.row.Certified() || tr.row.K != 10 || tr.row.N != 100 {
		t.Errorf("done %v, %+v", tr.done, tr.row)
	}

	// A tie goes to the smaller class, as in the arg-max.
	tr = newTrial(p, 0, 1)
	give(t, tr, 50)
	if tr.row.Class != 0 {
		t.Errorf("tie: %+v", tr.row)
	}

	// The best look counts, even if a later one is worse: 100 of 100, then 60 of 100.
	tr = newTrial(testPlan(t, Options{Sigma: .25, MaxSamples: 200, Tolerance: 1e-9}), 0, 1)
	give(t, tr, 100)
	give(t, tr, 100)
	first := tr.row
	give(t, tr, 60)
	if !tr.done || tr.row.Radius != first.Radius || tr.row.K != 100 || tr.row.N != 100 || tr.row.Passes != 300 {
		t.Errorf("%+v after %+v", tr.row, first)
	}

	// At p = .75 the projection is met early: 0.25·Φ⁻¹(.75) = .1686 less a tolerance of .05.
	tr = newTrial(testPlan(t, Options{Sigma: .25, Tolerance: .05}), 0, 1)
	give(t, tr, 75)
	for !tr.done {
		from, to := tr.blocks()
		give(t, tr, 75*(to-from))
	}
	if tr.row.Radius < .1686-.05-.005 || tr.row.N > 1600 {
		t.Errorf("%+v", tr.row)
	}
}

func TestTrialRefusesForeignLooks(t *testing.T) {
	tr := newTrial(testPlan(t, Options{Sigma: .25, MaxSamples: 100}), 0, 1)
	if err := tr.add(ledger.Look{From: 0, To: 2}); err == nil {
		t.Error("took a selection of two blocks")
	}
	give(t, tr, 100)
	give(t, tr, 100)
	if err := tr.add(ledger.Look{From: 2, To: 3}); err == nil || !strings.Contains(err.Error(), "decided") {
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
		if lower > p.P || lower < p.P-2e-15 {
			t.Fatalf("bound %v became %v", p, lower)
		}
		if radius > must(bound.Radius(sigma, p)) {
			t.Fatalf("radius %v became %v", must(bound.Radius(sigma, p)), radius)
		}
		for _, c := range []struct {
			v    float64
			text string
		}{{lower, lowerText(lower)}, {radius, radiusText(radius)}} {
			if back, err := strconv.ParseFloat(c.text, 64); err != nil || back != c.v {
				t.Fatalf("%v prints as %s", c.v, c.text)
			}
		}
		if digits := strings.TrimLeft(strings.ReplaceAll(radiusText(radius), ".", ""), "0"); len(digits) > 9 {
			t.Fatalf("radius %s has more than 9 digits", digits)
		}
	})
}

func TestRoundDown(t *testing.T) {
	for v, want := range map[float64]string{1.23456789999: "1.23456789", 0.000123456789999: "0.000123456789", 3: "3", 0: "0", 9.99999999999: "9.99999999"} {
		if got := radiusText(roundDown(v)); got != want {
			t.Errorf("%v became %s, want %s", v, got, want)
		}
	}
}

// A copy whose noise could not be drawn is a miss, whatever the model says of it; so is one that the model leaves out.
func TestFailedCopiesAreMisses(t *testing.T) {
	model := classifier.Constant{Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Classes: 3, Class: 2}
	info, err := model.Info()
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBlocks(model, info, noise.LawGrid, .25, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	buf := b.newBuffer()
	if err := b.draw(buf, []int16{7}, 1, 0); err != nil {
		t.Fatal(err)
	}
	buf.failed = []int{0, 9}
	counts, misses, err := b.classify(context.Background(), buf)
	if err != nil || misses != 2 || len(counts) != 1 || counts[0] != (ledger.Count{Class: 2, N: 8}) {
		t.Errorf("%v, %d misses, %v", counts, misses, err)
	}
	b.model = silent{model}
	if counts, misses, err = b.classify(context.Background(), buf); err != nil || misses != 10 || len(counts) != 0 {
		t.Errorf("%v, %d misses, %v", counts, misses, err)
	}
}

type silent struct{ classifier.Classifier }

func (silent) Classify(context.Context, classifier.Batch, *classifier.Result) error { return nil }
