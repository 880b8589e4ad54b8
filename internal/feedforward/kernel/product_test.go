package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The vector form has the bits of the plain one, at sizes of all remainders.
func TestProductForms(t *testing.T) {
	if !Vectors {
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
		ProductTiles(m, n, k, PackRows(m, k, a, transposed), Matrix{b, n}, Matrix{c, n})
		ProductPlain(m, n, k, a, transposed, Matrix{b, n}, Matrix{d, n})
		for i := range c {
			if math.Float64bits(c[i]) != math.Float64bits(d[i]) {
				t.Fatalf("%d×%d×%d, transposed %v: value %d is %v, the plain form has %v", m, k, n, transposed, i, c[i], d[i])
			}
		}
	}
}
