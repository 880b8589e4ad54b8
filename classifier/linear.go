package classifier

import (
	"context"
	"fmt"
	"math"

	"github.com/certspec/certspec/pixel"
)

// Linear has two classes, 1 where w·x + b > 0, with logits (0, w·x + b). With
// Δ = |w·x + b| / ‖w‖, the distance to the boundary,
//
//	p_A = Φ(Δ/σ), and the exact radius of the smoothed classifier is Δ, whatever σ
//
// (Cohen, Rosenfeld and Kolter 2019, appendix on linear base classifiers).
type Linear struct {
	Shape   pixel.Shape
	Weights []float64 // w, one per value of an image
	Bias    float64   // b
}

func (m Linear) Info() (Info, error) {
	if len(m.Weights) != m.Shape.Len() {
		return Info{}, fmt.Errorf("classifier: linear model has %d weights; an image of %v has %d values",
			len(m.Weights), m.Shape, m.Shape.Len())
	}
	norm := m.norm()
	if norm == 0 || math.IsNaN(norm) || math.IsInf(norm, 0) || math.IsNaN(m.Bias) || math.IsInf(m.Bias, 0) {
		return Info{}, fmt.Errorf("classifier: linear model with ‖w‖ = %g and bias %g; expected finite values and "+
			"‖w‖ > 0", norm, m.Bias)
	}
	return toyInfo("linear", m.Shape, 2, digest(append([]float64{m.Bias}, m.Weights...)))
}

func (m Linear) Classify(ctx context.Context, batch Batch, result *Result) error {
	return classifyToy(ctx, m, batch, result, func(value func(int) float64, logits []float32) {
		logits[0], logits[1] = 0, float32(m.margin(value))
	})
}

func (m Linear) Probabilities(image []uint8, sigma float64) []float64 {
	p := normalCDF(m.margin(byteValues(image)) / m.norm() / sigma)
	return []float64{1 - p, p}
}

// Radius is Δ, in units of the full range.
func (m Linear) Radius(image []uint8) float64 {
	return math.Abs(m.margin(byteValues(image))) / m.norm()
}

func (m Linear) margin(value func(int) float64) float64 {
	sum := m.Bias
	for i, w := range m.Weights {
		sum += float64(w * value(i)) // the conversion forbids a fused multiply-add: equal on all platforms
	}
	return sum
}

func (m Linear) norm() float64 {
	sum := 0.0
	for _, w := range m.Weights {
		sum += float64(w * w)
	}
	return math.Sqrt(sum)
}
