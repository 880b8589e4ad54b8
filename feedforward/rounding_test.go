package feedforward

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Sums of 2,000 products that nearly cancel, in float32 and in random orders, are far off the exact value; they stay inside
// rigorous bounds at a single point, which plain bounds do not contain.
func TestFloat32SumsLieInside(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	const n = 2000
	w, x := make([]float64, n), make([]float64, n)
	for i := range w {
		w[i], x[i] = float64(float32(1000*rng.NormFloat64())), float64(float32(rng.Float64()))
	}
	b := NewBuilder(n)
	net, err := b.Network(b.Dense(0, 1, w, nil))
	if err != nil {
		t.Fatal(err)
	}
	rigorous, err := net.Intervals(Box{x, x}, Rigorous)
	if err != nil {
		t.Fatal(err)
	}
	plain, _ := net.Intervals(Box{x, x}, Plain)
	crown, err := net.LinearBounds(t.Context(), Box{x, x}, []float64{1, -1}, []float64{0, 0}, CROWN, Rigorous)
	if err != nil {
		t.Fatal(err)
	}
	outside := 0
	for trial := range 60 {
		v := net.single32(rng, x)[0]
		if trial == 0 { // the worst order that is easy to find: all positive products first
			v = sortedSum(w, x)
		}
		if v < rigorous.Lower[0] || v > rigorous.Upper[0] || v > crown[0] || -v > crown[1] {
			t.Fatalf("the float32 value %v is outside [%v, %v] or [%v, %v]", v, rigorous.Lower[0], rigorous.Upper[0], -crown[1], crown[0])
		}
		if v < plain.Lower[0] || v > plain.Upper[0] {
			outside++
		}
	}
	if outside < 50 {
		t.Errorf("only %d of 60 float32 sums are outside plain bounds: the test shows nothing", outside)
	}
}

func sortedSum(w, x []float64) float64 {
	var products []float32
	for i := range w {
		products = append(products, float32(w[i])*float32(x[i]))
	}
	slices.Sort(products)
	slices.Reverse(products)
	var s float32
	for _, p := range products {
		s += p
	}
	return float64(s)
}

// A large bias beside a small product is rounded by its own size.
func TestBiasRoundingLiesInside(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	outside := 0
	for range 200 {
		b := NewBuilder(1)
		net, err := b.Network(b.Dense(0, 1, []float64{1}, []float64{float64(float32(1000 + rng.Float64()))}))
		if err != nil {
			t.Fatal(err)
		}
		x := []float64{float64(float32(1e-3 * rng.Float64()))}
		box, err := net.Intervals(Box{x, x}, Rigorous)
		if err != nil {
			t.Fatal(err)
		}
		v := net.single32(rng, x)[0]
		if v < box.Lower[0] || v > box.Upper[0] {
			t.Fatalf("the float32 value %v is outside [%v, %v]", v, box.Lower[0], box.Upper[0])
		}
		if exact, _ := net.Forward(x); v != exact[0] {
			outside++
		}
	}
	if outside < 100 {
		t.Errorf("only %d of 200 values were rounded", outside)
	}
}

// Pixels as networks get them, byte/255 rounded to float32, lie in the ball of radius 0 around byte/255.
func TestBallHoldsRoundedPixels(t *testing.T) {
	for v := range 256 {
		box := mustBall(t, []float64{float64(v) / 255}, 0, Rigorous)
		for _, p := range []float64{float64(float32(v) / 255), float64(float32(v) * (1 / float32(255)))} {
			if p < box.Lower[0] || p > box.Upper[0] {
				t.Errorf("%d/255 in float32, %v, is outside [%v, %v]", v, p, box.Lower[0], box.Upper[0])
			}
		}
	}
}
