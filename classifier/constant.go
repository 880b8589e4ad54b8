package classifier

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/pixel"
)

// Constant gives every image the same class: p_A = 1. From n samples that all hit,
// the certified radius is σ Φ⁻¹(α^{1/n}); the true one is infinite.
type Constant struct {
	Shape   pixel.Shape
	Classes int
	Class   int
}

func (m Constant) Info() (Info, error) {
	if m.Class < 0 || m.Class >= m.Classes {
		return Info{}, fmt.Errorf("classifier: constant class %d; expected 0 to %d", m.Class, m.Classes-1)
	}
	return toyInfo("constant", m.Shape, m.Classes, fmt.Sprintf("class %d", m.Class))
}

func (m Constant) Classify(ctx context.Context, batch Batch, result *Result) error {
	return classifyToy(ctx, m, batch, result, func(_ func(int) float64, logits []float32) {
		clear(logits)
		logits[m.Class] = 1
	})
}

func (m Constant) Probabilities([]uint8, float64) []float64 {
	p := make([]float64, m.Classes)
	p[m.Class] = 1
	return p
}
