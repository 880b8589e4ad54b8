//go:build goexperiment.simd && amd64

package feedforward

import "simd/archsimd"

// multiply is, for four rows of weights and two pixels, b plus the sums of w_t·x over the inputs t, which lie off_t behind each pixel:
// at to[2r+p] of row r at pixel p.
func multiply(w [][tileRows]float64, off []int, x0, x1 []float64, b *[tileRows]float64, to *[2 * tileRows]*lane) {
	off = off[:len(w)]
	if wide {
		type in = *[8]float64
		s00, s10, s20, s30 := archsimd.BroadcastFloat64x8(b[0]), archsimd.BroadcastFloat64x8(b[1]), archsimd.BroadcastFloat64x8(b[2]), archsimd.BroadcastFloat64x8(b[3])
		s01, s11, s21, s31 := s00, s10, s20, s30
		for t := range w {
			a := &w[t]
			v0, v1 := archsimd.LoadFloat64x8(in(x0[off[t]:])), archsimd.LoadFloat64x8(in(x1[off[t]:]))
			v := archsimd.BroadcastFloat64x8(a[0])
			s00, s01 = s00.Add(v.Mul(v0)), s01.Add(v.Mul(v1))
			v = archsimd.BroadcastFloat64x8(a[1])
			s10, s11 = s10.Add(v.Mul(v0)), s11.Add(v.Mul(v1))
			v = archsimd.BroadcastFloat64x8(a[2])
			s20, s21 = s20.Add(v.Mul(v0)), s21.Add(v.Mul(v1))
			v = archsimd.BroadcastFloat64x8(a[3])
			s30, s31 = s30.Add(v.Mul(v0)), s31.Add(v.Mul(v1))
		}
		s00.Store(in(to[0]))
		s01.Store(in(to[1]))
		s10.Store(in(to[2]))
		s11.Store(in(to[3]))
		s20.Store(in(to[4]))
		s21.Store(in(to[5]))
		s30.Store(in(to[6]))
		s31.Store(in(to[7]))
		return
	}
	type in = *[4]float64
	for half := 0; half < Lanes; half += 4 {
		s00, s10, s20, s30 := archsimd.BroadcastFloat64x4(b[0]), archsimd.BroadcastFloat64x4(b[1]), archsimd.BroadcastFloat64x4(b[2]), archsimd.BroadcastFloat64x4(b[3])
		s01, s11, s21, s31 := s00, s10, s20, s30
		for t := range w {
			a := &w[t]
			v0, v1 := archsimd.LoadFloat64x4(in(x0[off[t]+half:])), archsimd.LoadFloat64x4(in(x1[off[t]+half:]))
			v := archsimd.BroadcastFloat64x4(a[0])
			s00, s01 = s00.Add(v.Mul(v0)), s01.Add(v.Mul(v1))
			v = archsimd.BroadcastFloat64x4(a[1])
			s10, s11 = s10.Add(v.Mul(v0)), s11.Add(v.Mul(v1))
			v = archsimd.BroadcastFloat64x4(a[2])
			s20, s21 = s20.Add(v.Mul(v0)), s21.Add(v.Mul(v1))
			v = archsimd.BroadcastFloat64x4(a[3])
			s30, s31 = s30.Add(v.Mul(v0)), s31.Add(v.Mul(v1))
		}
		s00.Store(in(to[0][half:]))
		s01.Store(in(to[1][half:]))
		s10.Store(in(to[2][half:]))
		s11.Store(in(to[3][half:]))
		s20.Store(in(to[4][half:]))
		s21.Store(in(to[5][half:]))
		s30.Store(in(to[6][half:]))
		s31.Store(in(to[7][half:]))
	}
}

