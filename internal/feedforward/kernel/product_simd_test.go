//go:build goexperiment.simd && amd64

package kernel

import "testing"

// Vectors of four give the bits of the plain form, as vectors of eight do.
func TestProductInVectorsOfFour(t *testing.T) {
	if !Wide {
		t.Skip("no vectors of eight here")
	}
	defer func() { Wide = true }()
	Wide = false
	TestProductForms(t)
}
