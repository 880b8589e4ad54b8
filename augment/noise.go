package augment

import "encoding/binary"

// amplitudes writes A for words of 4 bytes.
func (l noiseLaw) amplitudes(dst []float64, words []byte) {
	for k := l.amplitudesVector(dst, words); k < len(dst); k++ {
		dst[k] = l.base + float64(l.slope*uniform(words[4*k:]))
	}
}

// phases writes φ for words of 4 bytes.
func (l noiseLaw) phases(dst []float64, words []byte) {
	for k := l.phasesVector(dst, words); k < len(dst); k++ {
		y := float64(l.span * uniform(words[4*k:]))
		if l.normal {
			y = quantile(y)
		}
		dst[k] = y
	}
}

// uniform is (k + ½)·2⁻³² of a word.
func uniform(word []byte) float64 {
	return (float64(int32(binary.LittleEndian.Uint32(word))) + 0.5) * 0x1p-32
}

// quantile is phaseSigma·Φ⁻¹(½ + y) for |y| ≤ 0.425, with a relative error of some 10⁻¹⁶: the middle part of algorithm AS 241
// (Wichura 1988), which phase severities up to π do not leave.
func quantile(y float64) float64 {
	r := 0.180625 - float64(y*y)
	top := float64(r*as241Top[7]) + as241Top[6]
	bottom := float64(r*as241Bottom[7]) + as241Bottom[6]
	for i := 5; i >= 0; i-- {
		top = float64(top*r) + as241Top[i]
		bottom = float64(bottom*r) + as241Bottom[i]
	}
	return float64(phaseSigma*y) * (top / bottom)
}

// Coefficients of AS 241 for |p − ½| ≤ 0.425, lowest power first.
var (
	as241Top = [8]float64{
		3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
		4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3,
	}
	as241Bottom = [8]float64{
		1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
		2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3,
	}
)

// addTurned adds g·A·exp(iφ) to re + i·im, for |φ| ≤ π: with s and c the sine and cosine of φ/2, by their Taylor series, exp(iφ) is 1 − 2s² + 2isc.
func addTurned(re, im, amplitude, phase []float64, g float64) {
	for k := addTurnedVector(re, im, amplitude, phase, g); k < len(re); k++ {
		half := float64(0.5 * phase[k])
		x := float64(half * half)
		s, c := sineTerms[len(sineTerms)-1], cosineTerms[len(cosineTerms)-1]
		for i := len(sineTerms) - 2; i >= 0; i-- {
			s = float64(s*x) + sineTerms[i]
		}
		for i := len(cosineTerms) - 2; i >= 0; i-- {
			c = float64(c*x) + cosineTerms[i]
		}
		s = float64(s * half)
		a := float64(g * amplitude[k])
		twice := float64(a * (s + s))
		re[k] += a - float64(twice*s)
		im[k] += float64(twice * c)
	}
}

// Taylor coefficients: what is left out is below 10⁻¹⁶ up to π/2.
var (
	sineTerms, cosineTerms [11]float64
)

func init() {
	term := 1.0
	for i := range cosineTerms {
		n := float64(2 * i)
		cosineTerms[i] = term
		sineTerms[i] = term / (n + 1)
		term /= -(n + 1) * (n + 2)
	}
}
