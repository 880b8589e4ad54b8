//go:build goexperiment.simd && amd64

package augment

import "simd/archsimd"

// vector says whether the vector form runs.
var vector = archsimd.X86.AVX2()

const lanes = 4

type vec = archsimd.Float64x4

func load(s []float64, k int) vec { return archsimd.LoadFloat64x4((*[lanes]float64)(s[k:])) }

func store(v vec, s []float64, k int) { v.Store((*[lanes]float64)(s[k:])) }

func broadcast(x float64) vec { return archsimd.BroadcastFloat64x4(x) }

// whole is the part of n values that fills vectors.
func whole(n int) int {
	if !vector {
		return 0
	}
	return n &^ (lanes - 1)
}

// uniforms is uniform of four words.
func uniforms(words []byte, k int, half, scale vec) vec {
	v := archsimd.LoadUint8x16((*[16]uint8)(words[4*k:])).AsInt32x4().ConvertToFloat64()
	return v.Add(half).Mul(scale)
}

// The vector forms work from the first value on and return where they stop; no product is fused with a
// sum, so that their results are those of the plain forms.

func (l noiseLaw) amplitudesVector(dst []float64, words []byte) int {
	n := whole(len(dst))
	half, scale := broadcast(0.5), broadcast(0x1p-32)
	base, slope := broadcast(l.base), broadcast(l.slope)
	for k := 0; k < n; k += lanes {
		store(base.Add(slope.Mul(uniforms(words, k, half, scale))), dst, k)
	}
	archsimd.ClearAVXUpperBits()
	return n
}

func (l noiseLaw) phasesVector(dst []float64, words []byte) int {
	n := whole(len(dst))
	half, scale, span := broadcast(0.5), broadcast(0x1p-32), broadcast(l.span)
	if !l.normal {
		for k := 0; k < n; k += lanes {
			store(span.Mul(uniforms(words, k, half, scale)), dst, k)
		}
		archsimd.ClearAVXUpperBits()
		return n
	}
	edge, sigma := broadcast(0.180625), broadcast(phaseSigma)
	var p, q [8]vec
	for i := range p {
		p[i], q[i] = broadcast(as241Top[i]), broadcast(as241Bottom[i])
	}
	for k := 0; k < n; k += lanes {
		y := span.Mul(uniforms(words, k, half, scale))
		r := edge.Sub(y.Mul(y))
		top := r.Mul(p[7]).Add(p[6])
		bottom := r.Mul(q[7]).Add(q[6])
		top, bottom = top.Mul(r).Add(p[5]), bottom.Mul(r).Add(q[5])
		top, bottom = top.Mul(r).Add(p[4]), bottom.Mul(r).Add(q[4])
		top, bottom = top.Mul(r).Add(p[3]), bottom.Mul(r).Add(q[3])
		top, bottom = top.Mul(r).Add(p[2]), bottom.Mul(r).Add(q[2])
		top, bottom = top.Mul(r).Add(p[1]), bottom.Mul(r).Add(q[1])
		top, bottom = top.Mul(r).Add(p[0]), bottom.Mul(r).Add(q[0])
		store(sigma.Mul(y).Mul(top.Div(bottom)), dst, k)
	}
	archsimd.ClearAVXUpperBits()
	return n
}

func addTurnedVector(re, im, amplitude, phase []float64, g float64) int {
	n := whole(len(re))
	im, amplitude, phase = im[:len(re)], amplitude[:len(re)], phase[:len(re)]
	share, middle := broadcast(g), broadcast(0.5)
	var st, ct [11]vec
	for i := range st {
		st[i], ct[i] = broadcast(sineTerms[i]), broadcast(cosineTerms[i])
	}
	for k := 0; k < n; k += lanes {
		half := middle.Mul(load(phase, k))
		x := half.Mul(half)
		s, c := st[10].Mul(x).Add(st[9]), ct[10].Mul(x).Add(ct[9])
		s, c = s.Mul(x).Add(st[8]), c.Mul(x).Add(ct[8])
		s, c = s.Mul(x).Add(st[7]), c.Mul(x).Add(ct[7])
		s, c = s.Mul(x).Add(st[6]), c.Mul(x).Add(ct[6])
		s, c = s.Mul(x).Add(st[5]), c.Mul(x).Add(ct[5])
		s, c = s.Mul(x).Add(st[4]), c.Mul(x).Add(ct[4])
		s, c = s.Mul(x).Add(st[3]), c.Mul(x).Add(ct[3])
		s, c = s.Mul(x).Add(st[2]), c.Mul(x).Add(ct[2])
		s, c = s.Mul(x).Add(st[1]), c.Mul(x).Add(ct[1])
		s, c = s.Mul(x).Add(st[0]), c.Mul(x).Add(ct[0])
		s = s.Mul(half)
		a := share.Mul(load(amplitude, k))
		twice := a.Mul(s.Add(s))
		store(load(re, k).Add(a.Sub(twice.Mul(s))), re, k)
		store(load(im, k).Add(twice.Mul(c)), im, k)
	}
	archsimd.ClearAVXUpperBits()
	return n
}
