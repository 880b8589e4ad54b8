package classifier_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/classifier/classifiertest"
	"github.com/certspec/certspec/pixel"
)

var (
	small = pixel.Shape{Height: 2, Width: 3, Channels: 1}
	one   = pixel.Shape{Height: 1, Width: 1, Channels: 1}
)

var toys = map[string]classifier.Toy{
	"Constant": classifier.Constant{Shape: small, Classes: 3, Class: 1},
	"Linear":   classifier.Linear{Shape: small, Weights: []float64{1, -2, .5, 0, .25, 1}, Bias: -.1},
	"Slab":     classifier.Slab{Shape: small, Center: .4, HalfWidth: .3},
	"Step":     classifier.Step{Shape: small, Thresholds: []float64{.2, .5, .55, .9}},
	"Random":   classifier.Random{Shape: small, Classes: 3},
	"Broken":   classifier.Broken{Shape: small, Classes: 2, Threshold: .6},
	"Wave":     classifier.Wave{Shape: small, Level: .3, Amplitude: .4, Period: .7},
}

func TestToysPassTheSuite(t *testing.T) {
	for name, toy := range toys {
		t.Run(name, func(t *testing.T) {
			options := classifiertest.Options{ArrangementFree: true}
			if name == "Broken" {
				batch := classifier.Batch{N: 3, Grid: make([]int16, 3*small.Len())}
				batch.Grid[0], batch.Grid[small.Len()], batch.Grid[2*small.Len()] = 152, 154, -20 // float32(153/255) is just above .6
				options.Miss, options.MissRows = &batch, []bool{false, true, false}
			}
			classifiertest.Run(t, func(*testing.T) classifier.Classifier { return toy }, options)
		})
	}
}

// The closed forms against counts: 20,000 noise samples per toy and image. A count that is
// right is further than 5 standard errors from its mean with probability 6e-7 per class.
func TestProbabilitiesAgainstCounts(t *testing.T) {
	const n, sigma = 20_000, .25
	random := rand.New(rand.NewPCG(1, 2))
	for name, toy := range toys {
		info, err := toy.Info()
		if err != nil {
			t.Fatal(err)
		}
		for _, first := range []uint8{0, 120, 255} {
			image := []uint8{first, 30, 200, 7, 99, 128}
			batch := classifier.Batch{N: n, Real: make([]float32, n*len(image))}
			for i := range batch.Real {
				batch.Real[i] = float32(image[i%len(image)])/pixel.Steps + float32(sigma*random.NormFloat64())
			}
			result := classifier.Result{Classes: make([]int32, n)}
			if err := toy.Classify(t.Context(), batch, &result); err != nil {
				t.Fatal(err)
			}
			counts := make([]float64, info.Classes)
			for _, class := range result.Classes {
				if class != classifier.Miss {
					counts[class]++
				}
			}
			for c, p := range toy.Probabilities(image, sigma) {
				if got := counts[c] / n; math.Abs(got-p) > 5*math.Sqrt(p*(1-p)/n)+1e-12 {
					t.Errorf("%s, first value %d: class %d has share %.4f; Probabilities says %.4f", name, first, c, got, p)
				}
			}
		}
	}
}

func TestKnownAnswers(t *testing.T) {
	black := []uint8{0}
	linear := classifier.Linear{Shape: one, Weights: []float64{2}, Bias: .6} // Δ = .6/2
	// Φ(1.2) and Φ(2) − Φ(−2), from tables of the normal distribution.
	if got := linear.Probabilities(black, .25)[1]; math.Abs(got-.8849303298) > 1e-10 {
		t.Errorf("linear at Δ = .3, σ = .25: p = %.10f; expected .8849303298", got)
	}
	if got := linear.Radius(black); math.Abs(got-.3) > 1e-12 {
		t.Errorf("linear: radius %g; expected .3", got)
	}
	slab := classifier.Slab{Shape: one, HalfWidth: .5}
	if got := slab.Probabilities(black, .25)[1]; math.Abs(got-.9544997361) > 1e-10 {
		t.Errorf("slab at 0, h = .5, σ = .25: p = %.10f; expected .9544997361", got)
	}
}

