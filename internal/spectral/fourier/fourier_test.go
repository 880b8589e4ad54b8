package fourier

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"
)

// transform gives the whole spectrum of a plane.
func transform(t *testing.T, x []float64, height, width int) []complex128 {
	t.Helper()
	p := mustPlan[float64](t, height, width)
	s := NewSpectrum[float64](p.Half())
	p.Forward(p.NewWorkspace(), s, x)
	whole := Spectrum[float64]{make([]float64, len(x)), make([]float64, len(x))}
	Expand(p.Half(), whole, s)
	z := make([]complex128, len(x))
	for k := range z {
		z[k] = complex(whole.Re[k], whole.Im[k])
	}
	return z
}

// Section 11.4 of the specification of FourierMix.
func TestSmallTransforms(t *testing.T) {
	want := []complex128{10, -2 + 2i, -2, -2 - 2i}
	for _, side := range [][2]int{{1, 4}, {4, 1}} {
		for k, z := range transform(t, []float64{1, 2, 3, 4}, side[0], side[1]) {
			if cmplx.Abs(z-want[k]) > 1e-15 {
				t.Errorf("%v: bin %d of (1, 2, 3, 4) is %v, want %v", side, k, z, want[k])
			}
		}
	}
	delta := make([]float64, 16)
	delta[1*4+2] = 1
	z := transform(t, delta, 4, 4)
	for at, want := range map[int]complex128{1*4 + 1: 1i, 0*4 + 1: -1, 2*4 + 3: 1} {
		if cmplx.Abs(z[at]-want) > 1e-15 {
			t.Errorf("bin %d of a point at (1, 2) is %v, want %v", at, z[at], want)
		}
	}
}

func TestParsevalAndRoundTrip(t *testing.T) {
	for _, side := range sides {
		height, width := side[0], side[1]
		p := mustPlan[float64](t, height, width)
		h, w, s := p.Half(), p.NewWorkspace(), NewSpectrum[float64](p.Half())
		x := randomPlane[float64](height*width, 5)
		p.Forward(w, s, x)
		power := make([]float64, h.Len())
		for k, re := range s.Re {
			power[k] = re*re + s.Im[k]*s.Im[k]
		}
		spectrum, image := 0.0, 0.0
		for k, v := range power {
			spectrum += float64(h.Multiplicity(k)) * v
		}
		for _, v := range x {
			image += v * v
		}
		if image *= float64(height * width); math.Abs(spectrum-image) > 1e-12*image {
			t.Errorf("%v: power %v, want %v", side, spectrum, image)
		}
		amplitude, phase := make([]float64, h.Len()), make([]float64, h.Len())
		p.Amplitude(amplitude, s)
		Phase(h, phase, s)
		for k := range amplitude {
			got := cmplx.Rect(amplitude[k], phase[k])
			if want := complex(s.Re[k], s.Im[k]); cmplx.Abs(got-want) > 1e-12 {
				t.Fatalf("%v: bin %d in polar form is %v, want %v", side, k, got, want)
			}
			if m := h.Mirror(k); m >= 0 && m != k && phase[m] != -phase[k] {
				t.Fatalf("%v: phases %v and %v of mirrored bins", side, phase[k], phase[m])
			}
			if math.Abs(amplitude[k]*amplitude[k]-power[k]) > 1e-12*power[k] {
				t.Fatalf("%v: amplitude %v and power %v", side, amplitude[k], power[k])
			}
		}
	}
}

// A plane whose spectrum is real and negative stands on the branch of the phase.
func TestPhaseOnTheBranch(t *testing.T) {
	h := Half{8, 8}
	s := NewSpectrum[float64](h)
	for k := range s.Re {
		s.Re[k], s.Im[k] = -1, math.Copysign(0, float64(k%2)-.5)
	}
	phase := make([]float64, h.Len())
	Phase(h, phase, s)
	for _, k := range slices.Concat(h.Pairs(), h.Real()) {
		if phase[k] != math.Pi {
			t.Errorf("phase %v of a negative number in bin %d", phase[k], k)
		}
		if mirror := h.Mirror(k); mirror >= 0 && mirror != k && phase[mirror] != -math.Pi {
			t.Errorf("phase %v of the mirror of bin %d", phase[mirror], k)
		}
	}
}

