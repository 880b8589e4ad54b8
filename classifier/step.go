package classifier

import (
	"context"
	"fmt"
	"math"

	"github.com/certspec/certspec/pixel"
)

// Step cuts the first value z of an image at increasing thresholds t_1 < … < t_{k−1} into
// k classes: class c where t_c < z ≤ t_{c+1}, with t_0 = −∞ and t_k = ∞. The logits
// satisfy logit_c − logit_{c−1} = z − t_c, and
//
//	p_c = Φ((t_{c+1} − z)/σ) − Φ((t_c − z)/σ)
type Step struct {
	Shape      pixel.Shape
	Thresholds []float64
}

func (m Step) Info() (Info, error) {
	for i, t := range m.Thresholds {
		if math.IsNaN(t) || math.IsInf(t, 0) || i > 0 && t <= m.Thresholds[i-1] {
			return Info{}, fmt.Errorf("classifier: step thresholds %v; expected finite, increasing values",
				m.Thresholds)
		}
	}
	return toyInfo("step", m.Shape, len(m.Thresholds)+1, digest(m.Thresholds))
}

func (m Step) Classify(ctx context.Context, batch Batch, result *Result) error {
	return classifyToy(ctx, m, batch, result, func(value func(int) float64, logits []float32) {
		z, class := value(0), 0
		for class < len(m.Thresholds) && z > m.Thresholds[class] {
			class++
		}
		// Relative to the class's own logit, so that rounding to float32 makes no tie.
		logits[class] = 0
		for c, sum := class-1, 0.0; c >= 0; c-- {
			sum -= z - m.Thresholds[c]
			logits[c] = float32(sum)
		}
		for c, sum := class+1, 0.0; c <= len(m.Thresholds); c++ {
			sum += z - m.Thresholds[c-1]
			logits[c] = float32(sum)
		}
	})
}

func (m Step) Probabilities(image []uint8, sigma float64) []float64 {
	z, below := byteValues(image)(0), 0.0
	p := make([]float64, len(m.Thresholds)+1)
	for c, t := range m.Thresholds {
		upTo := normalCDF((t - z) / sigma)
		p[c], below = upTo-below, upTo
	}
	p[len(m.Thresholds)] = 1 - below
	return p
}
