package mixture

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The bound on the confidence of ten classes: b = 0, .25, 1 and ∞ give .1, .28, .55 and 1, and values far away lose no digits.
func TestConfidenceOfOdds(t *testing.T) {
	for b, want := range map[float64]float64{0: .1, .25: .28, 1: .55, math.Inf(1): 1} {
		if got := math.Exp(LogConfidence(math.Log(b), 10)); math.Abs(got-want) > 1e-14 {
			t.Errorf("b = %v: %v, want %v", b, got, want)
		}
	}
	// 1 − Conf = (1 − 1/K)/(1 + b)
	if got, want := LogConfidence(50, 10), -.9*math.Exp(-50); math.Abs(got/want-1) > 1e-10 {
		t.Errorf("ln of the bound at b = e^50 is %v, want %v", got, want)
	}
}

func drawn(rng *rand.Rand, d int, scale float64) *Mixture {
	m := &Mixture{}
	for range 3 {
		mean := make([]float64, d)
		for j := range mean {
			mean[j] = scale * rng.NormFloat64()
		}
		m.Means = append(m.Means, mean)
		m.LogVariances = append(m.LogVariances, .3*rng.NormFloat64())
		m.LogWeights = append(m.LogWeights, -math.Log(3))
	}
	return m
}

// No point of a Mahalanobis ball exceeds the bound, which at a radius of 0 is the confidence of a classifier that is sure, and which grows
// with the radius; the radius of a target is where it is met.
func TestBoundHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const d, k = 4, 10
	for range 50 {
		in, out := drawn(rng, d, 2), drawn(rng, d, 2)
		least := slices.Max(in.LogVariances) + math.Log(4) // CCU's condition
		for k := range out.LogVariances {
			out.LogVariances[k] = max(out.LogVariances[k], least)
		}
		x := make([]float64, d)
		for j := range x {
			x[j] = 2 * rng.NormFloat64()
		}
		pi, po := in.LogDensity(x, 0), out.LogDensity(x, 0)
		direct := (math.Exp(pi) + math.Exp(po)/k) / (math.Exp(pi) + math.Exp(po))
		if got := math.Exp(LogConfidence(LogOdds(in, out, x, 0), k)); math.Abs(got-direct) > 1e-12 {
			t.Fatalf("at the point itself %v, want %v", got, direct)
		}
		last := math.Inf(-1)
		for _, r := range []float64{0, .1, .5, 2} {
			bound := LogOdds(in, out, x, r)
			if bound < last {
				t.Fatalf("the bound falls from %v to %v", last, bound)
			}
			last = bound
			for range 200 {
				z, norm := make([]float64, d), 0.0
				for j := range z {
					z[j] = rng.NormFloat64()
					norm += z[j] * z[j]
				}
				for j := range z {
					z[j] = x[j] + r*z[j]/math.Sqrt(norm)*math.Pow(rng.Float64(), .25)
				}
				if got := LogOdds(in, out, z, 0); got > bound+1e-12 {
					t.Fatalf("within %v: %v, bound %v", r, got, bound)
				}
			}
		}
		if r := radius(in, out, x, k, 1.1); r > 0 {
			target := math.Log(.1 / 8.9)
			if LogOdds(in, out, x, r) > target || LogOdds(in, out, x, r*(1+1e-9)+1e-9) < target {
				t.Errorf("radius %v: %v and %v, target %v", r, LogOdds(in, out, x, r), LogOdds(in, out, x, r*(1+1e-9)), target)
			}
		}
	}
}
