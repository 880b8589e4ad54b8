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
	p, q := &as241Top, &as241Bottom
	top, bottom := float64(r*p[7])+p[6], float64(r*q[7])+q[6]
	top, bottom = float64(top*r)+p[5], float64(bottom*r)+q[5]
	top, bottom = float64(top*r)+p[4], float64(bottom*r)+q[4]
	top, bottom = float64(top*r)+p[3], float64(bottom*r)+q[3]
	top, bottom = float64(top*r)+p[2], float64(bottom*r)+q[2]
	top, bottom = float64(top*r)+p[1], float64(bottom*r)+q[1]
	top, bottom = float64(top*r)+p[0], float64(bottom*r)+q[0]
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
	st, ct := &sineTerms, &cosineTerms
	for k := addTurnedVector(re, im, amplitude, phase, g); k < len(re); k++ {
		half := float64(0.5 * phase[k])
		x := float64(half * half)
		s, c := float64(st[10]*x)+st[9], float64(ct[10]*x)+ct[9]
		s, c = float64(s*x)+st[8], float64(c*x)+ct[8]
		s, c = float64(s*x)+st[7], float64(c*x)+ct[7]
		s, c = float64(s*x)+st[6], float64(c*x)+ct[6]
		s, c = float64(s*x)+st[5], float64(c*x)+ct[5]
		s, c = float64(s*x)+st[4], float64(c*x)+ct[4]
		s, c = float64(s*x)+st[3], float64(c*x)+ct[3]
		s, c = float64(s*x)+st[2], float64(c*x)+ct[2]
		s, c = float64(s*x)+st[1], float64(c*x)+ct[1]
		s, c = float64(s*x)+st[0], float64(c*x)+ct[0]
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
