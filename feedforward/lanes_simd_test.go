//go:build goexperiment.simd && amd64

package feedforward

import (
	"math"
	"testing"

	"github.com/certspec/certspec/internal/feedforward/kernel"
)

// A ReLU in vectors has the bits of one value after the other, NaN and zeros of both signs included.
func TestRectifierInVectors(t *testing.T) {
	if !kernel.Vectors {
		t.Skip("no vectors here")
	}
	values, g := []float64{1, -1, 0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 0x1p-1074}, []float64{1, 2, 3, 4, 5, 6, 7, 8}
	want, back := make([]float64, 8), make([]float64, 8)
	relu().forward([][]float64{values}, want)
	relu().backward([][]float64{values}, want, g, [][]float64{back})
	kernel.Rectify(values)
	kernel.Gate(values, g)
	for i := range want {
		if math.Float64bits(values[i]) != math.Float64bits(want[i]) || g[i] != back[i] {
			t.Errorf("value %d is %v with gradient %v, want %v and %v", i, values[i], g[i], want[i], back[i])
		}
	}
}

// Vectors of four give the bits of points alone, as vectors of eight do.
func TestPointsInVectorsOfFour(t *testing.T) {
	if !kernel.Wide {
		t.Skip("no vectors of eight here")
	}
	defer func() { kernel.Wide = true }()
	kernel.Wide = false
	TestVectorJacobiansOfManyAreThoseOfEach(t)
}