// Expected values by Simpson's rule with 400,000 intervals in Python, which has math.erfc alone in common. The last
// two have a period far below σ, and one far above it.
func TestWaveProbabilities(t *testing.T) {
	for _, c := range []struct{ period, sigma, want float64 }{
		{.25, .1, .751272769316},
		{.05, .25, .642972581342},
		{.02, 1, .539605487399},
		{1, .02, .024037373516},
	} {
		wave := classifier.Wave{Shape: pixel.Shape{Height: 1, Width: 2, Channels: 1}, Level: .5, Amplitude: .15, Period: c.period}
		// The values .2 and .6, but for their rounding to float32.
		if got := wave.Probabilities([]uint8{51, 153}, c.sigma)[1]; math.Abs(got-c.want) > 1e-6 {
			t.Errorf("period %g, σ = %g: p = %.9f; expected %.9f", c.period, c.sigma, got, c.want)
		}
	}
}

// On a boundary a logit ties or a strict comparison fails: the smaller class wins.
func TestBoundaries(t *testing.T) {
	at := func(toy classifier.Toy, grid int16) int32 {
		t.Helper()
		result := classifier.Result{Classes: make([]int32, 1)}
		if err := toy.Classify(t.Context(), classifier.Batch{N: 1, Grid: []int16{grid}}, &result); err != nil {
			t.Fatal(err)
		}
		return result.Classes[0]
	}
	step := classifier.Step{Shape: one, Thresholds: []float64{0, 1}}
	for grid, want := range map[int16]int32{-300: 0, 0: 0, 1: 1, 255: 1, 256: 2, 2000: 2} {
		if got := at(step, grid); got != want {
			t.Errorf("step at %d/255: class %d; expected %d", grid, got, want)
		}
	}
	slab := classifier.Slab{Shape: one, Center: 0, HalfWidth: 1}
	for grid, want := range map[int16]int32{-255: 0, -254: 1, 0: 1, 254: 1, 255: 0} {
		if got := at(slab, grid); got != want {
			t.Errorf("slab at %d/255: class %d; expected %d", grid, got, want)
		}
	}
	linear := classifier.Linear{Shape: one, Weights: []float64{1}, Bias: -1}
	for grid, want := range map[int16]int32{255: 0, 256: 1} {
		if got := at(linear, grid); got != want {
			t.Errorf("linear at %d/255: class %d; expected %d", grid, got, want)
		}
	}
}

func TestBadToys(t *testing.T) {
	for name, toy := range map[string]classifier.Toy{
		"class out of range": classifier.Constant{Shape: one, Classes: 2, Class: 2},
		"no shape":           classifier.Constant{Classes: 2},
		"no classes":         classifier.Random{Shape: one},
		"too few weights":    classifier.Linear{Shape: small, Weights: []float64{1}},
		"zero weights":       classifier.Linear{Shape: one, Weights: []float64{0}},
		"NaN bias":           classifier.Linear{Shape: one, Weights: []float64{1}, Bias: math.NaN()},
		"no width":           classifier.Slab{Shape: one},
		"steps fall":         classifier.Step{Shape: one, Thresholds: []float64{1, 0}},
		"wave of one value":  classifier.Wave{Shape: one, Period: 1},
		"no period":          classifier.Wave{Shape: small, Amplitude: 1},
		"infinite amplitude": classifier.Wave{Shape: small, Amplitude: math.Inf(1), Period: 1},
		"NaN threshold":      classifier.Broken{Shape: one, Classes: 1, Threshold: math.NaN()},
	} {
		if _, err := toy.Info(); err == nil {
			t.Errorf("%s: Info gives no error", name)
		}
		result := classifier.Result{Classes: make([]int32, 1)}
		if err := toy.Classify(t.Context(), classifier.Batch{N: 1, Grid: []int16{0}}, &result); err == nil {
			t.Errorf("%s: Classify gives no error", name)
		}
	}
}
