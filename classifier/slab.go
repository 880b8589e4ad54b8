package classifier

import (
	"context"
	"fmt"
	"math"

	"github.com/certspec/certspec/pixel"
)

// Slab has two classes, 1 where the first value z of an image is within HalfWidth of
// Center, with logits (0, h − |z − c|). With d = z − c,
//
//	p_1 = Φ((h − d)/σ) − Φ((−h − d)/σ)
//
// The radius σ Φ⁻¹(p_1) that smoothing certifies at d = 0 is less than the true distance at which the smoothed class
// changes. For h = .5, σ = .25 it is .42254 against .49998.
type Slab struct {
	Shape     pixel.Shape
	Center    float64
	HalfWidth float64
}

func (m Slab) Info() (Info, error) {
	if !(m.HalfWidth > 0) || math.IsInf(m.HalfWidth, 0) || math.IsNaN(m.Center) || math.IsInf(m.Center, 0) {
		return Info{}, fmt.Errorf("classifier: slab of half width %g at %g; expected finite values and a half width > 0",
			m.HalfWidth, m.Center)
	}
	return toyInfo("slab", m.Shape, 2, digest([]float64{m.Center, m.HalfWidth}))
}

func (m Slab) Classify(ctx context.Context, batch Batch, result *Result) error {
	return classifyToy(ctx, m, batch, result, func(value func(int) float64, logits []float32) {
		logits[0], logits[1] = 0, float32(m.HalfWidth-math.Abs(value(0)-m.Center))
	})
}

func (m Slab) Probabilities(image []uint8, sigma float64) []float64 {
	d := byteValues(image)(0) - m.Center
	p := normalCDF((m.HalfWidth-d)/sigma) - normalCDF((-m.HalfWidth-d)/sigma)
	return []float64{1 - p, p}
}