func TestHalf(t *testing.T) {
	// Counts of section 3.3 of the specification of FourierMix; the others by hand.
	for _, c := range []struct{ height, width, pairs, real int }{{32, 32, 510, 4}, {1, 1, 0, 1}, {31, 31, 480, 1}, {2, 2, 0, 4}, {3, 4, 5, 2}, {4, 3, 5, 2}, {1, 6, 2, 2}} {
		h := Half{c.height, c.width}
		pairs, real := h.Pairs(), h.Real()
		if len(pairs) != c.pairs || len(real) != c.real {
			t.Errorf("%v: %d pairs and %d real bins, want %d and %d", h, len(pairs), len(real), c.pairs, c.real)
		}
		sum := 0
		for k := range h.Len() {
			sum += h.Multiplicity(k)
			u, v := h.Frequency(k)
			if at, conjugate := h.Bin(u, v); at != k || conjugate {
				t.Errorf("%v: bin %d is (%d, %d), which is bin %d, %v", h, k, u, v, at, conjugate)
			}
			mirror := h.Mirror(k)
			at, conjugate := h.Bin(-u, -v)
			if mirror < 0 && (at != k || !conjugate) || mirror >= 0 && at != mirror {
				t.Errorf("%v: the mirror of bin %d is %d, that of its frequency %d, %v", h, k, mirror, at, conjugate)
			}
		}
		if sum != c.height*c.width {
			t.Errorf("%v: %d bins in the whole spectrum", h, sum)
		}
	}
	h := Half{32, 32}
	if real := h.Real(); !slices.Equal(real, []int{0, 16, 16 * 17, 16*17 + 16}) {
		t.Errorf("real bins %v", real)
	}
	if u, v := h.Frequency(16*17 + 3); u != -16 || v != 3 {
		t.Errorf("row 16 holds frequency %d", u)
	}
	if k, conjugate := h.Bin(3, -5); k != 29*17+5 || !conjugate {
		t.Errorf("(3, −5) is bin %d, %v", k, conjugate)
	}
	k, _ := h.Bin(16, 16)
	if r := h.Radius(k); math.Abs(r-22.627417) > 1e-6 {
		t.Errorf("radius %v of the corner, want 16√2", r)
	}
	// Four periods over 32 rows and two over 16 columns have the same wavelength in pixels.
	wide := Half{32, 16}
	a, _ := wide.Bin(4, 0)
	b, _ := wide.Bin(0, 2)
	if wide.Radius(a) != 2 || wide.Radius(b) != 2 {
		t.Errorf("radii %v and %v, want 2", wide.Radius(a), wide.Radius(b))
	}
}

func TestSymmetrizeMakesARealPlane(t *testing.T) {
	for _, side := range sides {
		height, width := side[0], side[1]
		p := mustPlan[float64](t, height, width)
		h, w := p.Half(), p.NewWorkspace()
		s := Spectrum[float64]{randomPlane[float64](h.Len(), 7), randomPlane[float64](h.Len(), 8)}
		drawn := Spectrum[float64]{slices.Clone(s.Re), slices.Clone(s.Im)}
		Symmetrize(h, s)
		for _, k := range h.Pairs() {
			if s.Re[k] != drawn.Re[k] || s.Im[k] != drawn.Im[k] {
				t.Fatalf("%v: bin %d of a pair changed", side, k)
			}
		}
		for _, k := range h.Real() {
			if s.Re[k] != drawn.Re[k] || s.Im[k] != 0 {
				t.Fatalf("%v: real bin %d is %v%+vi", side, k, s.Re[k], s.Im[k])
			}
		}
		// What is symmetric survives the plane, so that its inverse was real.
		x, back := make([]float64, height*width), NewSpectrum[float64](h)
		p.Inverse(w, x, s)
		p.Forward(w, back, x)
		for k := range back.Re {
			if math.Abs(back.Re[k]-s.Re[k]) > 1e-12 || math.Abs(back.Im[k]-s.Im[k]) > 1e-12 {
				t.Fatalf("%v: bin %d goes from %v%+vi to %v%+vi", side, k, s.Re[k], s.Im[k], back.Re[k], back.Im[k])
			}
		}
	}
}

