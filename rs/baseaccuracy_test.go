package rs

import (
	"math"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
)

// A linear model at a distance of σ from its boundary is right under noise with probability
// Φ(1) = 0.8413; of 2,500 images 5 deviations are 0.037, which a right program exceeds for one seed in 1.7 million.
func TestBaseAccuracy(t *testing.T) {
	const n = 2500
	shape := pixel.Shape{Height: 1, Width: 1, Channels: 1}
	images := &dataset.Images{Name: "dots", Shape: shape}
	for i := range n {
		images.IDs = append(images.IDs, i)
		images.Labels = append(images.Labels, i%2)
		images.Pixels = append(images.Pixels, byte(77+102*(i%2))) // ±0.2 around 128/255
	}
	model := classifier.Linear{Shape: shape, Weights: []float64{1}, Bias: -128. / 255}
	clean, err := BaseAccuracy(t.Context(), model, images.Indexed(), 0, 0)
	if err != nil || clean != 1 {
		t.Errorf("clean accuracy %v, %v; want 1", clean, err)
	}
	noisy, err := BaseAccuracy(t.Context(), model, images.Indexed(), 0.2, 1)
	if err != nil || math.Abs(noisy-0.8413) > 0.037 {
		t.Errorf("noisy accuracy %v, %v; want 0.841", noisy, err)
	}
	images.Labels[0], images.Labels[1] = -1, 0 // of 2,499 labels one is now wrong
	if clean, err = BaseAccuracy(t.Context(), model, images.Indexed(), 0, 0); err != nil || clean != 2498./2499 {
		t.Errorf("accuracy %v, %v; want 2498/2499", clean, err)
	}
	for i := range images.Labels {
		images.Labels[i] = -1
	}
	if _, err := BaseAccuracy(t.Context(), model, images.Indexed(), 0, 0); err == nil {
		t.Error("no labels, no error")
	}
	images.Labels[5] = 2
	if _, err := BaseAccuracy(t.Context(), model, images.Indexed(), 0, 0); err == nil {
		t.Error("a label beyond the classes, no error")
	}
}
