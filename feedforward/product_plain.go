//go:build !goexperiment.simd || !amd64

package feedforward

// vectors is the switch of the vector form, which this build does not have.
var vectors = false

func productTiles(m, n, k int, rows [][tileRows]float64, b, c matrix) {
	panic("feedforward: no vector form in this build")
}
