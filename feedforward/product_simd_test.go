//go:build goexperiment.simd && amd64

package feedforward

import "testing"

// Vectors of four give the bits of vectors of eight.
func TestProductInVectorsOfFour(t *testing.T) {
	if !wide {
		t.Skip("no vectors of eight here")
	}
	defer func() { wide = true }()
	wide = false
	TestProductForms(t)
}
