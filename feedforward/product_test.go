package feedforward

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The vector form has the bits of the plain one, at sizes of all remainders.
func TestProductForms(t *testing.T) {
	if !vectors {
		t.Skip("no vector form in this build, or on this machine")
	}
	rng := rand.New(rand.NewPCG(1, 9))
	for range 400 {
		m, n, k, transposed := 1+rng.IntN(11), 1+rng.IntN(35), 1+rng.IntN(40), rng.IntN(2) == 0
		draw := func(n int) []float64 {
			v := make([]float64, n)
			for i := range v {
				v[i] = math.Ldexp(rng.NormFloat64(), rng.IntN(40)-20)
			}
			return v
		}
		a, b, c := draw(m*k), draw(k*n), draw(m*n)
		d := append([]float64(nil), c...)
		productVector(m, n, k, a, transposed, b, c)
		productPlain(m, n, k, a, transposed, b, d)
		for i := range c {
			if math.Float64bits(c[i]) != math.Float64bits(d[i]) {
				t.Fatalf("%d×%d×%d, transposed %v: value %d is %v, the plain form has %v", m, k, n, transposed, i, c[i], d[i])
			}
		}
	}
}

// BenchmarkVectorJacobian is a gradient through five convolutions as those of the network L at an eighth of its width.
func BenchmarkVectorJacobian(b *testing.B) {
	rng := rand.New(rand.NewPCG(2, 9))
	draw := func(n int) []float64 {
		w := make([]float64, n)
		for i := range w {
			w[i] = rng.NormFloat64() / 10
		}
		return w
	}
	s := NewBuilder(1, 28, 28)
	at := 0
	for i, out := range []int{8, 8, 16, 16, 16} {
		o := ConvOptions{Kernel: [2]int{3, 3}, Pad: [4]int{1, 1, 1, 1}}
		if i == 2 {
			o.Stride = [2]int{2, 2}
		}
		at = s.ReLU(s.Conv(at, out, o, draw(out*s.Shape(at)[0]*9), draw(out)))
	}
	at = s.ReLU(s.Dense(s.Reshape(at, 3136), 64, draw(64*3136), draw(64)))
	n, err := s.Network(s.Dense(at, 10, draw(640), draw(10)))
	if err != nil {
		b.Fatal(err)
	}
	x := draw(784)
	for b.Loop() {
		if _, _, err := n.VectorJacobian(x, func(f []float64) []float64 { return f }); err != nil {
			b.Fatal(err)
		}
	}
}
