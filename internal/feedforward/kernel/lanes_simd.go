//go:build goexperiment.simd && amd64

package kernel

import "simd/archsimd"

// Multiply is, for four rows of weights and four pixels, b plus the sums of w_t·x over the inputs
// t, which lie off_t behind each pixel: at s[4r+p] of row r at pixel p. Two rows at a time, and a
// pixel after the other, as Go uses 15 vectors: the sums would not stay in them beside more
// products.
func Multiply(w [][TileRows]float64, off []int, x *[TilePixels][]Lane, b *[TileRows]float64,
	s *[TileRows * TilePixels]Lane) {
	off = off[:len(w)]
	x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
	for r := 0; r < TileRows; r += 2 {
		to := s[r*TilePixels:][:2*TilePixels]
		if Wide {
			type in = *[8]float64
			s00, s10 := archsimd.BroadcastFloat64x8(b[r]), archsimd.BroadcastFloat64x8(b[r+1])
			s01, s02, s03, s11, s12, s13 := s00, s00, s00, s10, s10, s10
			for t := range w {
				a, o := &w[t], off[t]
				a0, a1 := archsimd.BroadcastFloat64x8(a[r]), archsimd.BroadcastFloat64x8(a[r+1])
				v := archsimd.LoadFloat64x8(in(&x0[o]))
				s00 = s00.Add(a0.Mul(v))
				s10 = s10.Add(a1.Mul(v))
				v = archsimd.LoadFloat64x8(in(&x1[o]))
				s01 = s01.Add(a0.Mul(v))
				s11 = s11.Add(a1.Mul(v))
				v = archsimd.LoadFloat64x8(in(&x2[o]))
				s02 = s02.Add(a0.Mul(v))
				s12 = s12.Add(a1.Mul(v))
				v = archsimd.LoadFloat64x8(in(&x3[o]))
				s03 = s03.Add(a0.Mul(v))
				s13 = s13.Add(a1.Mul(v))
			}
			s00.Store(in(&to[0]))
			s01.Store(in(&to[1]))
			s02.Store(in(&to[2]))
			s03.Store(in(&to[3]))
			s10.Store(in(&to[4]))
			s11.Store(in(&to[5]))
			s12.Store(in(&to[6]))
			s13.Store(in(&to[7]))
			continue
		}
		type in = *[4]float64
		for half := 0; half < Lanes; half += 4 {
			s00, s10 := archsimd.BroadcastFloat64x4(b[r]), archsimd.BroadcastFloat64x4(b[r+1])
			s01, s02, s03, s11, s12, s13 := s00, s00, s00, s10, s10, s10
			for t := range w {
				a, o := &w[t], off[t]
				a0, a1 := archsimd.BroadcastFloat64x4(a[r]), archsimd.BroadcastFloat64x4(a[r+1])
				v := archsimd.LoadFloat64x4(in(x0[o][half:]))
				s00 = s00.Add(a0.Mul(v))
				s10 = s10.Add(a1.Mul(v))
				v = archsimd.LoadFloat64x4(in(x1[o][half:]))
				s01 = s01.Add(a0.Mul(v))
				s11 = s11.Add(a1.Mul(v))
				v = archsimd.LoadFloat64x4(in(x2[o][half:]))
				s02 = s02.Add(a0.Mul(v))
				s12 = s12.Add(a1.Mul(v))
				v = archsimd.LoadFloat64x4(in(x3[o][half:]))
				s03 = s03.Add(a0.Mul(v))
				s13 = s13.Add(a1.Mul(v))
			}
			s00.Store(in(to[0][half:]))
			s01.Store(in(to[1][half:]))
			s02.Store(in(to[2][half:]))
			s03.Store(in(to[3][half:]))
			s10.Store(in(to[4][half:]))
			s11.Store(in(to[5][half:]))
			s12.Store(in(to[6][half:]))
			s13.Store(in(to[7][half:]))
		}
	}
}

