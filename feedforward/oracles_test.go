package feedforward

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Of the worked network, outputs bounded apart from each other: the last layer is not merged, and the bound on the confidence is looser.
func TestUnmergedIsLooser(t *testing.T) {
	n := worked(t)
	out, err := n.Intervals(mustBall(t, []float64{0.5, 0.5}, 0.1, Plain), Plain)
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{0, .2, -.1, .2, 0, -.1, .7, .7, 0}
	apart := make([]float64, 9)
	for i := range apart {
		if i%4 != 0 {
			apart[i] = out.Upper[i/3] - out.Lower[i%3]
		}
		if !near(apart[i], want[i], 1e-12) {
			t.Errorf("U[%d] = %v; expected %v", i, apart[i], want[i])
		}
	}
	if log, _ := LogBounds(apart, 3); !near(math.Exp(log), 0.501713, 1e-6) {
		t.Errorf("bound %.6f; expected 0.501713", math.Exp(log))
	}
}

// A box that is not clipped gives 1.7 where the clipped ball gives 1.6; y = −2x + 1 maps [0, 1] to [−1, 1].
func TestAffineOracles(t *testing.T) {
	b := NewBuilder(2)
	n, err := b.Network(b.Dense(0, 2, []float64{0, 0, 2, -1}, nil))
	if err != nil {
		t.Fatal(err)
	}
	u, err := n.Differences(t.Context(), Box{Lower: []float64{0.85, 0.4}, Upper: []float64{1.05, 0.6}}, IBP, Plain)
	if err != nil || !near(u[2], 1.7, 1e-12) {
		t.Errorf("U_21 = %v, %v; expected 1.7", u, err)
	}
	b = NewBuilder(1)
	n, err = b.Network(b.Scale(0, []float64{-2}, []float64{1}, nil))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := n.Intervals(Box{Lower: []float64{0}, Upper: []float64{1}}, Plain); err != nil || out.Lower[0] != -1 || out.Upper[0] != 1 {
		t.Errorf("%v, %v; expected [−1, 1]", out, err)
	}
}

// lastLayer is a network of two layers whose last one has weights w and biases b, the first being drawn from seed.
func lastLayer(t *testing.T, seed uint64, w, b []float64) *Network {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 10))
	s := NewBuilder(4)
	h := s.ReLU(s.Dense(0, 6, normals(rng, 24), normals(rng, 6)))
	n, err := s.Network(s.Dense(h, len(b), w, b))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func normals(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// U does not change when all biases of the last layer grow by the same, permutes with the classes, and has U_kl + U_lk ≥ 0; merged
// differences are never above those of outputs apart; a box within another has no larger bounds; a bound on the confidence lies in [1/K, 1].
func TestBoundProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 10))
	for seed := range uint64(30) {
		w, b := normals(rng, 18), normals(rng, 3)
		n := lastLayer(t, seed, w, b)
		x := uniform(rng, 4)
		box := mustBall(t, x, 0.2, Plain)
		inner := Box{Lower: slices.Clone(box.Lower), Upper: slices.Clone(box.Upper)}
		for i := range inner.Lower {
			inner.Lower[i] += rng.Float64() * (x[i] - inner.Lower[i])
			inner.Upper[i] -= rng.Float64() * (inner.Upper[i] - x[i])
		}
		shifted := lastLayer(t, seed, w, []float64{b[0] + 5, b[1] + 5, b[2] + 5})
		permuted := lastLayer(t, seed, append(slices.Clone(w[6:]), w[:6]...), []float64{b[1], b[2], b[0]}) // class k is k + 1 of before
		out, err := n.Intervals(box, Plain)
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []Method{IBP, CROWN, FullCROWN} {
			u := differences(t, n, box, method)
			within, s, p := differences(t, n, inner, method), differences(t, shifted, box, method), differences(t, permuted, box, method)
			for k := range 3 {
				for l := range 3 {
					v := u[3*k+l]
					switch {
					case !near(s[3*k+l], v, 1e-12):
						t.Errorf("%s: a shift of all biases makes %v of %v", method, s[3*k+l], v)
					case !near(p[(k+2)%3*3+(l+2)%3], v, 1e-12):
						t.Errorf("%s: permuted classes have %v, before %v", method, p[(k+2)%3*3+(l+2)%3], v)
					case v+u[3*l+k] < -1e-12:
						t.Errorf("%s: U_%d%d + U_%d%d = %v", method, k, l, l, k, v+u[3*l+k])
					case k != l && v > out.Upper[k]-out.Lower[l]+1e-12:
						t.Errorf("%s: U_%d%d = %v, apart %v", method, k, l, v, out.Upper[k]-out.Lower[l])
					case method == IBP && within[3*k+l] > v+1e-12:
						t.Errorf("U_%d%d = %v in a box within that of %v", k, l, within[3*k+l], v)
					}
				}
			}
			if upper, _ := LogBounds(u, 3); !(upper >= -math.Log(3) && upper <= 0) {
				t.Errorf("%s: ln of a bound on the confidence is %v", method, upper)
			}
		}
	}
}

