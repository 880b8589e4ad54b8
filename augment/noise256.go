//go:build goexperiment.simd && amd64

package augment

import "simd/archsimd"

//go:generate sh -c "(echo '// Code generated from noise256.go; DO NOT EDIT.'; echo; sed -e 's/lanes256 = 4/lanes512 = 8/; s/Float64x4/Float64x8/g; s/Int32x4/Int32x8/g; s/Uint8x16/Uint8x32/g; s/16\\]uint8/32]uint8/g; s/256/512/g; /go:generate/d' noise256.go) | gofmt > noise512.go"

const lanes256 = 4

type vec256 = archsimd.Float64x4

func load256(s []float64, k int) vec256 { return archsimd.LoadFloat64x4((*[lanes256]float64)(s[k:])) }

func store256(v vec256, s []float64, k int) { v.Store((*[lanes256]float64)(s[k:])) }

func broadcast256(x float64) vec256 { return archsimd.BroadcastFloat64x4(x) }

// middles256 is middle of four words.
func middles256(words []byte, k int, half vec256) vec256 {
	return archsimd.LoadUint8x16((*[16]uint8)(words[4*k:])).AsInt32x4().ConvertToFloat64().Add(half)
}

// Vector forms work from the first value on and return where they stop; no product is fused with a
// sum, so that they give the results of the plain forms.

func (l noiseLaw) amplitudes256(dst []float64, words []byte) int {
	n := len(dst) / lanes256 * lanes256
	half, base, slope := broadcast256(0.5), broadcast256(l.base), broadcast256(l.slope*0x1p-32)
	for k := 0; k < n; k += lanes256 {
		store256(base.Add(slope.Mul(middles256(words, k, half))), dst, k)
	}
	archsimd.ClearAVXUpperBits()
	return n
}

func (l noiseLaw) phases256(dst []float64, words []byte) int {
	n := len(dst) / lanes256 * lanes256
	half, span := broadcast256(0.5), broadcast256(l.span*0x1p-32)
	for k := 0; k < n; k += lanes256 {
		store256(span.Mul(middles256(words, k, half)), dst, k)
	}
	archsimd.ClearAVXUpperBits()
	return n
}

func quantiles256(values, terms []float64) int {
	const step = 4 * lanes256
	n, last := len(values)/step*step, len(terms)-1
	var wide [len(quantileTerms)]vec256
	for i, t := range terms {
		wide[i] = broadcast256(t)
	}
	for k := 0; k < n; k += step {
		v0, v1, v2, v3 := load256(values, k), load256(values, k+lanes256), load256(values, k+2*lanes256), load256(values, k+3*lanes256)
		x0, x1, x2, x3 := v0.Mul(v0), v1.Mul(v1), v2.Mul(v2), v3.Mul(v3)
		t := wide[last]
		s0, s1, s2, s3 := t, t, t, t
		for i := last - 1; i >= 0; i-- {
			t = wide[i]
			s0, s1, s2, s3 = s0.Mul(x0).Add(t), s1.Mul(x1).Add(t), s2.Mul(x2).Add(t), s3.Mul(x3).Add(t)
		}
		store256(s0.Mul(v0), values, k)
		store256(s1.Mul(v1), values, k+lanes256)
		store256(s2.Mul(v2), values, k+2*lanes256)
		store256(s3.Mul(v3), values, k+3*lanes256)
	}
	archsimd.ClearAVXUpperBits()
	return n
}

func addTurned256(re, im, amplitude, phase []float64, g float64, sine, cosine []float64) int {
	const step = 4 * lanes256
	n, last := len(re)/step*step, len(sine)-1
	im, amplitude, phase = im[:len(re)], amplitude[:len(re)], phase[:len(re)]
	share, middle := broadcast256(g), broadcast256(0.5)
	var wideSine, wideCosine [len(sineTerms)]vec256
	for i := range sine {
		wideSine[i], wideCosine[i] = broadcast256(sine[i]), broadcast256(cosine[i])
	}
	for k := 0; k < n; k += step {
		h0, h1, h2, h3 := middle.Mul(load256(phase, k)), middle.Mul(load256(phase, k+lanes256)), middle.Mul(load256(phase, k+2*lanes256)), middle.Mul(load256(phase, k+3*lanes256))
		x0, x1, x2, x3 := h0.Mul(h0), h1.Mul(h1), h2.Mul(h2), h3.Mul(h3)
		s, c := wideSine[last], wideCosine[last]
		s0, s1, s2, s3 := s, s, s, s
		c0, c1, c2, c3 := c, c, c, c
		for i := last - 1; i >= 0; i-- {
			s, c = wideSine[i], wideCosine[i]
			s0, s1, s2, s3 = s0.Mul(x0).Add(s), s1.Mul(x1).Add(s), s2.Mul(x2).Add(s), s3.Mul(x3).Add(s)
			c0, c1, c2, c3 = c0.Mul(x0).Add(c), c1.Mul(x1).Add(c), c2.Mul(x2).Add(c), c3.Mul(x3).Add(c)
		}
		addTurns256(re, im, k, share.Mul(load256(amplitude, k)), s0.Mul(h0), c0)
		addTurns256(re, im, k+lanes256, share.Mul(load256(amplitude, k+lanes256)), s1.Mul(h1), c1)
		addTurns256(re, im, k+2*lanes256, share.Mul(load256(amplitude, k+2*lanes256)), s2.Mul(h2), c2)
		addTurns256(re, im, k+3*lanes256, share.Mul(load256(amplitude, k+3*lanes256)), s3.Mul(h3), c3)
	}
	archsimd.ClearAVXUpperBits()
	return n
}

func addTurns256(re, im []float64, k int, a, sine, cosine vec256) {
	twice := a.Mul(sine.Add(sine))
	store256(load256(re, k).Add(a.Sub(twice.Mul(sine))), re, k)
	store256(load256(im, k).Add(twice.Mul(cosine)), im, k)
}
