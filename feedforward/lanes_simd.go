//go:build goexperiment.simd && amd64

package feedforward

import "simd/archsimd"

// multiply adds to s, for four rows of weights and two pixels, the sums of w_t·x over the inputs t, which lie off_t behind each pixel:
// s[2r+p] of row r at pixel p.
func multiply(w [][tileRows]float64, off []int, x0, x1 []float64, s *[2 * tileRows]lane) {
	off = off[:len(w)]
	if wide {
		load := archsimd.LoadFloat64x8
		type in = *[8]float64
		s00, s01, s10, s11 := load(in(&s[0])), load(in(&s[1])), load(in(&s[2])), load(in(&s[3]))
		s20, s21, s30, s31 := load(in(&s[4])), load(in(&s[5])), load(in(&s[6])), load(in(&s[7]))
		for t := range w {
			a := &w[t]
			v0, v1 := load(in(x0[off[t]:])), load(in(x1[off[t]:]))
			b := archsimd.BroadcastFloat64x8(a[0])
			s00, s01 = s00.Add(b.Mul(v0)), s01.Add(b.Mul(v1))
			b = archsimd.BroadcastFloat64x8(a[1])
			s10, s11 = s10.Add(b.Mul(v0)), s11.Add(b.Mul(v1))
			b = archsimd.BroadcastFloat64x8(a[2])
			s20, s21 = s20.Add(b.Mul(v0)), s21.Add(b.Mul(v1))
			b = archsimd.BroadcastFloat64x8(a[3])
			s30, s31 = s30.Add(b.Mul(v0)), s31.Add(b.Mul(v1))
		}
		s00.Store(in(&s[0]))
		s01.Store(in(&s[1]))
		s10.Store(in(&s[2]))
		s11.Store(in(&s[3]))
		s20.Store(in(&s[4]))
		s21.Store(in(&s[5]))
		s30.Store(in(&s[6]))
		s31.Store(in(&s[7]))
		return
	}
	type in = *[4]float64
	load := archsimd.LoadFloat64x4
	for half := 0; half < Lanes; half += 4 {
		at := func(i int) in { return in(s[i][half:]) }
		s00, s01, s10, s11 := load(at(0)), load(at(1)), load(at(2)), load(at(3))
		s20, s21, s30, s31 := load(at(4)), load(at(5)), load(at(6)), load(at(7))
		for t := range w {
			a := &w[t]
			v0, v1 := load(in(x0[off[t]+half:])), load(in(x1[off[t]+half:]))
			b := archsimd.BroadcastFloat64x4(a[0])
			s00, s01 = s00.Add(b.Mul(v0)), s01.Add(b.Mul(v1))
			b = archsimd.BroadcastFloat64x4(a[1])
			s10, s11 = s10.Add(b.Mul(v0)), s11.Add(b.Mul(v1))
			b = archsimd.BroadcastFloat64x4(a[2])
			s20, s21 = s20.Add(b.Mul(v0)), s21.Add(b.Mul(v1))
			b = archsimd.BroadcastFloat64x4(a[3])
			s30, s31 = s30.Add(b.Mul(v0)), s31.Add(b.Mul(v1))
		}
		s00.Store(at(0))
		s01.Store(at(1))
		s10.Store(at(2))
		s11.Store(at(3))
		s20.Store(at(4))
		s21.Store(at(5))
		s30.Store(at(6))
		s31.Store(at(7))
	}
}

// multiplyRows adds to s_r, for four rows of weights, the sum of w_ri·x_i.
func multiplyRows(w *[tileRows][]float64, x []float64, s *[tileRows]lane) {
	w0, w1, w2, w3 := w[0], w[1][:len(w[0])], w[2][:len(w[0])], w[3][:len(w[0])]
	if wide {
		type in = *[8]float64
		load, all := archsimd.LoadFloat64x8, archsimd.BroadcastFloat64x8
		s0, s1, s2, s3 := load(in(&s[0])), load(in(&s[1])), load(in(&s[2])), load(in(&s[3]))
		for i := range w0 {
			v := load(in(x[i*Lanes:]))
			s0, s1 = s0.Add(all(w0[i]).Mul(v)), s1.Add(all(w1[i]).Mul(v))
			s2, s3 = s2.Add(all(w2[i]).Mul(v)), s3.Add(all(w3[i]).Mul(v))
		}
		s0.Store(in(&s[0]))
		s1.Store(in(&s[1]))
		s2.Store(in(&s[2]))
		s3.Store(in(&s[3]))
		return
	}
	type in = *[4]float64
	load, all := archsimd.LoadFloat64x4, archsimd.BroadcastFloat64x4
	for half := 0; half < Lanes; half += 4 {
		s0, s1, s2, s3 := load(in(s[0][half:])), load(in(s[1][half:])), load(in(s[2][half:])), load(in(s[3][half:]))
		for i := range w0 {
			v := load(in(x[i*Lanes+half:]))
			s0, s1 = s0.Add(all(w0[i]).Mul(v)), s1.Add(all(w1[i]).Mul(v))
			s2, s3 = s2.Add(all(w2[i]).Mul(v)), s3.Add(all(w3[i]).Mul(v))
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
		load, all := archsimd.LoadFloat64x8, archsimd.BroadcastFloat64x8
		g0, g1, g2, g3 := load(in(&g[0])), load(in(&g[1])), load(in(&g[2])), load(in(&g[3]))
		for i := range w0 {
			to := in(x[i*Lanes:])
			load(to).Add(all(w0[i]).Mul(g0)).Add(all(w1[i]).Mul(g1)).Add(all(w2[i]).Mul(g2)).Add(all(w3[i]).Mul(g3)).Store(to)
		}
		return
	}
	type in = *[4]float64
	load, all := archsimd.LoadFloat64x4, archsimd.BroadcastFloat64x4
	for half := 0; half < Lanes; half += 4 {
		g0, g1, g2, g3 := load(in(g[0][half:])), load(in(g[1][half:])), load(in(g[2][half:])), load(in(g[3][half:]))
		for i := range w0 {
			to := in(x[i*Lanes+half:])
			load(to).Add(all(w0[i]).Mul(g0)).Add(all(w1[i]).Mul(g1)).Add(all(w2[i]).Mul(g2)).Add(all(w3[i]).Mul(g3)).Store(to)
		}
	}
}

// addLane adds s to the values at to.
func addLane(to []float64, s *lane) {
	type in = *[4]float64
	load := archsimd.LoadFloat64x4
	a, b := in(to), in(to[4:])
	load(a).Add(load(in(s[:]))).Store(a)
	load(b).Add(load(in(s[4:]))).Store(b)
}

// endLanes is called after these, before other floating-point code.
func endLanes() { archsimd.ClearAVXUpperBits() }