// MultiplyRows adds to s_r, for four rows of weights, the sum of w_ri·x_i.
func MultiplyRows(w *[TileRows][]float64, x []float64, s *[TileRows]Lane) {
	w0, w1, w2, w3 := w[0], w[1][:len(w[0])], w[2][:len(w[0])], w[3][:len(w[0])]
	if Wide {
		type in = *[8]float64
		s0, s1, s2, s3 := archsimd.LoadFloat64x8(in(&s[0])), archsimd.LoadFloat64x8(in(&s[1])),
			archsimd.LoadFloat64x8(in(&s[2])), archsimd.LoadFloat64x8(in(&s[3]))
		for i := range w0 {
			v := archsimd.LoadFloat64x8(in(x[i*Lanes:]))
			s0, s1 = s0.Add(archsimd.BroadcastFloat64x8(w0[i]).Mul(v)),
				s1.Add(archsimd.BroadcastFloat64x8(w1[i]).Mul(v))
			s2, s3 = s2.Add(archsimd.BroadcastFloat64x8(w2[i]).Mul(v)),
				s3.Add(archsimd.BroadcastFloat64x8(w3[i]).Mul(v))
		}
		s0.Store(in(&s[0]))
		s1.Store(in(&s[1]))
		s2.Store(in(&s[2]))
		s3.Store(in(&s[3]))
		return
	}
	type in = *[4]float64
	for half := 0; half < Lanes; half += 4 {
		s0, s1, s2, s3 := archsimd.LoadFloat64x4(in(s[0][half:])), archsimd.LoadFloat64x4(in(s[1][half:])),
			archsimd.LoadFloat64x4(in(s[2][half:])), archsimd.LoadFloat64x4(in(s[3][half:]))
		for i := range w0 {
			v := archsimd.LoadFloat64x4(in(x[i*Lanes+half:]))
			s0, s1 = s0.Add(archsimd.BroadcastFloat64x4(w0[i]).Mul(v)),
				s1.Add(archsimd.BroadcastFloat64x4(w1[i]).Mul(v))
			s2, s3 = s2.Add(archsimd.BroadcastFloat64x4(w2[i]).Mul(v)),
				s3.Add(archsimd.BroadcastFloat64x4(w3[i]).Mul(v))
		}
		s0.Store(in(s[0][half:]))
		s1.Store(in(s[1][half:]))
		s2.Store(in(s[2][half:]))
		s3.Store(in(s[3][half:]))
	}
}

// SpreadRows adds to each x_i the products w_ri·g_r of four rows, one after the other.
func SpreadRows(w *[TileRows][]float64, g *[TileRows]Lane, x []float64) {
	w0, w1, w2, w3 := w[0], w[1][:len(w[0])], w[2][:len(w[0])], w[3][:len(w[0])]
	if Wide {
		type in = *[8]float64
		g0, g1, g2, g3 := archsimd.LoadFloat64x8(in(&g[0])), archsimd.LoadFloat64x8(in(&g[1])),
			archsimd.LoadFloat64x8(in(&g[2])), archsimd.LoadFloat64x8(in(&g[3]))
		for i := range w0 {
			to := in(x[i*Lanes:])
			archsimd.LoadFloat64x8(to).Add(archsimd.BroadcastFloat64x8(w0[i]).Mul(g0)).
				Add(archsimd.BroadcastFloat64x8(w1[i]).Mul(g1)).Add(archsimd.BroadcastFloat64x8(w2[i]).Mul(g2)).
				Add(archsimd.BroadcastFloat64x8(w3[i]).Mul(g3)).Store(to)
		}
		return
	}
	type in = *[4]float64
	for half := 0; half < Lanes; half += 4 {
		g0, g1, g2, g3 := archsimd.LoadFloat64x4(in(g[0][half:])), archsimd.LoadFloat64x4(in(g[1][half:])),
			archsimd.LoadFloat64x4(in(g[2][half:])), archsimd.LoadFloat64x4(in(g[3][half:]))
		for i := range w0 {
			to := in(x[i*Lanes+half:])
			archsimd.LoadFloat64x4(to).Add(archsimd.BroadcastFloat64x4(w0[i]).Mul(g0)).
				Add(archsimd.BroadcastFloat64x4(w1[i]).Mul(g1)).Add(archsimd.BroadcastFloat64x4(w2[i]).Mul(g2)).
				Add(archsimd.BroadcastFloat64x4(w3[i]).Mul(g3)).Store(to)
		}
	}
}

// AddLane adds s to the values at to.
func AddLane(to, s *Lane) {
	type in = *[4]float64
	for half := 0; half < Lanes; half += 4 {
		archsimd.LoadFloat64x4(in(to[half:])).Add(archsimd.LoadFloat64x4(in(s[half:]))).Store(in(to[half:]))
	}
}

// MoveLane copies a lane.
func MoveLane(to, from *Lane) {
	type in = *[4]float64
	for half := 0; half < Lanes; half += 4 {
		archsimd.LoadFloat64x4(in(from[half:])).Store(in(to[half:]))
	}
}

// Rectify makes max(v, 0) of each value.
func Rectify(values []float64) {
	var zero archsimd.Float64x4
	for i := 0; i < len(values); i += 4 {
		at := (*[4]float64)(values[i:])
		v := archsimd.LoadFloat64x4(at)
		zero.Merge(v, v.LessEqual(zero)).Store(at)
	}
	EndLanes()
}

// Gate makes the gradients zero where values are not above zero.
func Gate(values, gradients []float64) {
	var zero archsimd.Float64x4
	for i := 0; i < len(values); i += 4 {
		at := (*[4]float64)(gradients[i:])
		archsimd.LoadFloat64x4(at).Masked(archsimd.LoadFloat64x4((*[4]float64)(values[i:])).Greater(zero)).Store(at)
	}
	EndLanes()
}

// EndLanes is called after these, before other floating-point code.
func EndLanes() { archsimd.ClearAVXUpperBits() }
