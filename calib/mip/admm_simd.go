//go:build goexperiment.simd && amd64

package mip

import "simd/archsimd"

// vector says whether the vector form runs.
var vector = archsimd.X86.AVX2()

type vec = archsimd.Float64x4

func load(s []float64, k int) vec { return archsimd.LoadFloat64x4((*[lanes]float64)(s[k:])) }

func store(v vec, s []float64, k int) { v.Store((*[lanes]float64)(s[k:])) }

func broadcast(x float64) vec { return archsimd.BroadcastFloat64x4(x) }

// assignVector is assignPlain for a block of samples at a time. No scalar arithmetic is in the loops: it would
// switch between two forms of instructions, which costs more than the arithmetic.
func (s *iterate) assignVector(norm *[lanes]float64) {
	ratio, eta := broadcast(s.before/s.rho), broadcast(s.stepA)
	rho, before, scale := broadcast(s.rho), broadcast(s.before), broadcast(s.scale)
	sphere := broadcast(s.before * (s.keep - s.scale))
	sphereRatio := broadcast(s.before / s.rho * (s.keep - s.scale))
	zero, one := broadcast(0), broadcast(1)
	gradLow, gradHigh := broadcast(-clipGrad), broadcast(clipGrad)
	low, high := broadcast(-clipIterate), broadcast(clipIterate)
	squares := archsimd.LoadFloat64x4(norm)
	width := s.bins * lanes
	number, sign, sums := s.number[:width], s.sign[:width], s.sums[:width]
	for i := 0; i < len(s.c); i += lanes {
		from, to := i*s.bins, i*s.bins+width
		a, z, v1, v2 := s.a[from:to], s.z[from:to], s.v1[from:to], s.v2[from:to]
		c, h, pull, push := load(s.c, i), load(s.half, i), load(s.pull, i), load(s.push, i)
		first, last := load(s.first, i), load(s.last, i)
		real := h.Greater(zero)
		all, outside := zero, zero
		for m := 0; m < width; m += lanes {
			at := load(number, m)
			inside := at.GreaterEqual(first).And(at.LessEqual(last))
			old, w1, w2 := load(a, m), load(v1, m), load(v2, m)
			e := load(z, m).Sub(c)
			q := w1.Max(zero).Min(one)
			d := w1.Sub(q)
			g := before.Mul(d)
			g = g.Add(rho.Mul(old.Sub(q)))
			g = g.Add(sphere.Mul(w2))
			g = g.Add(rho.Mul(old.Sub(h).Sub(scale.Mul(w2))))
			g = g.Add(pull)
			g = g.Sub(load(sign, m).Mul(e))
			g = g.Merge(g.Add(push), inside)
			g = g.Max(gradLow).Min(gradHigh)
			next := old.Sub(eta.Mul(g)).Max(low).Min(high).Masked(real)
			v := next.Add(sphereRatio.Mul(w2)).Sub(h)
			store(next, a, m)
			store(next.Add(ratio.Mul(d)), v1, m)
			store(v, v2, m)
			squares = squares.Add(v.Mul(v))
			store(load(sums, m).Add(e.Mul(next)), sums, m)
			all = all.Add(next)
			outside = outside.Add(zero.Merge(next, inside))
		}
		store(all, s.unique, i)
		store(outside, s.valid, i)
	}
	squares.Store(norm)
	archsimd.ClearAVXUpperBits()
}

// confideVector is confidePlain for a block of samples at a time.
func (s *iterate) confideVector() {
	ratio, eta := broadcast(s.before/s.rho), broadcast(s.stepZ)
	rho, before := broadcast(s.rho), broadcast(s.before)
	low, high := broadcast(-clipIterate), broadcast(clipIterate)
	width := s.bins * lanes
	number, sign, sums := s.number[:width], s.sign[:width], s.sums[:width]
	lower, upper := s.lower[:width], s.upper[:width]
	for i := 0; i < len(s.c); i += lanes {
		from, to := i*s.bins, i*s.bins+width
		a, z, v3 := s.a[from:to], s.z[from:to], s.v3[from:to]
		c, l, u := load(s.c, i), load(s.l, i), load(s.u, i)
		first, last := load(s.first, i), load(s.last, i)
		for m := 0; m < width; m += lanes {
			at := load(number, m)
			inside := at.GreaterEqual(first).And(at.LessEqual(last))
			old, w, assigned := load(z, m), load(v3, m), load(a, m)
			g := w.Min(u.Min(load(upper, m))).Max(l.Max(load(lower, m))).Masked(inside)
			d := w.Sub(g)
			slope := before.Mul(d)
			slope = slope.Add(rho.Mul(old.Sub(g)))
			slope = slope.Sub(load(sign, m).Mul(assigned))
			next := old.Sub(eta.Mul(slope)).Max(low).Min(high)
			store(next, z, m)
			store(next.Add(ratio.Mul(d)), v3, m)
			store(load(sums, m).Add(next.Sub(c).Mul(assigned)), sums, m)
		}
	}
	archsimd.ClearAVXUpperBits()
}
