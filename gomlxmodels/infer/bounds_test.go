package infer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/gomlxmodels/backend"
	"github.com/certspec/certspec/gomlxmodels/export"
	"github.com/certspec/certspec/gomlxmodels/infer"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/onnxmodel"
	"github.com/certspec/certspec/pixel"
)

// Bounds in float32 are those of package feedforward in float64, within the rounding of float32.
func TestBounds(t *testing.T) {
	b, err := backend.Open("go")
	if err != nil {
		t.Fatal(err)
	}
	a := nets.Architecture{Name: nets.Large, Shape: pixel.Shape{Height: 8, Width: 8, Channels: 1}, Classes: 3, Width: 1. / 16}
	m := &modelfile.Model{Card: modelfile.Card{Architecture: a, Classes: []string{"a", "b", "c"}}}
	for _, w := range a.Tensors() {
		m.Weights = append(m.Weights, modelfile.Tensor{Name: w.Name, Shape: w.Shape, Values: w.Initialize(1)})
	}
	const epsilon = 0.05
	bounds, err := infer.LoadBounds(b, "l", m, epsilon)
	if err != nil {
		t.Fatal(err)
	}
	defer bounds.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	images := make([]float32, 2*64)
	for i := range images {
		images[i] = float32(rng.IntN(256)) / 255
	}
	u, err := bounds.Differences(t.Context(), images)
	if err != nil {
		t.Fatal(err)
	}
	data, err := export.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	n, err := onnxmodel.FeedForwardBytes("l", data, onnxmodel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		x := make([]float64, 64)
		for j := range x {
			x[j] = float64(images[64*i+j])
		}
		box, err := feedforward.Ball(x, epsilon, feedforward.Plain)
		if err != nil {
			t.Fatal(err)
		}
		want, err := n.Differences(t.Context(), box, feedforward.IBP, feedforward.Plain)
		if err != nil {
			t.Fatal(err)
		}
		for k, w := range want {
			if got := float64(u[9*i+k]); math.Abs(got-w) > 1e-5*(1+math.Abs(w)) {
				t.Errorf("image %d, U[%d] = %v, want %v", i, k, got, w)
			}
		}
	}
	if _, err := bounds.Differences(t.Context(), images[:63]); err == nil {
		t.Error("part of an image: no error")
	}
	for _, e := range []float64{-1, math.NaN(), 2} {
		if _, err := infer.LoadBounds(b, "l", m, e); err == nil {
			t.Errorf("epsilon %v: no error", e)
		}
	}
}