// multiplyRows adds to s_r, for four rows of weights, the sum of w_ri·x_i.
func multiplyRows(w *[tileRows][]float64, x []float64, s *[tileRows]lane) {
	w0, w1, w2, w3 := w[0], w[1][:len(w[0])], w[2][:len(w[0])], w[3][:len(w[0])]
	if wide {
		type in = *[8]float64
		s0, s1, s2, s3 := archsimd.LoadFloat64x8(in(&s[0])), archsimd.LoadFloat64x8(in(&s[1])), archsimd.LoadFloat64x8(in(&s[2])), archsimd.LoadFloat64x8(in(&s[3]))
		for i := range w0 {
			v := archsimd.LoadFloat64x8(in(x[i*Lanes:]))
			s0, s1 = s0.Add(archsimd.BroadcastFloat64x8(w0[i]).Mul(v)), s1.Add(archsimd.BroadcastFloat64x8(w1[i]).Mul(v))
			s2, s3 = s2.Add(archsimd.BroadcastFloat64x8(w2[i]).Mul(v)), s3.Add(archsimd.BroadcastFloat64x8(w3[i]).Mul(v))
		}
		s0.Store(in(&s[0]))
		s1.Store(in(&s[1]))
		s2.Store(in(&s[2]))
		s3.Store(in(&s[3]))
		return
	}
	type in = *[4]float64
	for half := 0; half < Lanes; half += 4 {
		s0, s1, s2, s3 := archsimd.LoadFloat64x4(in(s[0][half:])), archsimd.LoadFloat64x4(in(s[1][half:])), archsimd.LoadFloat64x4(in(s[2][half:])), archsimd.LoadFloat64x4(in(s[3][half:]))
		for i := range w0 {
			v := archsimd.LoadFloat64x4(in(x[i*Lanes+half:]))
			s0, s1 = s0.Add(archsimd.BroadcastFloat64x4(w0[i]).Mul(v)), s1.Add(archsimd.BroadcastFloat64x4(w1[i]).Mul(v))
			s2, s3 = s2.Add(archsimd.BroadcastFloat64x4(w2[i]).Mul(v)), s3.Add(archsimd.BroadcastFloat64x4(w3[i]).Mul(v))
		}
		s0.Store(in(s[0][half:]))
		s1.Store(in(s[1][half:]))
		s2.Store(in(s[2][half:]))
		s3.Store(in(s[3][half:]))
	}
}

// spreadRows adds to each x_i the products w_ri·g_r of four rows, one after the other.
func spreadRows(w *[tileRows][]float64, g *[tileRows]lane, x []float64) {
	w0, w1, w2, w3 := w[0], w[1][:len(w[0])], w[2][:len(w[0])], w[3][:len(w[0])]
	if wide {
		type in = *[8]float64
		g0, g1, g2, g3 := archsimd.LoadFloat64x8(in(&g[0])), archsimd.LoadFloat64x8(in(&g[1])), archsimd.LoadFloat64x8(in(&g[2])), archsimd.LoadFloat64x8(in(&g[3]))
		for i := range w0 {
			to := in(x[i*Lanes:])
			archsimd.LoadFloat64x8(to).Add(archsimd.BroadcastFloat64x8(w0[i]).Mul(g0)).Add(archsimd.BroadcastFloat64x8(w1[i]).Mul(g1)).Add(archsimd.BroadcastFloat64x8(w2[i]).Mul(g2)).Add(archsimd.BroadcastFloat64x8(w3[i]).Mul(g3)).Store(to)
		}
		return
	}
	type in = *[4]float64
	for half := 0; half < Lanes; half += 4 {
		g0, g1, g2, g3 := archsimd.LoadFloat64x4(in(g[0][half:])), archsimd.LoadFloat64x4(in(g[1][half:])), archsimd.LoadFloat64x4(in(g[2][half:])), archsimd.LoadFloat64x4(in(g[3][half:]))
		for i := range w0 {
			to := in(x[i*Lanes+half:])
			archsimd.LoadFloat64x4(to).Add(archsimd.BroadcastFloat64x4(w0[i]).Mul(g0)).Add(archsimd.BroadcastFloat64x4(w1[i]).Mul(g1)).Add(archsimd.BroadcastFloat64x4(w2[i]).Mul(g2)).Add(archsimd.BroadcastFloat64x4(w3[i]).Mul(g3)).Store(to)
		}
	}
}

// addLane adds s to the values at to.
func addLane(to []float64, s *lane) {
	type in = *[4]float64
	a, b := in(to), in(to[4:])
	archsimd.LoadFloat64x4(a).Add(archsimd.LoadFloat64x4(in(s[:]))).Store(a)
	archsimd.LoadFloat64x4(b).Add(archsimd.LoadFloat64x4(in(s[4:]))).Store(b)
}

// endLanes is called after these, before other floating-point code.
func endLanes() { archsimd.ClearAVXUpperBits() }
