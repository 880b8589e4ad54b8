//go:build goexperiment.simd && amd64

package feedforward

import "testing"

// Vectors of four give the bits of the plain form and of points alone, as vectors of eight do.
func TestProductInVectorsOfFour(t *testing.T) {
	if !wide {
		t.Skip("no vectors of eight here")
	}
	defer func() { wide = true }()
	wide = false
	TestProductForms(t)
	TestVectorJacobiansOfManyAreThoseOfEach(t)
}
