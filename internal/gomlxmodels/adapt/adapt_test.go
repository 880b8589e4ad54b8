package adapt

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
)

var shape = pixel.Shape{Height: 6, Width: 6, Channels: 1}

func model() *modelfile.Model {
	m := &modelfile.Model{Card: modelfile.Card{Architecture: nets.Architecture{Name: "small-cnn", Shape: shape, Classes: 3}}}
	for _, t := range m.Card.Architecture.Tensors() {
		m.Weights = append(m.Weights, modelfile.Tensor{Name: t.Name, Shape: t.Shape, Values: t.Initialize(3)})
	}
	return m
}

func pictures() *dataset.Images {
	random := rand.New(rand.NewPCG(1, 1))
	images := &dataset.Images{Name: "pictures", Shape: shape, Pixels: make([]uint8, 12*shape.Len()), IDs: make([]int, 12), Labels: make([]int, 12), Classes: make([]string, 3)}
	for i := range images.Pixels {
		images.Pixels[i] = uint8(random.IntN(256))
	}
	return images
}

// After T batches that are the same, a running average keeps 0.9^T of its value; nothing but the averages changes, and they
// come out the same again.
func TestBN(t *testing.T) {
	run := func(steps int) *modelfile.Model {
		// All images in each batch: only their order differs.
		m, err := Run(t.Context(), model(), pictures().Indexed(), Options{Method: BN, Sigma: 0.1, Steps: steps, BatchSize: 12, Seed: 4, Backend: "go"})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	one, ten, start := run(1), run(10), model()
	for i, tensor := range start.Weights {
		running := strings.HasSuffix(tensor.Name, "/mean") || strings.HasSuffix(tensor.Name, "/variance")
		if !running {
			if !slices.Equal(tensor.Values, ten.Weights[i].Values) {
				t.Errorf("%s changed", tensor.Name)
			}
			continue
		}
		for k, v := range tensor.Values {
			of := (float64(one.Weights[i].Values[k]) - 0.9*float64(v)) / 0.1 // of the batch
			want := 0.3486784401*float64(v) + (1-0.3486784401)*of
			if got := float64(ten.Weights[i].Values[k]); math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
				t.Fatalf("%s[%d] is %g after ten steps, want %g", tensor.Name, k, got, want)
			}
		}
	}
	for i, again := range run(10).Weights {
		if !slices.Equal(again.Values, ten.Weights[i].Values) {
			t.Errorf("%s is not the same again", again.Name)
		}
	}
}

// TENT changes averages, scales and shifts alone, and lowers the entropy of a fixed batch.
func TestTENT(t *testing.T) {
	o := Options{Method: TENT, Sigma: 0.1, Steps: 20, BatchSize: 12, Rate: 0.01, Seed: 4, Backend: "go"}
	adapted, err := Run(t.Context(), model(), pictures().Indexed(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i, tensor := range model().Weights {
		norm := strings.HasPrefix(tensor.Name, "bn")
		if same := slices.Equal(tensor.Values, adapted.Weights[i].Values); same == norm {
			t.Errorf("%s: unchanged %v", tensor.Name, same)
		}
	}
	o, err = o.withDefaults(pictures().Len())
	if err != nil {
		t.Fatal(err)
	}
	b := engines.Backend(t, "go")
	entropy := func(m *modelfile.Model) float64 {
		s, err := newStep(b, m.Card.Architecture, m.Card.Architecture.Tensors(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		batch, err := draw(t.Context(), pictures().Indexed(), o, rand.New(rand.NewPCG(o.Seed, 0)))
		if err != nil {
			t.Fatal(err)
		}
		e, err := s.take(tensors.FromFlatDataAndDimensions(batch, 12, 6, 6, 1), m.Weights)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if before, after := entropy(model()), entropy(adapted); !(after < before-1e-3) {
		t.Errorf("mean entropy %g, after TENT %g", before, after)
	}
}

// Every image is drawn once, with noise of the right size: its residuals are normal with mean 0 and deviation σ. The limits are five
// standard errors, wrong once in a million runs.
func TestDraw(t *testing.T) {
	const sigma = 0.25
	images := pictures()
	noisy, err := draw(t.Context(), images.Indexed(), Options{Images: images.Len(), Sigma: sigma}, rand.New(rand.NewPCG(8, 0)))
	if err != nil {
		t.Fatal(err)
	}
	size := shape.Len()
	seen := map[int]bool{}
	sum, squares := 0.0, 0.0
	for i := range images.Len() {
		best, nearest := math.Inf(1), 0
		for j := range images.Len() {
			distance := 0.0
			for k, v := range images.Image(j) {
				d := float64(noisy[i*size+k]) - float64(v)/255
				distance += d * d
			}
			if distance < best {
				best, nearest = distance, j
			}
		}
		seen[nearest] = true
		squares += best
		for k, v := range images.Image(nearest) {
			sum += float64(noisy[i*size+k]) - float64(v)/255
		}
	}
	n := float64(len(noisy))
	if len(seen) != images.Len() || math.Abs(sum) > 5*sigma*math.Sqrt(n) || math.Abs(squares/(sigma*sigma)-n) > 5*math.Sqrt(2*n) {
		t.Errorf("%d of %d images; residuals with mean %g and variance %g, want 0 and %g", len(seen), images.Len(), sum/n, squares/n, sigma*sigma)
	}
}

func TestBadOptions(t *testing.T) {
	for want, o := range map[string]Options{
		`no method "dua"`:     {Method: "dua"},
		"σ = -1":              {Method: BN, Sigma: -1},
		"13 images of":        {Method: BN, Images: 13},
		"batches of 1 of 12":  {Method: BN, BatchSize: 1},
		"batches of 13 of 12": {Method: BN, BatchSize: 13},
		"-1 steps":            {Method: TENT, Steps: -1},
		"rate -1":             {Method: TENT, Rate: -1},
		"momentum 1;":         {Method: TENT, Momentum: 1},
	} {
		o.Backend = "go"
		if _, err := Run(t.Context(), model(), pictures().Indexed(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
	other := pictures()
	other.Shape = pixel.Shape{Height: 4, Width: 9, Channels: 1}
	if _, err := Run(t.Context(), model(), other.Indexed(), Options{Method: BN, Backend: "go"}); err == nil || !strings.Contains(err.Error(), "takes 6×6") {
		t.Errorf("error %v", err)
	}
}
