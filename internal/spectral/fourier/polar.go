package fourier

import (
	"github.com/certspec/certspec/internal/portable"
)

// Amplitude writes |X| of each value to dst, which may be s.Re or s.Im.
func (p *Plan[T]) Amplitude(dst []T, s Spectrum[T]) {
	checkSpectrum(p.half, s)
	p.kernels.amplitude(dst[:len(s.Re)], s.Re, s.Im)
}

// Phase writes arg X ∈ (−π, π] of each value of the half spectrum of a real plane to dst, which may be s.Re or
// s.Im; arg 0 is 0. It is odd, as in exact arithmetic: a mirrored bin has the negative of the phase of its Pairs, −π of
// π included, so that rounding never decides between the two.
func Phase[T Float](h Half, dst []T, s Spectrum[T]) {
	checkSpectrum(h, s)
	dst = dst[:h.Len()]
	for k, x := range s.Re {
		y := float64(s.Im[k])
		if y == 0 {
			y = 0 // −0 would give −π
		}
		dst[k] = T(portable.Atan2(y, float64(x)))
	}
	for _, v := range h.symmetric() {
		for u := range h.Height/2 + 1 {
			k := u*h.Columns() + v
			if mirror := h.Mirror(k); mirror != k {
				dst[mirror] = -dst[k]
			}
		}
	}
}
