//go:build !goexperiment.simd || !amd64

package kernel

// Vectors is the switch of the vector form, which this build does not have.
var Vectors = false

func ProductTiles(m, n, k int, rows [][TileRows]float64, b, c Matrix) {
	panic("kernel: no vector form in this build")
}
