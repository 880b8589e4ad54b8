//go:build goexperiment.simd && amd64

package mip

import "simd/archsimd"

// vector says whether the vector form runs.
var vector = archsimd.X86.AVX2()

type vec = archsimd.Float64x4

func load(p *pack) vec { return archsimd.LoadFloat64x4((*[lanes]float64)(p)) }

func store(v vec, p *pack) { v.Store((*[lanes]float64)(p)) }

func broadcast(x float64) vec { return archsimd.BroadcastFloat64x4(x) }

// assignVector is assignPlain for a block of samples at a time. No scalar arithmetic is in the loops: it would
// switch between two forms of instructions, which costs more than the arithmetic.
func (s *iterate) assignVector(norm *pack) {
	ratio, eta := broadcast(s.before/s.rho), broadcast(s.stepA)
	rho, before := broadcast(s.rho), broadcast(s.before)
	sphere := broadcast(s.before*(s.keep-s.scale) - float64(s.rho*s.scale))
	sphereRatio := broadcast(s.before / s.rho * (s.keep - s.scale))
	zero, one := broadcast(0), broadcast(1)
	gradLow, gradHigh := broadcast(-clipGrad), broadcast(clipGrad)
	low, high := broadcast(-clipIterate), broadcast(clipIterate)
	squares := load(norm)
	number := s.number
	for b := range s.c {
		from := b * s.bins
		a, z, v1, v2 := s.a[from:][:len(number)], s.z[from:][:len(number)], s.v1[from:][:len(number)],
			s.v2[from:][:len(number)]
		sign, sums := s.sign[:len(number)], s.sums[:len(number)]
		c, h, pull, push := load(&s.c[b]), load(&s.half[b]), load(&s.pull[b]), load(&s.push[b])
		first, last := load(&s.first[b]), load(&s.last[b])
		real := h.Greater(zero)
		all, outside := zero, zero
		for m := range number {
			at := load(&number[m])
			inside := at.GreaterEqual(first).And(at.LessEqual(last))
			old, w1, w2 := load(&a[m]), load(&v1[m]), load(&v2[m])
			e := load(&z[m]).Sub(c)
			q := w1.Max(zero).Min(one)
			d := w1.Sub(q)
			g := before.Mul(d)
			g = g.Add(rho.Mul(old.Add(old).Sub(q)))
			g = g.Add(sphere.Mul(w2))
			g = g.Add(pull)
			g = g.Sub(load(&sign[m]).Mul(e))
			g = g.Merge(g.Add(push), inside)
			g = g.Max(gradLow).Min(gradHigh)
			next := old.Sub(eta.Mul(g)).Max(low).Min(high).Masked(real)
			v := next.Add(sphereRatio.Mul(w2)).Sub(h)
			store(next, &a[m])
			store(next.Add(ratio.Mul(d)), &v1[m])
			store(v, &v2[m])
			squares = squares.Add(v.Mul(v))
			store(load(&sums[m]).Add(e.Mul(next)), &sums[m])
			all = all.Add(next)
			outside = outside.Add(zero.Merge(next, inside))
		}
		store(all, &s.unique[b])
		store(outside, &s.valid[b])
	}
	store(squares, norm)
	archsimd.ClearAVXUpperBits()
}

// confideVector is confidePlain for a block of samples at a time.
func (s *iterate) confideVector() {
	ratio, eta := broadcast(s.before/s.rho), broadcast(s.stepZ)
	rho, before := broadcast(s.rho), broadcast(s.before)
	least, most := broadcast(-clipIterate), broadcast(clipIterate)
	zero, none := broadcast(0), broadcast(-4*clipIterate)
	number := s.number
	for b := range s.c {
		from := b * s.bins
		a, z, v3 := s.a[from:][:len(number)], s.z[from:][:len(number)], s.v3[from:][:len(number)]
		sign, sums := s.sign[:len(number)], s.sums[:len(number)]
		lower, upper := s.lower[:len(number)], s.upper[:len(number)]
		c, l, u := load(&s.c[b]), load(&s.l[b]), load(&s.u[b])
		first, last := load(&s.first[b]), load(&s.last[b])
		top, near, best := zero, zero, none
		for m := range number {
			at := load(&number[m])
			inside := at.GreaterEqual(first).And(at.LessEqual(last))
			old, w, assigned := load(&z[m]), load(&v3[m]), load(&a[m])
			low, high := l.Max(load(&lower[m])).Masked(inside), u.Min(load(&upper[m])).Masked(inside)
			g := w.Max(low).Min(high)
			d := w.Sub(g)
			slope := before.Mul(d)
			slope = slope.Add(rho.Mul(old.Sub(g)))
			slope = slope.Sub(load(&sign[m]).Mul(assigned))
			next := old.Sub(eta.Mul(slope)).Max(least).Min(most)
			store(next, &z[m])
			store(next.Add(ratio.Mul(d)), &v3[m])
			store(load(&sums[m]).Add(next.Sub(c).Mul(assigned)), &sums[m])
			better := assigned.Greater(best).And(inside)
			best, top = assigned.Merge(best, better), at.Merge(top, better)
			near = next.Max(low).Min(high).Merge(near, better)
		}
		store(top, &s.top[b])
		store(near, &s.near[b])
	}
	archsimd.ClearAVXUpperBits()
}
