package main

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/certspec/certspec/rs/bound"
)

// Over all 2¹² sequences of hits and misses, with the ends of the interval as they are derived, the sum equals
// that by the boundaries.
func TestStoppingOverAllSequences(t *testing.T) {
	const alpha, horizon = .5, 12
	mixture, err := bound.NewMixture(alpha, 60)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []float64{.5, .55, .6} {
		var want [2]float64
		for sequence := range 1 << horizon {
			hits := bits.OnesCount(uint(sequence))
			chance := math.Pow(p, float64(hits)) * math.Pow(1-p, float64(horizon-hits))
			k := 0
			for n := 1; n <= horizon; n++ {
				k += sequence >> (n - 1) & 1
				low, _ := mixture.Lower(k, n)
				up, _ := mixture.Upper(k, n)
				if low.P > p {
					want[0] += chance
					break
				}
				if up.P < p && p > .5 { // at ½ no upper bound of a radius is below the true one, 0
					want[1] += chance
					break
				}
			}
		}
		b, err := newBoundary(p, alpha, horizon)
		if err != nil {
			t.Fatal(err)
		}
		got := b.sum()
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-12 {
				t.Errorf("p = %v: %v, over all sequences %v", p, got, want)
			}
		}
		if want[0]+want[1] == 0 {
			t.Errorf("p = %v: no sequence is false, which tests nothing", p)
		}
	}
}

// Jumps from one moment at which something can happen to the next have the law of the sum: each comparison fails by chance once in 10⁵ times.
func TestStoppingBySimulation(t *testing.T) {
	const runs, horizon = 20_000, 400
	for _, p := range []float64{.5, .8, .97} {
		b, err := newBoundary(p, .2, horizon)
		if err != nil {
			t.Fatal(err)
		}
		var found [2]int
		random, draw := rand.New(rand.NewPCG(3, 4)), newDoublings(1-p, horizon)
		for range runs {
			claim, upper := b.run(draw, random)
			found[0] += index(claim)
			found[1] += index(upper)
		}
		for i, sum := range b.sum() {
			if k := found[i]; atLeast(k, runs, sum) < 1e-5 || 1-atLeast(k+1, runs, sum) < 1e-5 {
				t.Errorf("p = %v: %d of %d runs, summed %v", p, k, runs, sum)
			}
		}
	}
}
