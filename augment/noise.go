package augment

import "encoding/binary"

// amplitudes writes A for words of 4 bytes.
func (l noiseLaw) amplitudes(dst []float64, words []byte) {
	for k := l.amplitudesVector(dst, words); k < len(dst); k++ {
		dst[k] = l.base + float64(l.slope*0x1p-32*middle(words[4*k:]))
	}
}

// phases writes φ for words of 4 bytes.
func (l noiseLaw) phases(dst []float64, words []byte) {
	for k := l.phasesVector(dst, words); k < len(dst); k++ {
		dst[k] = l.span * 0x1p-32 * middle(words[4*k:])
	}
	if l.normal {
		quantiles(dst, quantileTerms[:quantileCount(l.span)])
	}
}

// middle is k + ½ of a word. A uniform number is that times 2⁻³², which rounds nothing, whatever it is multiplied with.
func middle(word []byte) float64 { return float64(int32(binary.LittleEndian.Uint32(word))) + 0.5 }

// quantiles replaces y by y·Σ t_k y^{2k}. Four values go side by side, as one would wait for itself.
func quantiles(values, terms []float64) {
	k, last := quantilesVector(values, terms), len(terms)-1
	for ; k+4 <= len(values); k += 4 {
		v := values[k : k+4 : k+4]
		x0, x1, x2, x3 := float64(v[0]*v[0]), float64(v[1]*v[1]), float64(v[2]*v[2]), float64(v[3]*v[3])
		t := terms[last]
		s0, s1, s2, s3 := t, t, t, t
		for i := last - 1; i >= 0; i-- {
			t = terms[i]
			s0, s1, s2, s3 = float64(s0*x0)+t, float64(s1*x1)+t, float64(s2*x2)+t, float64(s3*x3)+t
		}
		v[0], v[1], v[2], v[3] = float64(s0*v[0]), float64(s1*v[1]), float64(s2*v[2]), float64(s3*v[3])
	}
	for ; k < len(values); k++ {
		x, s := float64(values[k]*values[k]), terms[last]
		for i := last - 1; i >= 0; i-- {
			s = float64(s*x) + terms[i]
		}
		values[k] = float64(s * values[k])
	}
}

// addTurned adds g·A·exp(iφ) to re + i·im, for |φ| up to a bound of at most π: with s and c the
// sine and cosine of φ/2, exp(iφ) is 1 − 2s² + 2isc.
func addTurned(re, im, amplitude, phase []float64, g, bound float64) {
	n := turnCount(bound / 2)
	sine, cosine := sineTerms[:n], cosineTerms[:n]
	k := addTurnedVector(re, im, amplitude, phase, g, sine, cosine)
	im, amplitude, phase = im[:len(re)], amplitude[:len(re)], phase[:len(re)]
	for ; k+2 <= len(re); k += 2 {
		h0, h1 := float64(0.5*phase[k]), float64(0.5*phase[k+1])
		x0, x1 := float64(h0*h0), float64(h1*h1)
		s, c := sine[n-1], cosine[n-1]
		s0, s1, c0, c1 := s, s, c, c
		for i := n - 2; i >= 0; i-- {
			s, c = sine[i], cosine[i]
			s0, s1, c0, c1 = float64(s0*x0)+s, float64(s1*x1)+s, float64(c0*x0)+c, float64(c1*x1)+c
		}
		addTurn(&re[k], &im[k], float64(g*amplitude[k]), float64(s0*h0), c0)
		addTurn(&re[k+1], &im[k+1], float64(g*amplitude[k+1]), float64(s1*h1), c1)
	}
	for ; k < len(re); k++ {
		h := float64(0.5 * phase[k])
		x, s, c := float64(h*h), sine[n-1], cosine[n-1]
		for i := n - 2; i >= 0; i-- {
			s, c = float64(s*x)+sine[i], float64(c*x)+cosine[i]
		}
		addTurn(&re[k], &im[k], float64(g*amplitude[k]), float64(s*h), c)
	}
}

func addTurn(re, im *float64, a, sine, cosine float64) {
	twice := float64(a * (sine + sine))
	*re += a - float64(twice*sine)
	*im += float64(twice * cosine)
}
