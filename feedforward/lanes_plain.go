//go:build !goexperiment.simd || !amd64

package feedforward

const tileRows = 4

// Without vectors, points are evaluated one by one.

func multiply(w [][tileRows]float64, off []int, x0, x1 []float64, b *[tileRows]float64, to *[2 * tileRows]*lane) {
	panic("feedforward: no vector form in this build")
}

func multiplyRows(w *[tileRows][]float64, x []float64, s *[tileRows]lane) {
	multiply(nil, nil, nil, nil, nil, nil)
}
func spreadRows(w *[tileRows][]float64, g *[tileRows]lane, x []float64) {
	multiply(nil, nil, nil, nil, nil, nil)
}
func addLane(to []float64, s *lane)                                       { multiply(nil, nil, nil, nil, nil, nil) }
func packRows(m, k int, a []float64, transposed bool) [][tileRows]float64 { return nil }
func endLanes()                                                           {}
