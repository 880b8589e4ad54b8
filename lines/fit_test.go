package lines

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/certspec/certspec/resample"
)

// world draws models whose true accuracies lie on a line in probit units, or above it by lift for the last one, on images
// that models share: an image has a difficulty, and a model is right where its skill exceeds it. The line does not go
// through the last one.
func world(rng *rand.Rand, skills []float64, images int, slope, intercept, lift float64) (points []Point) {
	d := make([]float64, images)
	for i := range d {
		d[i] = rng.NormFloat64()
	}
	for m, s := range skills {
		y := slope*s + intercept
		if m == len(skills)-1 {
			y += lift
		}
		answer := func(skill float64) ([]float64, Accuracy) {
			out, k := make([]float64, len(d)), 0
			for i, v := range d { // half of the difficulty is the image's, half the model's own
				if (v+rng.NormFloat64())/math.Sqrt2 < skill {
					out[i] = 1
					k++
				}
			}
			return out, Accuracy{float64(k) / float64(len(d)), len(d)}
		}
		p := Point{Model: string(rune('a' + m)), Fits: m < len(skills)-1}
		p.XImages, p.X = answer(s)
		p.YImages, p.Y = answer(y)
		points = append(points, p)
	}
	return points
}

// known are models of which the numbers of images are known alone.
func known(points []Point) (models Models) {
	for _, p := range points {
		group := map[bool]string{true: "standard", false: "ours"}[p.Fits]
		models = append(models, Model{Name: p.Model, Labels: map[string]string{"group": group},
			Accuracies: map[string]Accuracy{"clean": p.X, "fog": p.Y}})
	}
	return models
}

var skills = []float64{0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 0.9}

func standard() Options {
	return Options{X: "clean", Y: "fog", Baseline: Selection{Label: "group", Value: "standard"}, Over: Images, Resamples: 300}
}

// Intervals over images against the truth, with shared images. Least squares is a little too flat by the sampling error in x; with
// 1,000 images that is far below the width. Of 120 intervals of 95 %, fewer than 104 hold the truth with probability below
// 10⁻⁴ if they are right.
func TestIntervalsOverImagesCover(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a simulation of coverage")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	slopes, robust, called := 0, 0, 0
	for trial := range 120 {
		points := world(rng, skills, 1000, 0.8, -0.4, 0)
		o := standard()
		o.Seed = uint64(trial)
		r, err := FitPoints(t.Context(), points, o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Lines[0].Intervals["slope"].Contains(0.8) {
			slopes++
		}
		last := r.Models[len(r.Models)-1]
		if last.Interval.Contains(0) {
			robust++
		} else if last.Interval.Low > 0 {
			called++
		}
	}
	if slopes < 104 || robust < 104 {
		t.Errorf("of 120 intervals, %d hold the slope and %d the effective robustness 0", slopes, robust)
	}
	if called > 12 { // the null study: at most 5 % may be called robust, 2.5 % on this side
		t.Errorf("%d of 120 models on the line are called effectively robust", called)
	}
}

func TestFitFindsARobustModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	points := world(rng, skills, 4000, 0.8, -0.4, 0.4)
	for _, over := range []Over{Images, Both, ""} {
		o := standard()
		o.Over = over
		r, err := FitPoints(t.Context(), points, o)
		if err != nil {
			t.Fatal(err)
		}
		truth := Phi(0.8*0.9-0.4+0.4) - Phi(0.8*0.9-0.4)
		last := r.Models[len(r.Models)-1]
		if math.Abs(last.Robustness-truth) > 0.03 || !(last.Interval.Low > 0) || !last.Interval.Contains(last.Robustness) || last.Influence != nil {
			t.Errorf("over %q: %+v, interval %v; expected about %v", over, last.Robustness, last.Interval, truth)
		}
		if r.Models[0].Influence == nil || r.Lines[0].N != 7 || r.Lines[0].Reliability < 0.9 || r.Lines[0].Deming == nil || r.Models[0].X.Interval == nil {
			t.Errorf("over %q: %+v", over, r.Lines[0])
		}
	}
}