// The real and imaginary parts of the inverse of a spectrum without symmetry, by the definition.
func TestProject(t *testing.T) {
	for _, side := range [][2]int{{4, 6}, {5, 5}, {3, 8}, {1, 5}} {
		height, width := side[0], side[1]
		n := height * width
		p := mustPlan[float64](t, height, width)
		h, w := p.Half(), p.NewWorkspace()
		whole := Spectrum[float64]{randomPlane[float64](n, 11), randomPlane[float64](n, 12)}
		re, im := NewSpectrum[float64](h), NewSpectrum[float64](h)
		Project(h, re, im, whole)
		x, y := make([]float64, n), make([]float64, n)
		p.Inverse(w, x, re)
		p.Inverse(w, y, im)
		// The inverse of Z is the conjugate of the transform of conj Z, by n; direct takes real planes.
		a, b := direct(whole.Re, height, width), direct(whole.Im, height, width)
		for k := range n {
			want := cmplx.Conj(a[k]-b[k]*1i) / complex(float64(n), 0)
			if got := complex(x[k], y[k]); cmplx.Abs(got-want) > 1e-13 {
				t.Errorf("%v: value %d is %v, want %v", side, k, got, want)
			}
		}
		// Inverse takes the symmetric part of a half spectrum by itself.
		half := NewSpectrum[float64](h)
		for k := range h.Len() {
			at := k/h.Columns()*width + k%h.Columns()
			half.Re[k], half.Im[k] = whole.Re[at], whole.Im[at]
		}
		mirrored := Spectrum[float64]{make([]float64, n), make([]float64, n)}
		Expand(h, mirrored, half)
		Project(h, re, im, mirrored)
		p.Inverse(w, x, half)
		p.Inverse(w, y, re)
		for k := range n {
			if math.Abs(x[k]-y[k]) > 1e-14 {
				t.Errorf("%v: value %d of the inverse is %v, that of the projection %v", side, k, x[k], y[k])
			}
		}
	}
}

func TestTurn(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 7, 8, 32, 100, 997} {
		for k := range 2 * n {
			cos, sin := turn(k, n)
			angle := 2 * math.Pi * float64(k%n) / float64(n)
			if math.Abs(cos-math.Cos(angle)) > 1e-15 || math.Abs(sin-math.Sin(angle)) > 1e-15 {
				t.Fatalf("%d/%d of a turn: %v, %v; want %v, %v", k, n, cos, sin, math.Cos(angle), math.Sin(angle))
			}
		}
	}
}

func TestBadSides(t *testing.T) {
	for _, side := range [][2]int{{0, 4}, {4, 0}, {-1, 4}, {1 << 20, 1 << 20}} {
		if _, err := NewPlan[float64](side[0], side[1]); err == nil {
			t.Errorf("%v: no error", side)
		}
		if _, err := Basis(Half{side[0], side[1]}, 1, 1, 0); err == nil {
			t.Errorf("%v: no error of the basis", side)
		}
	}
}

func TestTransformsAllocateNothing(t *testing.T) {
	p := mustPlan[float32](t, 28, 30)
	w, s, x := p.NewWorkspace(), NewSpectrum[float32](p.Half()), randomPlane[float32](28*30, 1)
	if n := testing.AllocsPerRun(10, func() { p.Forward(w, s, x); p.Inverse(w, x, s) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
