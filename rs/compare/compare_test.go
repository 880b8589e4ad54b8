package compare_test

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/rs/certlog"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/rs/rule"
)

// correct are images with the label 3 that is right at these radii; 0 stands for an abstention.
func correct(radii ...float64) compare.Radii {
	var rows rs.Rows
	for i, radius := range radii {
		row := rs.Row{Image: 10 * i, Label: 3, Outcome: rule.Outcome{Class: 3, Radius: radius}}
		if radius == 0 {
			row.Class = rs.Abstain
		}
		rows = append(rows, row)
	}
	return compare.Of(rows.Vectors())
}

// images are others, right at a radius of 9 where they have a label.
func images(labels map[int]int) (r compare.Radii) {
	for _, image := range slices.Sorted(maps.Keys(labels)) {
		r = and(r, compare.Of([]int{image}, []int{labels[image]}, []float64{9}))
	}
	return r
}

func and(a, b compare.Radii) compare.Radii {
	return compare.Of(slices.Concat(a.Images, b.Images), slices.Concat(a.Labels, b.Labels), slices.Concat(a.Values, b.Values))
}

// Of fewer than ten images the interval is Student's, whose quantile at 90 % with three degrees of freedom is
// 1.637744; no radius is below 0.
func TestFewImages(t *testing.T) {
	radii := []float64{0.25, .5, .75, 1.5}
	mean, square := .75, .25+.0625+.5625
	half := 1.637744 * math.Sqrt(square/3/4)
	i, err := compare.ACR(t.Context(), correct(radii...), resample.Options{Confidence: .8})
	if err != nil || math.Abs(i.Low-mean+half) > 1e-6 || math.Abs(i.High-mean-half) > 1e-6 {
		t.Errorf("%v, %v; want %v ± %v", i, err, mean, half)
	}
	if i, err := compare.ACR(t.Context(), correct(0, 1), resample.Options{}); err != nil || i.Low != 0 || i.High < 6 {
		t.Errorf("two images: %v, %v", i, err)
	}
}

func TestBootstrapIsDeterministic(t *testing.T) {
	rows := correct(slices.Repeat([]float64{.1, .2, .35, .5, 0, .77, .9, .31, .05, .4, .6}, 10)...)
	first, err := compare.ACR(t.Context(), rows, resample.Options{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	again, _ := compare.ACR(t.Context(), rows, resample.Options{Resamples: 10_000, Confidence: .95, Seed: 7})
	other, _ := compare.ACR(t.Context(), rows, resample.Options{Seed: 8})
	if first != again || first == other {
		t.Errorf("seed 7 gives %v and %v, seed 8 %v", first, again, other)
	}
	for _, bad := range []resample.Options{{Resamples: -1}, {Resamples: 1e9}, {Confidence: 1}, {Confidence: math.NaN()}, {Confidence: -.5}} {
		if _, err := compare.ACR(t.Context(), rows, bad); err == nil {
			t.Errorf("%+v is no error", bad)
		}
		if _, err := compare.Runs(t.Context(), rows, rows, nil, bad); err == nil {
			t.Errorf("%+v is no error of Compare", bad)
		}
	}
	if i, err := compare.ACR(t.Context(), compare.Radii{}, resample.Options{}); err != nil || i != (resample.Interval{}) {
		t.Errorf("of no rows: %v, %v", i, err)
	}
}

// The spec, §1.6, has a standard deviation of about .366 and a standard error of .016 for the log at σ = .25. The intervals are
// SciPy's (1.17.1, stats.bootstrap, percentile, 100,000 resamples), for the log at σ = .50 minus that at .25.
func TestCompareOfPublishedLogs(t *testing.T) {
	dir := os.Getenv("CERTSPEC_DATA")
	if dir == "" {
		t.Skip("needs the published logs: CERTSPEC_DATA names no folder")
	}
	var logs []compare.Radii
	for _, name := range []string{"0.25-sigma_0.25", "0.50-sigma_0.50"} {
		log, err := certlog.Open(filepath.Join(dir, "certify-logs", "cohen-cifar10-resnet110-noise_"+name+".tsv"))
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, compare.Of(log.Rows.Vectors()))
	}
	near := func(what string, got resample.Interval, low, high float64) {
		t.Helper()
		if math.Abs(got.Low-low) > .0015 || math.Abs(got.High-high) > .0015 {
			t.Errorf("%s: %v, want [%v, %v]", what, got, low, high)
		}
	}
	i, err := compare.ACR(t.Context(), logs[0], resample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	near("ACR", i, .3968, .4610)
	c, err := compare.Runs(t.Context(), logs[0], logs[1], []float64{.25, .5}, resample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Images != 500 || math.Abs(c.ACR.Difference-.10864924) > 1e-9 {
		t.Errorf("%d images, ACR %+v", c.Images, c.ACR)
	}
	near("difference of ACR", c.ACR.Interval, .0776, .1402)
	half := c.CertifiedAccuracy[1]
	if half.Radius != .5 || half.A != .428 || half.B != .414 || math.Abs(half.Difference.Difference+.014) > 1e-12 {
		t.Errorf("at .5: %+v", half)
	}
	near("difference at .5", half.Interval, -.046, .018)
}

func TestComparePairsByImage(t *testing.T) {
	a, b := correct(.1, .2, .3, 0), correct(.4, .3, .2, .6)
	slices.Reverse(b.Images)
	slices.Reverse(b.Values)
	a = and(a, images(map[int]int{77: 1, 100: -1}))
	b = and(b, images(map[int]int{5: 1, 6: 1, 100: 4}))
	c, err := compare.Runs(t.Context(), a, b, []float64{.25}, resample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Images != 4 || c.Unlabelled != 1 || !slices.Equal(c.OnlyA, []int{77}) || !slices.Equal(c.OnlyB, []int{5, 6}) {
		t.Errorf("%+v", c)
	}
	// By hand: ACR .6/4 and 1.5/4; at .25 one of four and three of four.
	if math.Abs(c.ACR.A-.15) > 1e-15 || math.Abs(c.ACR.B-.375) > 1e-15 || math.Abs(c.ACR.Difference-.225) > 1e-15 {
		t.Errorf("ACR %+v", c.ACR)
	}
	if at := c.CertifiedAccuracy[0]; at.A != .25 || at.B != .75 || at.Difference.Difference != .5 {
		t.Errorf("at .25: %+v", at)
	}
	// A run against itself differs by nothing, whatever is resampled: the pairs stay together.
	same, err := compare.Runs(t.Context(), a, a, []float64{.25}, resample.Options{})
	if err != nil || same.ACR.Interval != (resample.Interval{}) || same.CertifiedAccuracy[0].Interval != (resample.Interval{}) {
		t.Errorf("a run against itself: %+v, %v", same, err)
	}
	for want, pair := range map[string][2]compare.Radii{
		"image 0 has label 3 in the first run and 4": {correct(.1), images(map[int]int{0: 4})},
		"no image with a label is in both":           {correct(.1), images(map[int]int{1: 4})},
		"image 0 is twice in the second":             {correct(.1), and(correct(.1), correct(.1))},
		"image 0 is twice in the first":              {and(correct(.1), correct(.1)), correct(.1)},
	} {
		if _, err := compare.Runs(t.Context(), pair[0], pair[1], nil, resample.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