// From numbers of images alone, draws are binomial; without them, models alone are drawn, or nothing.
func TestFitWithoutImages(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	models := known(world(rng, skills, 4000, 0.8, -0.4, 0))
	r, err := Fit(t.Context(), models, standard())
	if err != nil || !strings.Contains(r.Sampling, "binomial draws") || !r.Lines[0].Intervals["slope"].Contains(r.Lines[0].Slope) {
		t.Fatalf("%+v, %v", r, err)
	}
	width := r.Lines[0].Intervals["slope"]
	if w := width.High - width.Low; w < 0.02 || w > 0.4 {
		t.Errorf("the slope's interval is %v wide", w)
	}
	again, err := Fit(t.Context(), models, standard())
	if err != nil || !reflect.DeepEqual(r, again) {
		t.Errorf("the same seed gives another result (%v)", err)
	}
	for i := range models {
		for f, a := range models[i].Accuracies {
			a.N = 0
			models[i].Accuracies[f] = a
		}
	}
	if _, err := Fit(t.Context(), models, standard()); err == nil || !strings.Contains(err.Error(), "numbers of images") {
		t.Errorf("intervals over unknown images: %v", err)
	}
	o := standard()
	o.Over = ""
	if r, err = Fit(t.Context(), models, o); err != nil || !strings.HasPrefix(r.Sampling, "models (8), each left out in turn; 95") {
		t.Fatalf("%+v, %v", r.Sampling, err)
	}
	// Student's interval of a regression, by hand: x = Φ⁻¹ of the accuracies, residuals over five degrees of
	// freedom. The jackknife's is near.
	var x, y []float64
	for _, m := range models[:7] {
		x, y = append(x, Probit(m.Accuracies["clean"].Share)), append(y, Probit(m.Accuracies["fog"].Share))
	}
	line, _ := LeastSquares(x, y)
	square, across, mean := 0., 0., stat.Mean(x, nil)
	for i := range x {
		square, across = square+math.Pow(y[i]-line.At(x[i]), 2), across+math.Pow(x[i]-mean, 2)
	}
	half := 2.570582 * math.Sqrt(square/5/across)
	if in := r.Lines[0].Intervals["slope"]; math.Abs(in.Low+in.High-2*line.Slope) > 1e-9 ||
		in.High-line.Slope < half/2 || in.High-line.Slope > 2*half {
		t.Errorf("slope %v in %v, Student's ± %v", line.Slope, in, half)
	}
	three := append(slices.Clone(models[:3]), models[len(models)-1]) // the last one is not of the baseline
	r, err = Fit(t.Context(), three, o)
	if err != nil || r.Lines[0].Intervals != nil || r.Models[0].Interval != nil || !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "No intervals for the line of 3 models") }) {
		t.Errorf("intervals over three models: %+v, %v", r, err)
	}
	// A line through points of one model is for that model, by its images alone.
	points := world(rand.New(rand.NewPCG(5, 7)), skills, 4000, 0.8, -0.4, 0)[:6]
	for i := range points {
		points[i].Model = "one"
	}
	var of [2]resample.Interval
	for i, over := range []Over{Images, Both} {
		r, err := FitPoints(t.Context(), points, Options{X: "clean", Y: "fog", Over: over})
		if err != nil || r.Lines[0].Intervals == nil {
			t.Fatalf("over %s: %+v, %v", over, r, err)
		}
		of[i] = r.Lines[0].Intervals["slope"].Interval
	}
	if of[0] != of[1] {
		t.Errorf("slope of one model over images %v, over both %v", of[0], of[1])
	}
	o.Over = Nothing
	if r, err := Fit(t.Context(), models, o); err != nil || r.Sampling != "none" || r.Lines[0].Intervals != nil {
		t.Errorf("%+v, %v", r.Sampling, err)
	}
}

func TestFitRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	points := world(rng, skills, 50, 0.8, -0.4, 0)
	models := known(points)
	for want, change := range map[string]func(o *Options){
		"did you mean \"clean\"": func(o *Options) { o.X = "claen" },
		"did you mean \"group\"": func(o *Options) { o.Baseline.Label = "grup" },
		"intervals over \"x\"":   func(o *Options) { o.Over = "x" },
		"want at least 3":        func(o *Options) { o.Baseline = Selection{Label: "group", Value: "ours"} },
		"clip at 2":              func(o *Options) { o.Clip.Share = 2 },
		"resamples":              func(o *Options) { o.Resamples = -1 },
	} {
		o := standard()
		change(&o)
		if _, err := Fit(t.Context(), models, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected %q", err, want)
		}
	}
	for want, images := range map[string][]float64{
		"the same images on both axes": make([]float64, 51),
		"shares between 0 and 1":       append(make([]float64, 49), 50*points[1].X.Share),
		"images of mean NaN":           slices.Repeat([]float64{math.NaN()}, 50),
	} {
		changed := slices.Clone(points)
		changed[1].XImages = images
		if _, err := FitPoints(t.Context(), changed, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected %q", err, want)
		}
	}
	if _, err := ParseSelection("standard"); err == nil {
		t.Error("a selection without = was taken")
	}
}

// The one outlier that table 1's Traditional column hangs on is found by its influence: VGG16, FT, 95 % of all weights at once.
func TestInfluenceFindsTheOutlier(t *testing.T) {
	models := robustNets(t)
	var kept Models
	for _, m := range models.Where("augmentation", "clean").Where("architecture", "VGG16") {
		if m.Labels["method"] == "FT" || m.Labels["method"] == "GMP" {
			kept = append(kept, m)
		}
	}
	for _, shift := range mainShifts {
		r, err := Fit(t.Context(), kept, Options{X: "cifar10_acc", Y: shift, Over: Nothing})
		if err != nil {
			t.Fatal(err)
		}
		byCook, byLeverage := r.Models[0], r.Models[0]
		for _, m := range r.Models[1:] {
			if m.Influence.Cook > byCook.Influence.Cook {
				byCook = m
			}
			if m.Influence.Leverage > byLeverage.Influence.Leverage {
				byLeverage = m
			}
		}
		const outlier = "VGG16_clean_FT_globally_0.95"
		if byLeverage.Name != outlier || byLeverage.Influence.Leverage < 0.8 {
			t.Errorf("%s: %s has the largest leverage, %v", shift, byLeverage.Name, byLeverage.Influence.Leverage)
		}
		if shift != "cifar10.1_acc" && byCook.Name != outlier { // there it lies on the line through the others
			t.Errorf("%s: %s has the largest distance of Cook", shift, byCook.Name)
		}
	}
}

func BenchmarkFit(b *testing.B) { // 20 models × 500 images × 45 cells, 10,000 resamples
	rng := rand.New(rand.NewPCG(9, 9))
	var s []float64
	for range 20 {
		s = append(s, 1.5*rng.Float64())
	}
	var points []Point
	for _, p := range world(rng, s, 500, 0.8, -0.4, 0) {
		for c := range 45 {
			p.Group, p.Fits = string(rune('A'+c)), true
			points = append(points, p)
		}
	}
	for b.Loop() {
		if _, err := FitPoints(b.Context(), points, Options{Over: Images}); err != nil {
			b.Fatal(err)
		}
	}
}

// The exact two-sided 95 % intervals that a specification of Fridovich-Keil et al. 2022 prints (section 14, 18), and the closed forms at the ends.
func TestExactIntervals(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 10, 0, 0.308497}, {10, 10, 0.691503, 1}, {5, 10, 0.187086, 0.812914}, {1, 10, 0.002529, 0.445016}, {1600, 2000, 0.781785, 0.817331},
		{9000, 10_000, 0.893953, 0.905813}, {40_963, 50_000, 0.815859, 0.822624}, {0, 7500, 0, 0.000492}, {2, 7500, 0.000032, 0.000963},
		{0, 321, 0, 1 - math.Pow(0.025, 1./321)}, {321, 321, math.Pow(0.025, 1./321), 1},
	} {
		a, err := Count(c.k, c.n)
		if err != nil {
			t.Fatal(err)
		}
		at, err := a.Coordinate()
		if err != nil || at.K != c.k || at.N != c.n || math.Abs(at.Interval.Low-c.low) > 5e-7 || math.Abs(at.Interval.High-c.high) > 5e-7 {
			t.Errorf("%d of %d: %+v, %v, %v; expected %v to %v", c.k, c.n, at, at.Interval, err, c.low, c.high)
		}
	}
}
