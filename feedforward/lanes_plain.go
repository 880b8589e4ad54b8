//go:build !goexperiment.simd || !amd64

package feedforward

// Without vectors, points are evaluated one by one.

func multiply(w [][tileRows]float64, off []int, x *[tilePixels][]lane, b *[tileRows]float64,
	s *[tileRows * tilePixels]lane) {
	panic("feedforward: no vector form in this build")
}

func multiplyRows(w *[tileRows][]float64, x []float64, s *[tileRows]lane) {
	multiply(nil, nil, nil, nil, nil)
}
func spreadRows(w *[tileRows][]float64, g *[tileRows]lane, x []float64) {
	multiply(nil, nil, nil, nil, nil)
}
func addLane(to, s *lane)                                                 { multiply(nil, nil, nil, nil, nil) }
func packRows(m, k int, a []float64, transposed bool) [][tileRows]float64 { return nil }
func moveLane(to, from *lane)                                             { multiply(nil, nil, nil, nil, nil) }
func rectify(values []float64)                                            { multiply(nil, nil, nil, nil, nil) }
func gate(values, gradients []float64)                                    { multiply(nil, nil, nil, nil, nil) }
func endLanes()                                                           {}
