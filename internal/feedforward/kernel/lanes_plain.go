//go:build !goexperiment.simd || !amd64

package kernel

// Without vectors, points are evaluated one by one.

func Multiply(w [][TileRows]float64, off []int, x *[TilePixels][]Lane, b *[TileRows]float64,
	s *[TileRows * TilePixels]Lane) {
	panic("kernel: no vector form in this build")
}

func MultiplyRows(w *[TileRows][]float64, x []float64, s *[TileRows]Lane) {
	Multiply(nil, nil, nil, nil, nil)
}
func SpreadRows(w *[TileRows][]float64, g *[TileRows]Lane, x []float64) {
	Multiply(nil, nil, nil, nil, nil)
}
func AddLane(to, s *Lane)                                                 { Multiply(nil, nil, nil, nil, nil) }
func PackRows(m, k int, a []float64, transposed bool) [][TileRows]float64 { return nil }
func MoveLane(to, from *Lane)                                             { Multiply(nil, nil, nil, nil, nil) }
func Rectify(values []float64)                                            { Multiply(nil, nil, nil, nil, nil) }
func Gate(values, gradients []float64)                                    { Multiply(nil, nil, nil, nil, nil) }
func EndLanes()                                                           {}
