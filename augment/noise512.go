// Code generated from noise256.go; DO NOT EDIT.

//go:build goexperiment.simd && amd64

package augment

import "simd/archsimd"

const lanes512 = 8

type vec512 = archsimd.Float64x8

func load512(s []float64, k int) vec512 { return archsimd.LoadFloat64x8((*[lanes512]float64)(s[k:])) }

func store512(v vec512, s []float64, k int) { v.Store((*[lanes512]float64)(s[k:])) }

func broadcast512(x float64) vec512 { return archsimd.BroadcastFloat64x8(x) }

// middles512 is middle of four words.
func middles512(words []byte, k int, half vec512) vec512 {
	return archsimd.LoadUint8x32((*[32]uint8)(words[4*k:])).AsInt32x8().ConvertToFloat64().Add(half)
}

// Vector forms work from the first value on and return where they stop; no product is fused with a
// sum, so that they give the results of the plain forms.

func (l noiseLaw) amplitudes512(dst []float64, words []byte) int {
	n := len(dst) / lanes512 * lanes512
	half, base, slope := broadcast512(0.5), broadcast512(l.base), broadcast512(l.slope*0x1p-32)
	for k := 0; k < n; k += lanes512 {
		store512(base.Add(slope.Mul(middles512(words, k, half))), dst, k)
	}
	archsimd.ClearAVXUpperBits()
	return n
}

func (l noiseLaw) phases512(dst []float64, words []byte) int {
	n := len(dst) / lanes512 * lanes512
	half, span := broadcast512(0.5), broadcast512(l.span*0x1p-32)
	for k := 0; k < n; k += lanes512 {
		store512(span.Mul(middles512(words, k, half)), dst, k)
	}
	archsimd.ClearAVXUpperBits()
	return n
}

func quantiles512(values, terms []float64) int {
	const step = 4 * lanes512
	n, last := len(values)/step*step, len(terms)-1
	var wide [len(quantileTerms)]vec512
	for i, t := range terms {
		wide[i] = broadcast512(t)
	}
	for k := 0; k < n; k += step {
		v0, v1, v2, v3 := load512(values, k), load512(values, k+lanes512), load512(values, k+2*lanes512), load512(values, k+3*lanes512)
		x0, x1, x2, x3 := v0.Mul(v0), v1.Mul(v1), v2.Mul(v2), v3.Mul(v3)
		t := wide[last]
		s0, s1, s2, s3 := t, t, t, t
		for i := last - 1; i >= 0; i-- {
			t = wide[i]
			s0, s1, s2, s3 = s0.Mul(x0).Add(t), s1.Mul(x1).Add(t), s2.Mul(x2).Add(t), s3.Mul(x3).Add(t)
		}
		store512(s0.Mul(v0), values, k)
		store512(s1.Mul(v1), values, k+lanes512)
		store512(s2.Mul(v2), values, k+2*lanes512)
		store512(s3.Mul(v3), values, k+3*lanes512)
	}
	archsimd.ClearAVXUpperBits()
	return n
}

func addTurned512(re, im, amplitude, phase []float64, g float64, sine, cosine []float64) int {
	const step = 4 * lanes512
	n, last := len(re)/step*step, len(sine)-1
	im, amplitude, phase = im[:len(re)], amplitude[:len(re)], phase[:len(re)]
	share, middle := broadcast512(g), broadcast512(0.5)
	var wideSine, wideCosine [len(sineTerms)]vec512
	for i := range sine {
		wideSine[i], wideCosine[i] = broadcast512(sine[i]), broadcast512(cosine[i])
	}
	for k := 0; k < n; k += step {
		h0, h1, h2, h3 := middle.Mul(load512(phase, k)), middle.Mul(load512(phase, k+lanes512)), middle.Mul(load512(phase, k+2*lanes512)), middle.Mul(load512(phase, k+3*lanes512))
		x0, x1, x2, x3 := h0.Mul(h0), h1.Mul(h1), h2.Mul(h2), h3.Mul(h3)
		s, c := wideSine[last], wideCosine[last]
		s0, s1, s2, s3 := s, s, s, s
		c0, c1, c2, c3 := c, c, c, c
		for i := last - 1; i >= 0; i-- {
			s, c = wideSine[i], wideCosine[i]
			s0, s1, s2, s3 = s0.Mul(x0).Add(s), s1.Mul(x1).Add(s), s2.Mul(x2).Add(s), s3.Mul(x3).Add(s)
			c0, c1, c2, c3 = c0.Mul(x0).Add(c), c1.Mul(x1).Add(c), c2.Mul(x2).Add(c), c3.Mul(x3).Add(c)
		}
		addTurns512(re, im, k, share.Mul(load512(amplitude, k)), s0.Mul(h0), c0)
		addTurns512(re, im, k+lanes512, share.Mul(load512(amplitude, k+lanes512)), s1.Mul(h1), c1)
		addTurns512(re, im, k+2*lanes512, share.Mul(load512(amplitude, k+2*lanes512)), s2.Mul(h2), c2)
		addTurns512(re, im, k+3*lanes512, share.Mul(load512(amplitude, k+3*lanes512)), s3.Mul(h3), c3)
	}
	archsimd.ClearAVXUpperBits()
	return n
}

func addTurns512(re, im []float64, k int, a, sine, cosine vec512) {
	twice := a.Mul(sine.Add(sine))
	store512(load512(re, k).Add(a.Sub(twice.Mul(sine))), re, k)
	store512(load512(im, k).Add(twice.Mul(cosine)), im, k)
}
