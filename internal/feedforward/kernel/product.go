package kernel

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

const (
	TileRows = 4 // of a, and
	TileCols = 8 // of b, in a tile of the vector form
)

// TilePixels is how many outputs are computed with four rows of weights. All rows are taken before the next pixels:
// what these read stays in the nearest cache, where it is read once for two rows.
const TilePixels = 4

// Product adds to c, m × n, the product of a, m × k, and b, k × n, all row by row. With transposed, a is given as k ×
// m.
//
// Both forms add to a value of c its products in the order of k, each rounded before it is added, so that they give
// the same bits. The plain one passes over zeros of a, of which differences of two of many classes have little else.
func Product(m, n, k int, a []float64, transposed bool, b, c []float64) {
	if Vectors && !MostlyZero(a) {
		ProductTiles(m, n, k, PackRows(m, k, a, transposed), Matrix{b, n}, Matrix{c, n})
		return
	}
	ProductPlain(m, n, k, a, transposed, Matrix{b, n}, Matrix{c, n})
}

// Matrix is one whose rows begin stride values apart.
type Matrix struct {
	Data   []float64
	Stride int
}

func (m Matrix) general(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: m.Stride, Data: m.Data}
}

func ProductPlain(m, n, k int, a []float64, transposed bool, b, c Matrix) {
	turn, weights := blas.NoTrans, Matrix{a, k}.general(m, k)
	if transposed {
		turn, weights = blas.Trans, Matrix{a, m}.general(k, m)
	}
	blas64.Gemm(turn, blas.NoTrans, 1, weights, b.general(k, n), 1, c.general(m, n))
}

func MostlyZero(a []float64) bool {
	others := 0
	for _, v := range a {
		if v != 0 {
			others++
		}
	}
	return others < len(a)/16
}
