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

// middles is middle of four words.
func middles(words []byte, k int, half vec) vec {
	return archsimd.LoadUint8x16((*[16]uint8)(words[4*k:])).AsInt32x4().ConvertToFloat64().Add(half)
}

// The vector forms work from the first value on and return where they stop; no product is fused with a
// sum, so that their results are those of the plain forms.

func (l noiseLaw) amplitudesVector(dst []float64, words []byte) int {
	n := whole(len(dst))
	half, base, slope := broadcast(0.5), broadcast(l.base), broadcast(l.slope*0x1p-32)
	for k := 0; k < n; k += lanes {
		store(base.Add(slope.Mul(middles(words, k, half))), dst, k)
	}
	archsimd.ClearAVXUpperBits()
	return n
}

func (l noiseLaw) phasesVector(dst []float64, words []byte) int {
	n := whole(len(dst))
	half, span := broadcast(0.5), broadcast(l.span*0x1p-32)
	for k := 0; k < n; k += lanes {
		store(span.Mul(middles(words, k, half)), dst, k)
	}
	archsimd.ClearAVXUpperBits()
	return n
}

func quantilesVector(values, terms []float64) int {
	const step = 4 * lanes
	n, last := whole(len(values))/step*step, len(terms)-1
	var wide [len(quantileTerms)]vec
	for i, t := range terms {
		wide[i] = broadcast(t)
	}
	for k := 0; k < n; k += step {
		v0, v1, v2, v3 := load(values, k), load(values, k+lanes), load(values, k+2*lanes), load(values, k+3*lanes)
		x0, x1, x2, x3 := v0.Mul(v0), v1.Mul(v1), v2.Mul(v2), v3.Mul(v3)
		t := wide[last]
		s0, s1, s2, s3 := t, t, t, t
		for i := last - 1; i >= 0; i-- {
			t = wide[i]
			s0, s1, s2, s3 = s0.Mul(x0).Add(t), s1.Mul(x1).Add(t), s2.Mul(x2).Add(t), s3.Mul(x3).Add(t)
		}
		store(s0.Mul(v0), values, k)
		store(s1.Mul(v1), values, k+lanes)
		store(s2.Mul(v2), values, k+2*lanes)
		store(s3.Mul(v3), values, k+3*lanes)
	}
	archsimd.ClearAVXUpperBits()
	return n
}

func addTurnedVector(re, im, amplitude, phase []float64, g float64, sine, cosine []float64) int {
	const step = 4 * lanes
	n, last := whole(len(re))/step*step, len(sine)-1
	im, amplitude, phase = im[:len(re)], amplitude[:len(re)], phase[:len(re)]
	share, middle := broadcast(g), broadcast(0.5)
	var wideSine, wideCosine [len(sineTerms)]vec
	for i := range sine {
		wideSine[i], wideCosine[i] = broadcast(sine[i]), broadcast(cosine[i])
	}
	for k := 0; k < n; k += step {
		h0, h1, h2, h3 := middle.Mul(load(phase, k)), middle.Mul(load(phase, k+lanes)), middle.Mul(load(phase, k+2*lanes)), middle.Mul(load(phase, k+3*lanes))
		x0, x1, x2, x3 := h0.Mul(h0), h1.Mul(h1), h2.Mul(h2), h3.Mul(h3)
		s, c := wideSine[last], wideCosine[last]
		s0, s1, s2, s3 := s, s, s, s
		c0, c1, c2, c3 := c, c, c, c
		for i := last - 1; i >= 0; i-- {
			s, c = wideSine[i], wideCosine[i]
			s0, s1, s2, s3 = s0.Mul(x0).Add(s), s1.Mul(x1).Add(s), s2.Mul(x2).Add(s), s3.Mul(x3).Add(s)
			c0, c1, c2, c3 = c0.Mul(x0).Add(c), c1.Mul(x1).Add(c), c2.Mul(x2).Add(c), c3.Mul(x3).Add(c)
		}
		addTurns(re, im, k, share.Mul(load(amplitude, k)), s0.Mul(h0), c0)
		addTurns(re, im, k+lanes, share.Mul(load(amplitude, k+lanes)), s1.Mul(h1), c1)
		addTurns(re, im, k+2*lanes, share.Mul(load(amplitude, k+2*lanes)), s2.Mul(h2), c2)
		addTurns(re, im, k+3*lanes, share.Mul(load(amplitude, k+3*lanes)), s3.Mul(h3), c3)
	}
	archsimd.ClearAVXUpperBits()
	return n
}

func addTurns(re, im []float64, k int, a, sine, cosine vec) {
	twice := a.Mul(sine.Add(sine))
	store(load(re, k).Add(a.Sub(twice.Mul(sine))), re, k)
	store(load(im, k).Add(twice.Mul(cosine)), im, k)
}
