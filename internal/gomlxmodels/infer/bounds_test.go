package infer_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
	"github.com/certspec/certspec/internal/gomlxmodels/infer"
	"github.com/certspec/certspec/pixel"
)

// Bounds in float32 are those of package feedforward in float64, within the rounding of float32, through Winograd's kernels too, which
// take both the weights and their magnitudes.
func TestBounds(t *testing.T) {
	a := nets.Architecture{Name: nets.Large, Shape: pixel.Shape{Height: 8, Width: 8, Channels: 1}, Classes: 3, Width: 1. / 4}
	m := &modelfile.Model{Card: modelfile.Card{Architecture: a, Classes: []string{"a", "b", "c"}}}
	for _, w := range a.Tensors() {
		m.Weights = append(m.Weights, modelfile.Tensor{Name: w.Name, Shape: w.Shape, Values: w.Initialize(1)})
	}
	const epsilon = 0.05
	rng := rand.New(rand.NewPCG(1, 2))
	images := make([]float32, 2*64)
	for i := range images {
		images[i] = float32(rng.IntN(256)) / 255
	}
	data, err := export.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	n, err := onnx.FeedForwardBytes("l", data, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var want []float64
	for image := range slices.Chunk(images, 64) {
		x := make([]float64, len(image))
		for j, v := range image {
			x[j] = float64(v)
		}
		box, err := feedforward.Ball(x, epsilon, feedforward.Plain)
		if err != nil {
			t.Fatal(err)
		}
		u, err := n.Differences(t.Context(), box, feedforward.IBP, feedforward.Plain)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, u...)
	}
	found := map[string][]float32{}
	const direct, winograd = "xla:cpu", "xla:cpu,kernels=winograd"
	for _, engine := range []string{"go", direct, winograd} {
		b, err := backend.Open(engine)
		if err != nil {
			if engine == "go" {
				t.Fatal(err)
			}
			t.Logf("not on %s: %v", engine, err)
			continue
		}
		bounds, err := infer.LoadBounds(b, "l", m, epsilon)
		if err != nil {
			t.Fatal(err)
		}
		defer bounds.Close()
		u, err := bounds.Differences(t.Context(), images)
		if err != nil {
			t.Fatal(err)
		}
		found[engine] = u
		for k, w := range want {
			if got := float64(u[k]); math.Abs(got-w) > 1e-5*(1+math.Abs(w)) {
				t.Errorf("%s: U[%d] = %v, want %v", engine, k, got, w)
			}
		}
		checkRefused(t, b, bounds, m)
	}
	if u := found[winograd]; u != nil && slices.Equal(u, found[direct]) {
		t.Error("Winograd's kernels change no bit of the bounds: they do not run")
	}
}

func checkRefused(t *testing.T, b *backend.Backend, bounds *infer.Bounds, m *modelfile.Model) {
	t.Helper()
	if _, err := bounds.Differences(t.Context(), make([]float32, 63)); err == nil {
		t.Error("part of an image: no error")
	}
	for _, e := range []float64{-1, math.NaN(), 2} {
		if _, err := infer.LoadBounds(b, "l", m, e); err == nil {
			t.Errorf("epsilon %v: no error", e)
		}
	}
}
