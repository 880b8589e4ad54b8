package rs_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

func TestPredict(t *testing.T) {
	shape := pixel.Shape{Height: 1, Width: 1, Channels: 1}
	predict := func(m classifier.Classifier, value uint8, opt rs.PredictOptions) rs.Prediction {
		t.Helper()
		p, err := rs.Predict(t.Context(), m, []uint8{value}, opt)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	opt := rs.PredictOptions{Sigma: .25, Samples: 2000, Seed: 1}
	// Classes at 0.2 with thresholds .3 and .6: Φ(.4) = .655, .290, .055.
	step := classifier.Step{Shape: shape, Thresholds: []float64{.3, .6}}
	p := predict(step, 51, opt)
	if n := p.Counts[0] + p.Counts[1] + p.Counts[2] + p.Misses; p.Class != 0 || n != 2000 || p.PValue > 1e-9 || p.Misses != 0 {
		t.Errorf("%+v, %d noise samples", p, n)
	}
	if c := p.Counts[0]; c < 1200 || c > 1420 { // 1310 ± 5 standard deviations
		t.Errorf("%d votes of 2000 for class 0, want about 1310", c)
	}
	// On the threshold the two classes tie in law, and the test has no ground to stand on.
	if p := predict(classifier.Step{Shape: shape, Thresholds: []float64{.2}}, 51, opt); p.Class != rs.Abstain || p.PValue < .001 {
		t.Errorf("%+v", p)
	}
	// spec §11.1: at α = .001, ten votes of ten leave p = .001953, eleven of eleven .000977.
	for n, class := range map[int]int{10: rs.Abstain, 11: 0} {
		p := predict(classifier.Constant{Shape: shape, Classes: 2}, 0, rs.PredictOptions{Sigma: 1, Samples: n, Block: 1})
		if p.Class != class {
			t.Errorf("%d votes of as many: class %d, want %d", n, p.Class, class)
		}
	}
	// A class with all votes but fewer of them than there are misses is not the answer; Φ(−.6745) = ¼.
	if p := predict(classifier.Broken{Shape: shape, Classes: 2, Threshold: -.16862}, 0, opt); p.Class != rs.Abstain || p.Misses < 1400 {
		t.Errorf("%+v", p)
	}
	if p := predict(classifier.Broken{Shape: shape, Classes: 2, Threshold: -100}, 0, opt); p.Class != rs.Abstain || p.Misses != 2000 {
		t.Errorf("all NaN: %+v", p)
	}
	// The seed derives from the image and all settings, and is repeatable.
	a, b := predict(step, 51, rs.PredictOptions{Sigma: .25}), predict(step, 51, rs.PredictOptions{Sigma: .25})
	other := predict(step, 52, rs.PredictOptions{Sigma: .25})
	if !reflect.DeepEqual(a, b) || a.Seed == other.Seed || a.Seed == 0 {
		t.Errorf("seeds %d, %d, %d", a.Seed, b.Seed, other.Seed)
	}
}

func TestPredictRefuses(t *testing.T) {
	m := classifier.Constant{Shape: small, Classes: 2}
	image := make([]uint8, small.Len())
	for _, c := range []struct {
		image []uint8
		opt   rs.PredictOptions
		want  string
	}{
		{image, rs.PredictOptions{}, "Sigma is 0"},
		{image, rs.PredictOptions{Sigma: 1, Alpha: 2}, "Alpha is 2"},
		{image, rs.PredictOptions{Sigma: 1, Samples: -100}, "Samples is -100"},
		{image, rs.PredictOptions{Sigma: 1, Samples: 150}, "e.g. 200"},
		{image, rs.PredictOptions{Sigma: 1, Noise: "pink"}, "pink"},
		{image, rs.PredictOptions{Sigma: 1, Image: -1}, "Image is -1"},
		{image[1:], rs.PredictOptions{Sigma: 1}, "5 values"},
	} {
		if p, err := rs.Predict(t.Context(), m, c.image, c.opt); err == nil || !strings.Contains(err.Error(), c.want) || p.Class != rs.Abstain {
			t.Errorf("%+v: %+v, error %v, want one with %q", c.opt, p, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rs.Predict(ctx, m, image, rs.PredictOptions{Sigma: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}
