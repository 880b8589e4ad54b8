//go:build !goexperiment.simd || !amd64

package feedforward

// vectors is the switch of the vector form, which this build does not have.
var vectors = false

func productVector(m, n, k int, a []float64, transposed bool, b, c []float64) {
	panic("feedforward: no vector form in this build")
}

func productTiles(m, n, k int, rows [][tileRows]float64, b, c []float64) {
	panic("feedforward: no vector form in this build")
}
