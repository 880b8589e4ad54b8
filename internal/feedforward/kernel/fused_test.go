package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// drawn32 draws numbers of all sizes, and those that are none.
func drawn32(rng *rand.Rand) float32 {
	switch rng.IntN(40) {
	case 0:
		return float32(math.Inf(1 - 2*rng.IntN(2)))
	case 1:
		return float32(math.NaN())
	case 2, 3, 4:
		return 0
	case 5:
		return math.Float32frombits(rng.Uint32() & 0x807fffff) // subnormal
	}
	return float32(math.Ldexp(rng.NormFloat64(), rng.IntN(60)-30))
}

func same32(a, b float32) bool { return a == b || a != a && b != b }

// One rounding of the exact a·b + c, by big numbers.
func TestFused(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 32))
	finite := func() float32 {
		for {
			if v := drawn32(rng); v-v == 0 {
				return v
			}
		}
	}
	for range 200_000 {
		a, b, c := finite(), finite(), finite()
		if rng.IntN(2) == 0 {
			c = float32(-float64(a) * float64(b) * (1 + math.Ldexp(rng.NormFloat64(), -24))) // nearly cancels
		}
		if c-c != 0 {
			continue
		}
		exact := new(big.Float).SetPrec(400).Mul(big.NewFloat(float64(a)), big.NewFloat(float64(b)))
		want, _ := exact.Add(exact, big.NewFloat(float64(c))).Float32()
		if got := fused32(a, b, c); got != want {
			t.Fatalf("%v·%v + %v is %v, want %v", a, b, c, got, want)
		}
	}
}

// Vector forms have the bits of the plain ones.
func TestRowKernels(t *testing.T) {
	EachForm(func(form string) {
		rng := rand.New(rand.NewPCG(6, 32))
		for range 300 {
			k, n := 1+rng.IntN(20), 1+rng.IntN(4)
			x, w := make([]RowLane, 6*k), make([]float32, n*k*TileChannels)
			for i := range w {
				w[i] = drawn32(rng)
			}
			lanes := func(x []RowLane) {
				for i := range x {
					for r := range x[i] {
						x[i][r] = drawn32(rng)
					}
				}
			}
			lanes(x)
			taps := make([]Tap, n)
			for i := range taps {
				taps[i].W = i * k * TileChannels
				for p := range taps[i].X {
					taps[i].X[p] = rng.IntN(5*k + 1)
				}
			}
			var a, b [TileSums]RowLane
			lanes(a[:])
			b = a
			tilePlain(&a, x, w, taps, k)
			TileSum(&b, x, w, taps, k)
			lines := make([]Bend, len(x))
			for i := range lines {
				lines[i] = Bend{rng.Float32(), rng.Float32(), rng.NormFloat64(), rng.NormFloat64()}
				if rng.IntN(9) == 0 {
					lines[i].Over, lines[i].Under = math.Inf(1), math.Inf(-1)
				}
			}
			into := make([]RowLane, len(x))
			lanes(into)
			other := append([]RowLane(nil), into...)
			var c, d, e, f [Width]float64
			fresh := rng.IntN(2) == 0
			bendsPlain(&c, x, lines, into, fresh)
			BendRows(&d, x, lines, other, fresh)
			sumsPlain(&e, x, lines)
			AddSums(&f, x, lines)
			for r := range Width {
				if !(c[r] == d[r] || c[r] != c[r] && d[r] != d[r]) || !(e[r] == f[r] || e[r] != e[r] && f[r] != f[r]) {
					t.Fatalf("%s: constants %v and %v, want %v and %v", form, d[r], f[r], c[r], e[r])
				}
				for i := range a {
					if !same32(a[i][r], b[i][r]) {
						t.Fatalf("%s: sum %d of row %d is %v, want %v", form, i, r, b[i][r], a[i][r])
					}
				}
				for i := range into {
					if !same32(into[i][r], other[i][r]) {
						t.Fatalf("%s: coefficient %d of row %d is %v, want %v", form, i, r, other[i][r], into[i][r])
					}
				}
			}
		}
	})
}
