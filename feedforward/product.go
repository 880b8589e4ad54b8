package feedforward

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// product adds to c, m × n, the product of a, m × k, and b, k × n, all row by row. With transposed, a is given as k × m.
//
// Both forms add to a value of c its products in the order of k, each rounded before it is added, so that they give the same bits. The
// plain one passes over zeros of a, of which differences of two of many classes have little else.
func product(m, n, k int, a []float64, transposed bool, b, c []float64) {
	if vectors && !mostlyZero(a) {
		productVector(m, n, k, a, transposed, b, c)
		return
	}
	productPlain(m, n, k, a, transposed, b, c)
}

func productPlain(m, n, k int, a []float64, transposed bool, b, c []float64) {
	if transposed {
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, general(k, m, a), general(k, n, b), 1, general(m, n, c))
		return
	}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, general(m, k, a), general(k, n, b), 1, general(m, n, c))
}

func mostlyZero(a []float64) bool {
	others := 0
	for _, v := range a {
		if v != 0 {
			others++
		}
	}
	return others < len(a)/16
}
