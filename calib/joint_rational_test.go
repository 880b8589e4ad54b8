package calib

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// place is a bin that a sample may go to, and its gap, confidence minus correctness, there.
type place struct {
	bin int
	gap *big.Rat
}

// places are the ends of the meet of [lower, upper] with each bin; the open upper edge of a bin counts as a supremum.
func places(lower, upper float64, correct bool, edges []float64) (all []place) {
	add := func(m int, z float64) {
		gap := new(big.Rat).SetFloat64(z)
		if correct {
			gap.Sub(gap, big.NewRat(1, 1))
		}
		all = append(all, place{m, gap})
	}
	for m := range len(edges) - 1 {
		from, to := max(lower, edges[m]), min(upper, edges[m+1])
		last := m == len(edges)-2
		if from > to || from == edges[m+1] && !last {
			continue
		}
		add(m, from)
		add(m, to)
	}
	return all
}

// jointByDefinition is the largest calibration error by trying every choice of at most k free samples, every bin of every sample and both ends in it, in
// rational numbers: no signs, no decoupling.
func jointByDefinition(correct []bool, lower, upper, edges []float64, k int) *big.Rat {
	best := new(big.Rat)
	gaps := make([]*big.Rat, len(edges)-1)
	for m := range gaps {
		gaps[m] = new(big.Rat)
	}
	anything := append(places(0, 1, true, edges), places(0, 1, false, edges)...)
	var try func(i, free int)
	try = func(i, free int) {
		if i == len(correct) {
			total := new(big.Rat)
			for _, g := range gaps {
				total.Add(total, new(big.Rat).Abs(g))
			}
			if total.Cmp(best) > 0 {
				best = total
			}
			return
		}
		choose := func(from []place, free int) {
			for _, p := range from {
				gaps[p.bin].Add(gaps[p.bin], p.gap)
				try(i+1, free)
				gaps[p.bin].Sub(gaps[p.bin], p.gap)
			}
		}
		choose(places(lower[i], upper[i], correct[i], edges), free)
		if free > 0 {
			choose(anything, free-1)
		}
	}
	try(0, k)
	return best.Quo(best, big.NewRat(int64(len(correct)), 1))
}

// All numbers are multiples of 1/8, so that floating point holds them exactly.
func TestJointCCEByDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	met := 0
	const trials = 150
	for range trials {
		n, size, k := 1+rng.IntN(4), 1+rng.IntN(3), rng.IntN(3)
		edges := [][]float64{{0, 1}, {0, .375, 1}, {0, .25, .625, 1}}[size-1]
		correct, lower, upper := make([]bool, n), make([]float64, n), make([]float64, n)
		for i := range correct {
			a, b := float64(rng.IntN(9))/8, float64(rng.IntN(9))/8
			correct[i], lower[i], upper[i] = rng.IntN(2) == 0, min(a, b), max(a, b)
		}
		j, err := JointCCE(correct, lower, upper, leftClosed(t, edges), k)
		if err != nil {
			t.Fatal(err)
		}
		truth := jointByDefinition(correct, lower, upper, edges, k)
		above := new(big.Rat).Sub(new(big.Rat).SetFloat64(j.Upper), truth)
		below := new(big.Rat).Sub(truth, new(big.Rat).SetFloat64(j.Lower))
		if above.Sign() < 0 || below.Cmp(big.NewRat(-1, 1e12)) < 0 {
			t.Fatalf("k = %d, %v, %v to %v, edges %v: between %v and %v; by definition %v", k, correct, lower, upper, edges, j.Lower, j.Upper, truth)
		}
		if above.Cmp(big.NewRat(1, 1e6)) < 0 {
			met++
		}
	}
	if met < trials/2 {
		t.Errorf("the bound is met in %d of %d trials: far too loose", met, trials)
	}
}
