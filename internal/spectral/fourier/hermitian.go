package fourier

import "fmt"

// checkSpectrum panics where a spectrum is not of the half's length.
func checkSpectrum[T Float](h Half, s Spectrum[T]) {
	if len(s.Re) != h.Len() || len(s.Im) != h.Len() {
		panic(fmt.Sprintf("fourier: spectrum of %d and %d values; the half spectrum of %d×%d has %d", len(s.Re),
			len(s.Im), h.Height, h.Width, h.Len()))
	}
}

// Symmetrize makes s the half spectrum of a real plane: what stands in Pairs stays, its mirror
// becomes its conjugate, and bins that are their own mirror lose their imaginary part.
func Symmetrize[T Float](h Half, s Spectrum[T]) {
	checkSpectrum(h, s)
	for _, v := range h.symmetric() {
		for u := range h.Height/2 + 1 {
			k, mirror := u*h.Columns()+v, v
			if u > 0 {
				mirror = (h.Height-u)*h.Columns() + v
			}
			if s.Re[mirror], s.Im[mirror] = s.Re[k], -s.Im[k]; mirror == k {
				s.Im[k] = 0
			}
		}
	}
}

// Expand writes the whole spectrum, row-major H×W, of the half spectrum s of a real plane.
func Expand[T Float](h Half, whole, s Spectrum[T]) {
	checkSpectrum(h, s)
	checkWhole(h, whole)
	for u := range h.Height {
		for v := range h.Width {
			k, conjugate := h.Bin(u, v)
			at := u*h.Width + v
			if whole.Re[at], whole.Im[at] = s.Re[k], s.Im[k]; conjugate {
				whole.Im[at] = -s.Im[k]
			}
		}
	}
}

// Project splits a whole spectrum Z, row-major H×W and without symmetry, whose inverse transform z is complex: re
// becomes the half spectrum of the real part of z, the projection of Z on the spectra of real planes, and im that of
// the imaginary part,
//
//	re[k] = (Z[k] + conj Z[−k])/2,  im[k] = (Z[k] − conj Z[−k])/(2i)
func Project[T Float](h Half, re, im, whole Spectrum[T]) {
	checkSpectrum(h, re)
	checkSpectrum(h, im)
	checkWhole(h, whole)
	for k := range h.Len() {
		row, v := k/h.Columns(), k%h.Columns()
		at := row*h.Width + v
		mirror := (h.Height-row)%h.Height*h.Width + (h.Width-v)%h.Width
		x, y, p, q := whole.Re[at], whole.Im[at], whole.Re[mirror], whole.Im[mirror]
		re.Re[k], re.Im[k] = (x+p)/2, (y-q)/2
		im.Re[k], im.Im[k] = (y+q)/2, (p-x)/2
	}
}

func checkWhole[T Float](h Half, s Spectrum[T]) {
	if n := h.Height * h.Width; len(s.Re) != n || len(s.Im) != n {
		panic(fmt.Sprintf("fourier: whole spectrum of %d and %d values; %d×%d has %d", len(s.Re), len(s.Im), h.Height,
			h.Width, n))
	}
}
