package feedforward

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

const (
	tileRows = 4 // of a, and
	tileCols = 8 // of b, in a tile of the vector form
)

// product adds to c, m × n, the product of a, m × k, and b, k × n, all row by row. With transposed, a is given as k ×
// m.
//
// Both forms add to a value of c its products in the order of k, each rounded before it is added, so that they give
// the same bits. The plain one passes over zeros of a, of which differences of two of many classes have little else.
func product(m, n, k int, a []float64, transposed bool, b, c []float64) {
	if vectors && !mostlyZero(a) {
		productTiles(m, n, k, packRows(m, k, a, transposed), matrix{b, n}, matrix{c, n})
		return
	}
	productPlain(m, n, k, a, transposed, matrix{b, n}, matrix{c, n})
}

// matrix is one whose rows begin stride values apart.
type matrix struct {
	data   []float64
	stride int
}

func (m matrix) general(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: m.stride, Data: m.data}
}

func productPlain(m, n, k int, a []float64, transposed bool, b, c matrix) {
	turn, weights := blas.NoTrans, matrix{a, k}.general(m, k)
	if transposed {
		turn, weights = blas.Trans, matrix{a, m}.general(k, m)
	}
	blas64.Gemm(turn, blas.NoTrans, 1, weights, b.general(k, n), 1, c.general(m, n))
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
