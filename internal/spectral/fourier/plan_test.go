package fourier

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

// direct is the transform by its definition, for all bins.
func direct(x []float64, height, width int) []complex128 {
	out := make([]complex128, height*width)
	for u := range height {
		for v := range width {
			for a := range height {
				for b := range width {
					turns := float64(u*a%height)/float64(height) + float64(v*b%width)/float64(width)
					out[u*width+v] += complex(x[a*width+b], 0) * cmplx.Rect(1, -2*math.Pi*turns)
				}
			}
		}
	}
	return out
}

func randomPlane[T Float](n int, seed uint64) []T {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.Float64())
	}
	return x
}

func mustPlan[T Float](t testing.TB, height, width int) *Plan[T] {
	t.Helper()
	p, err := NewPlan[T](height, width)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sides are small and large, even and odd, prime, and products of all radices.
var sides = [][2]int{{1, 1}, {1, 2}, {2, 1}, {1, 7}, {7, 1}, {2, 2}, {3, 3}, {2, 5}, {4, 4}, {4, 6}, {5, 8}, {8, 8}, {9, 15}, {13, 11},
	{16, 16}, {17, 31}, {28, 28}, {31, 32}, {32, 32}, {32, 17}, {24, 40}, {30, 42}, {64, 48}, {1, 128}, {37, 2}}

func testDefinition[T Float](t *testing.T, tolerance float64) {
	for _, side := range sides {
		height, width := side[0], side[1]
		p := mustPlan[T](t, height, width)
		w, h := p.NewWorkspace(), p.Half()
		x := randomPlane[T](height*width, 3)
		s := NewSpectrum[T](h)
		for range 2 { // a workspace that was used before makes no difference
			p.Forward(w, s, x)
			y := make([]T, len(x))
			p.Inverse(w, y, s)
			for i := range x {
				if math.Abs(float64(y[i]-x[i])) > tolerance {
					t.Fatalf("%v: value %d goes from %v to %v", side, i, x[i], y[i])
				}
			}
		}
		wide := make([]float64, len(x))
		for i, v := range x {
			wide[i] = float64(v)
		}
		want := direct(wide, height, width)
		scale := tolerance * math.Sqrt(float64(height*width))
		for k := range h.Len() {
			u, v := h.Frequency(k)
			got, z := complex(float64(s.Re[k]), float64(s.Im[k])), want[modulo(u, height)*width+v]
			if cmplx.Abs(got-z) > scale {
				t.Fatalf("%v: bin (%d, %d) is %v, want %v", side, u, v, got, z)
			}
		}
	}
}

func TestDefinition(t *testing.T) {
	t.Run("float64", func(t *testing.T) { testDefinition[float64](t, 1e-13) })
	t.Run("float32", func(t *testing.T) { testDefinition[float32](t, 2e-6) })
}

func BenchmarkForward(b *testing.B) {
	for _, side := range []int{28, 32, 64, 224} {
		b.Run(fmt.Sprintf("float64/%d", side), func(b *testing.B) { benchmarkForward[float64](b, side) })
		b.Run(fmt.Sprintf("float32/%d", side), func(b *testing.B) { benchmarkForward[float32](b, side) })
	}
}

func benchmarkForward[T Float](b *testing.B, side int) {
	p := mustPlan[T](b, side, side)
	w, s, x := p.NewWorkspace(), NewSpectrum[T](p.Half()), randomPlane[T](side*side, 1)
	b.ReportAllocs()
	for b.Loop() {
		p.Forward(w, s, x)
	}
}
