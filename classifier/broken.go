package classifier

import (
	"context"
	"fmt"
	"math"

	"github.com/certspec/certspec/pixel"
)

// Broken gives class 0, except where the first value z of an image is above Threshold:
// there its logits are NaN, a Miss. p_0 = Φ((t − z)/σ).
type Broken struct {
	Shape     pixel.Shape
	Classes   int
	Threshold float64
}

func (m Broken) Info() (Info, error) {
	if math.IsNaN(m.Threshold) {
		return Info{}, fmt.Errorf("classifier: broken model with threshold NaN; expected a number")
	}
	return toyInfo("broken", m.Shape, m.Classes, digest([]float64{m.Threshold}))
}

func (m Broken) Classify(ctx context.Context, batch Batch, result *Result) error {
	return classifyToy(ctx, m, batch, result, func(value func(int) float64, logits []float32) {
		clear(logits)
		logits[0] = 1
		if value(0) > m.Threshold {
			logits[m.Classes-1] = float32(math.NaN())
		}
	})
}

func (m Broken) Probabilities(image []uint8, sigma float64) []float64 {
	p := make([]float64, m.Classes)
	p[0] = normalCDF((m.Threshold - byteValues(image)(0)) / sigma)
	return p
}
