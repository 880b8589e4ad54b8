package fourier

import (
	"math"
	"testing"
)

func mustBasis(t *testing.T, h Half, i, j int, phase float64) []float64 {
	t.Helper()
	u, err := Basis(h, i, j, phase)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for k := range x {
		sum += x[k] * y[k]
	}
	return sum
}

// Section 11.4 of the specification of FourierMix.
func TestBasis(t *testing.T) {
	h := Half{32, 32}
	for _, c := range []struct {
		i, j, a, b int
		want       float64
	}{{1, 0, 0, 0, .0441941738}, {3, -5, 2, 7, .0367461126}, {16, 16, 0, 1, -1. / 32}, {0, 0, 5, 9, 1. / 32}} {
		u := mustBasis(t, h, c.i, c.j, 0)
		if got := u[c.a*32+c.b]; math.Abs(got-c.want) > 5e-11 {
			t.Errorf("U of (%d, %d) at (%d, %d) is %.10f, want %.10f", c.i, c.j, c.a, c.b, got, c.want)
		}
	}
	z := transform(t, mustBasis(t, h, 3, -5, 0), 32, 32)
	for k, v := range z {
		want := 0.0
		if k == 3*32+27 || k == 29*32+5 {
			want = 22.6274170
		}
		if got := math.Hypot(real(v), imag(v)); math.Abs(got-want) > 5e-8 {
			t.Errorf("modulus %v at (%d, %d), want %v", got, k/32, k%32, want)
		}
	}
}

func TestBasisIsOrthonormal(t *testing.T) {
	for _, h := range []Half{{4, 4}, {3, 5}, {6, 4}, {1, 7}} {
		var images [][]float64
		for i := -h.Height; i <= h.Height; i++ {
			for j := -h.Width; j <= h.Width; j++ {
				images = append(images, mustBasis(t, h, i, j, 0))
			}
		}
		classes := 0
		for k, x := range images {
			first := true
			for _, y := range images[:k] {
				switch p := dot(x, y); {
				case math.Abs(p-1) < 1e-12:
					first = false
				case math.Abs(p) > 1e-12:
					t.Fatalf("%v: inner product %v", h, p)
				}
			}
			if math.Abs(dot(x, x)-1) > 1e-12 {
				t.Fatalf("%v: squared norm %v", h, dot(x, x))
			}
			if first {
				classes++
			}
		}
		if want := len(h.Pairs()) + len(h.Real()); classes != want {
			t.Errorf("%v: %d classes of basis images, want %d", h, classes, want)
		}
	}
	for _, f := range [][2]int{{3, 5}, {0, 0}, {16, 0}} { // the norm at the phase of Yin et al.
		if u := mustBasis(t, Half{32, 32}, f[0], f[1], math.Pi/4); math.Abs(dot(u, u)-1) > 1e-12 {
			t.Errorf("%v: squared norm %v at phase π/4", f, dot(u, u))
		}
	}
	for _, phase := range []float64{math.NaN(), math.Inf(1), 100, math.Pi / 2} {
		if _, err := Basis(Half{32, 32}, 0, 16, phase); err == nil {
			t.Errorf("phase %v: no error", phase)
		}
	}
}
