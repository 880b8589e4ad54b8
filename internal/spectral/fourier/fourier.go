// Package fourier holds the two-dimensional discrete Fourier transform of real images, the
// geometry of its half spectrum, and the Fourier basis.
//
// The transform of a plane x of H rows and W columns is unnormalised, and its inverse carries
// 1/(HW):
//
//	X[u,v] = Σ_{a,b} x[a,b] exp(−2πi(ua/H + vb/W))
//
// A frequency (u, v) counts periods over the height and over the width, −⌊H/2⌋ ≤ u ≤ ⌈H/2⌉−1 and
// likewise v; it is stored at (u mod H, v mod W). As x is real, X[−u,−v] is the conjugate of X[u,v], and a
// Spectrum holds the columns v = 0 … ⌊W/2⌋ only: see Half.
//
// All values are the same bits on every platform and with and without vector instructions: no
// product is fused with a sum, and sines and cosines are not those of package math.
package fourier

import "fmt"

// Float is the type of the values of a plane and its spectrum.
type Float interface{ float32 | float64 }

// Spectrum is the half spectrum of a real plane, real and imaginary parts apart, each Half.Len()
// values in the order of Half.
type Spectrum[T Float] struct{ Re, Im []T }

// NewSpectrum makes room for a half spectrum.
func NewSpectrum[T Float](h Half) Spectrum[T] {
	return Spectrum[T]{make([]T, h.Len()), make([]T, h.Len())}
}

// Plan transforms real planes of one size. It is immutable and safe for concurrent use; what a
// transform writes on its way is in a Workspace.
//
// Sides of any length are allowed. A side costs about n Σ r for the factors r of its length, 2 counted in
// fours and eights, so that a large prime is slow.
type Plan[T Float] struct {
	half       Half
	horizontal *lines[T] // of length W
	vertical   *lines[T] // of length H
	kernels    kernels[T]
	left       int // columns of the first step: a complex one holds two rows of the image
	// columns of the second step: the first holds both columns of the half spectrum that are of
	// real sequences
	packed    int
	leftPad   int // the same, filled up to whole vectors
	packedPad int
}

// Workspace is the room that a Plan writes to; one for each goroutine.
type Workspace[T Float] struct {
	re, im, re2, im2 []T // two stages of all columns
	rows             [4][]T
	scratch          []T
}

// NewPlan makes a plan for planes of height × width values. Both must be at least 1.
func NewPlan[T Float](height, width int) (*Plan[T], error) {
	half, err := NewHalf(height, width)
	if err != nil {
		return nil, err
	}
	k := chooseKernels[T]()
	p := &Plan[T]{half: half, kernels: k, left: (height + 1) / 2, packed: (width + 1) / 2}
	p.leftPad, p.packedPad = pad(p.left, k.lanes), pad(p.packed, k.lanes)
	p.horizontal = newLines[T](width, k.lanes)
	p.vertical = p.horizontal
	if height != width {
		p.vertical = newLines[T](height, k.lanes)
	}
	return p, nil
}

// pad rounds n up to a multiple of lanes.
func pad(n, lanes int) int { return (n + lanes - 1) / lanes * lanes }

// Half is the geometry of the half spectra of the plan.
func (p *Plan[T]) Half() Half { return p.half }

// NewWorkspace makes the room for one transform at a time.
func (p *Plan[T]) NewWorkspace() *Workspace[T] {
	// Whole blocks are transposed, so that a few rows beyond the last are written; and row W repeats row 0.
	first, second := (pad(p.half.Width, p.kernels.lanes)+1)*p.leftPad, (p.left+p.leftPad)*p.packedPad
	size := max(first, second)
	w := &Workspace[T]{re: make([]T, size), im: make([]T, size), re2: make([]T, size), im2: make([]T, size)}
	for i := range w.rows {
		w.rows[i] = make([]T, p.packedPad*p.leftPad)
	}
	w.scratch = make([]T, 2*p.kernels.lanes*max(p.horizontal.largest, p.vertical.largest))
	return w
}

// check panics where lengths do not fit the plan.
func (p *Plan[T]) check(plane []T, s Spectrum[T]) {
	h := p.half
	if len(plane) != h.Height*h.Width {
		panic(fmt.Sprintf("fourier: plane of %d values; %d×%d has %d", len(plane), h.Height, h.Width, h.Height*h.Width))
	}
	if len(s.Re) != h.Len() || len(s.Im) != h.Len() {
		panic(fmt.Sprintf("fourier: spectrum of %d and %d values; the half spectrum of %d×%d has %d",
			len(s.Re), len(s.Im), h.Height, h.Width, h.Len()))
	}
}

// Forward writes the half spectrum of a real plane, row-major H×W, to dst. It panics where lengths
// do not fit. A value that is not finite spreads over the whole spectrum.
func (p *Plan[T]) Forward(w *Workspace[T], dst Spectrum[T], src []T) {
	p.check(src, dst)
	p.load(w, src)
	re, im := p.horizontal.transform(&p.kernels, w.re, w.im, w.re2, w.im2, p.leftPad, w.scratch)
	p.untangle(w, re, im)
	k := &p.kernels
	re, im = p.vertical.transform(k, w.re, w.im, w.re2, w.im2, p.packedPad, w.scratch)
	p.unpack(dst, re, im)
}

// Inverse writes the real plane of a half spectrum to dst. Where the columns v = 0 and v = W/2 are not
// symmetric, only their symmetric part counts, as in the real part of the inverse of the whole spectrum
// (and in NumPy's irfft2). It panics where lengths do not fit.
func (p *Plan[T]) Inverse(w *Workspace[T], dst []T, src Spectrum[T]) {
	p.check(dst, src)
	p.pack(w, src)
	k := &p.kernels
	// Real and imaginary parts exchanged turn a transform into its inverse.
	im, re := p.vertical.transform(k, w.im, w.re, w.im2, w.re2, p.packedPad, w.scratch)
	if h := p.half.Height; h%2 == 1 {
		// The partner of the middle row: what an earlier transform left there would change the row's last bits.
		clear(re[h*p.packedPad:][:p.packedPad])
		clear(im[h*p.packedPad:][:p.packedPad])
	}
	p.tangle(w, re, im)
	im, re = p.horizontal.transform(k, w.im, w.re, w.im2, w.re2, p.leftPad, w.scratch)
	p.store(dst, re, im)
}