func differences(t *testing.T, n *Network, box Box, method Method) []float64 {
	t.Helper()
	u, err := n.Differences(t.Context(), box, method, Plain)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Where no weight is negative, intervals end at the values of the two opposite corners: all lower ends, all
// upper ends.
func TestNonNegativeWeightsAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 10))
	for range 20 {
		b := NewBuilder(4)
		at := 0
		for _, out := range []int{7, 5, 3} {
			w := normals(rng, out*b.Shape(at).Size())
			for i := range w {
				w[i] = math.Abs(w[i])
			}
			at = b.ReLU(b.Dense(at, out, w, normals(rng, out)))
		}
		n, err := b.Network(at)
		if err != nil {
			t.Fatal(err)
		}
		box := mustBall(t, uniform(rng, 4), 0.2, Plain)
		out, _ := n.Intervals(box, Plain)
		low, _ := n.Forward(box.Lower)
		high, _ := n.Forward(box.Upper)
		for i := range low {
			if !near(out.Lower[i], low[i], 1e-13) || !near(out.Upper[i], high[i], 1e-13) {
				t.Fatalf("output %d: [%v, %v]; the corners have %v and %v", i, out.Lower[i], out.Upper[i], low[i], high[i])
			}
		}
	}
}

// All corners of boxes in two to six dimensions, and in all a million points inside, stay below rigorous bounds.
func TestBruteForce(t *testing.T) {
	points := 1_000_000 / 50
	if testing.Short() {
		points = 500
	}
	rng := rand.New(rand.NewPCG(13, 10))
	for trial := range 50 {
		d := 2 + trial%5
		b := NewBuilder(d)
		h := b.ReLU(b.Dense(b.ReLU(b.Dense(0, 5, normals(rng, 5*d), normals(rng, 5))), 4, normals(rng, 20), normals(rng, 4)))
		n, err := b.Network(b.Dense(h, 3, normals(rng, 12), normals(rng, 3)))
		if err != nil {
			t.Fatal(err)
		}
		x := uniform(rng, d)
		box := mustBall(t, x, 0.15, Rigorous)
		c, err := n.Confidence(t.Context(), x, box, []Method{IBP, CROWN, FullCROWN, AlphaCROWN, Split}[trial%5], Rigorous)
		if err != nil {
			t.Fatal(err)
		}
		z := make([]float64, d)
		for k := range points + 1<<d {
			for i := range z {
				switch {
				case k < 1<<d && k>>i&1 == 0:
					z[i] = box.Lower[i]
				case k < 1<<d:
					z[i] = box.Upper[i]
				default:
					z[i] = box.Lower[i] + rng.Float64()*(box.Upper[i]-box.Lower[i])
				}
			}
			f, err := n.Forward(z)
			if err != nil {
				t.Fatal(err)
			}
			if _, log := LogConfidence(f); log > c.LogUpper || log < c.LogLower {
				t.Fatalf("ln Conf is %v at %v; the bounds are %v and %v", log, z, c.LogLower, c.LogUpper)
			}
		}
	}
}
