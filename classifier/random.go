package classifier

import (
	"context"
	"math"

	"github.com/certspec/certspec/pixel"
)

// Random gives every input a class by a hash of its values: a function of the input, yet
// under noise each class has p = 1/k. A certificate for it must abstain, except with
// probability α.
type Random struct {
	Shape   pixel.Shape
	Classes int
}

func (m Random) Info() (Info, error) {
	return toyInfo("random", m.Shape, m.Classes, "fnv-1a of the values")
}

func (m Random) Classify(ctx context.Context, batch Batch, result *Result) error {
	return classifyToy(ctx, m, batch, result, func(value func(int) float64, logits []float32) {
		const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a, 64 bits
		hash := uint64(offset)
		for i := range m.Shape.Len() {
			hash = (hash ^ uint64(math.Float32bits(float32(value(i))))) * prime
			hash ^= hash >> 32 // or the low bits would only ever see low bits
		}
		clear(logits)
		logits[hash%uint64(m.Classes)] = 1
	})
}

func (m Random) Probabilities([]uint8, float64) []float64 {
	p := make([]float64, m.Classes)
	for c := range p {
		p[c] = 1 / float64(m.Classes)
	}
	return p
}
