package compare_test

import (
	"math"
	"slices"
	"testing"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
)

// sweepOf has all corruptions of low, mid and high at severities 1 and 3, with two kinds of images, fifty of each,
// whose radii are the group's.
func sweepOf(low, mid, high [2]float64) []compare.Corrupted {
	var runs []compare.Corrupted
	for k, radii := range [][2]float64{low, mid, high} {
		for _, name := range corrupt.Groups[k].Corruptions {
			for _, severity := range []int{1, 3} {
				runs = append(runs, compare.Corrupted{Corruption: name, Severity: severity,
					Radii: correct(kinds(radii[0]*float64(severity), radii[1]*float64(severity))...)})
			}
		}
	}
	return runs
}

func kinds(a, b float64) []float64 { return slices.Repeat([]float64{a, b}, compare.LeastImages/2) }

// ends are the ends of a 95 % interval for a mean of both kinds: of 100 drawn images, 40 to 60 are of one kind in the
// middle 95 % (of 39 and 61 the tails hold 1.8 %, of 40 and 60 2.8 %).
func ends(a, b float64) resample.Interval {
	a, b = min(a, b), max(a, b)
	return resample.Interval{Low: a + .4*(b-a), High: a + .6*(b-a)}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func same(a, b resample.Interval) bool { return near(a.Low, b.Low) && near(a.High, b.High) }

// Severities 1 and 3 double every radius in the mean.
func TestMeanACRIntervals(t *testing.T) {
	c, err := compare.MeanACR(t.Context(), sweepOf([2]float64{.1, .2}, [2]float64{.15, .25}, [2]float64{.2, .35}), resample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Images != 100 || len(c.Severities) != 2 || len(c.Corruptions) != 15 || len(c.Groups) != 7 || len(c.Order) != 2 {
		t.Fatalf("%+v", c)
	}
	if i := c.MACR; !near(i.ACR, 2*(.15+.2+.275)/3) || !same(i.Interval, ends(.3, 2*(.2+.25+.35)/3)) {
		t.Errorf("mACR %+v", i)
	}
	if g := c.Groups[2]; g.Name != "high" || !near(g.ACR, .55) || !same(g.Interval, ends(.4, .7)) {
		t.Errorf("group %+v", g)
	}
	// Both images gain the same from low to mid: no interval is left. From mid to high one gains .1, the other .2.
	if d := c.Order[0]; d.Name != "low to mid" || !near(d.A, .3) || !near(d.Difference.Difference, .1) || !near(d.Interval.Low, .1) || !near(d.Interval.High, .1) {
		t.Errorf("%+v", d)
	}
	if d := c.Order[1]; d.Name != "mid to high" || !near(d.Difference.Difference, .15) || !same(d.Interval,
		ends(.1, .2)) {
		t.Errorf("%+v", d)
	}
}

// Of one corruption at one severity, the comparison equals the two runs' own.
func TestCompareCorruptionsOfOneCell(t *testing.T) {
	a, b := correct(.1, .5, .3, 0, .2), correct(.2, .4, .6, .1, 0)
	fog := func(rows compare.Radii) []compare.Corrupted { return []compare.Corrupted{{"fog", 2, rows}} }
	want, err := compare.Runs(t.Context(), a, b, nil, resample.Options{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	got, err := compare.Sweeps(t.Context(), fog(a), fog(b), resample.Options{Seed: 5})
	if err != nil || got.Images != 5 || !near(got.MACR.A, want.ACR.A) || !near(got.MACR.B, want.ACR.B) ||
		!near(got.MACR.Interval.Low, want.ACR.Interval.Low) || !near(got.MACR.Interval.High, want.ACR.Interval.High) {
		t.Errorf("%+v, %v; want %+v", got, err, want.ACR)
	}
}

func TestCompareCorruptions(t *testing.T) {
	a := sweepOf([2]float64{.1, .2}, [2]float64{.1, .2}, [2]float64{.1, .2})
	b := sweepOf([2]float64{.2, .4}, [2]float64{.1, .2}, [2]float64{.1, .1})
	c, err := compare.Sweeps(t.Context(), a, b, resample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range [][3]float64{{.3, .2, .4}, {0, 0, 0}, {-.1, -.2, 0}} { // low, mid, high
		if g := c.Groups[k]; !near(g.Difference.Difference, want[0]) || !same(g.Interval, ends(want[1], want[2])) {
			t.Errorf("%+v, want %v", g, want)
		}
	}
	clean := correct(kinds(.3, .3)...)
	c, err = compare.Sweeps(t.Context(), compare.Uncorrupted(a, clean), a, resample.Options{})
	if err != nil || !near(c.MACR.A, .3) || !near(c.MACR.B, .3) || !near(c.MACR.Interval.Low, ends(-.1, .1).Low) {
		t.Errorf("against the clean run: %+v, %v", c, err)
	}
	for name, other := range map[string][]compare.Corrupted{
		"fewer":           a[2:],
		"another image":   compare.Uncorrupted(a, correct(.1, .2, .3)),
		"another in one":  append([]compare.Corrupted{{a[0].Corruption, a[0].Severity, correct(.1)}}, a[1:]...),
		"another label":   compare.Uncorrupted(a, images(map[int]int{0: 1, 10: 3})),
		"no labels":       compare.Uncorrupted(a, images(map[int]int{0: -1})),
		"an image twice":  compare.Uncorrupted(a, and(images(map[int]int{0: 3}), images(map[int]int{0: 3}))),
		"no runs":         nil,
		"other severity":  {{a[0].Corruption, 2, a[0].Radii}},
		"severities part": a[1:],
	} {
		if c, err := compare.Sweeps(t.Context(), a, other, resample.Options{}); err == nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if _, err := compare.Sweeps(t.Context(), a, b, resample.Options{Confidence: 2}); err == nil {
		t.Error("a confidence of 2 is taken")
	}
}
