package augment

// Series are summed with as many terms as the greatest argument needs: with phases of at most π/4,
// the default, that is a third of what phases up to π take.

// quantileTerms are the coefficients t of phaseSigma·Φ⁻¹(½ + y) = y·Σ t_k y^{2k}: with those of the
// inverse error function, c_0 = 1 and c_k = Σ_{m<k} c_m c_{k−1−m}/((m+1)(2m+1)), t_k =
// phaseSigma·√(2π)·πᵏ·c_k/(2k+1).
var quantileTerms = func() (t [32]float64) {
	const pi, sqrt2Pi = 3.14159265358979323846264338327950288, 2.50662827463100050241576528481104525
	var c [len(t)]float64
	scale := float64(phaseSigma * sqrt2Pi)
	for k := range t {
		for m := range k {
			c[k] += float64(c[m]*c[k-1-m]) / float64((m+1)*(2*m+1))
		}
		if k == 0 {
			c[0] = 1
		}
		t[k] = float64(scale*c[k]) / float64(2*k+1)
		scale *= pi
	}
	return t
}()

// sineTerms and cosineTerms are the Taylor coefficients of sin x/x and cos x in x².
var sineTerms, cosineTerms = func() (s, c [12]float64) {
	term := 1.0
	for i := range c {
		n := float64(2 * i)
		c[i], s[i] = term, term/(n+1)
		term /= -(n + 1) * (n + 2)
	}
	return s, c
}()

// leftOut is the greatest term that may be left out of a series that begins with 1.
const leftOut = 0x1p-56

// quantileCount is how many terms |y| ≤ span/2 < ½ needs: they fall off at least like (2y)^{2k}.
func quantileCount(span float64) int {
	n := 1
	for left := float64(span * span); left > leftOut && n < len(quantileTerms); n++ {
		left = float64(left * float64(span*span))
	}
	return n
}

// turnCount is how many terms of sine and cosine angles up to a bound need.
func turnCount(bound float64) int {
	n := 1
	for left := float64(bound*bound) / 2; left > leftOut && n < len(cosineTerms); n++ {
		left = float64(left*float64(bound*bound)) / float64((2*n+1)*(2*n+2))
	}
	return n
}
