package calib

import (
	"math"
	"math/rand/v2"
	"testing"
)

// √(2 ln 1000/2000) is .083113 (by logarithm tables); the bound never exceeds 1.
func TestForPopulation(t *testing.T) {
	for _, c := range []struct{ joint, want float64 }{{0.1, 0.183113}, {0.99, 1}} {
		got, err := ForPopulation(c.joint, 2000, 0.001)
		if err != nil || got < c.joint || math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%v: %v, %v; expected %v", c.joint, got, err, c.want)
		}
	}
	for _, bad := range []float64{0, 1, -1, math.NaN()} {
		if _, err := ForPopulation(0.1, 2000, bad); err == nil {
			t.Errorf("delta %v was taken", bad)
		}
	}
	if _, err := ForPopulation(0.1, 0, 0.1); err == nil {
		t.Error("no images were taken")
	}
}

// On average over runs the bound holds although all certificates fail together, which no joint claim survives: in one run of 25 all intervals are false,
// and the images that they are of do their worst. A quarter of the addend is not enough.
func TestInExpectationHoldsOnAverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 7))
	const attempted, p, runs = 50, 0.04, 4000
	bins := leftClosed(t, []float64{0, .5, 1})
	excess, quarter := 0.0, 0.0
	for range runs {
		var correct []bool
		var lower, upper []float64
		fail := rng.Float64() < p
		for range attempted {
			if rng.IntN(5) > 0 { // certified
				correct, lower, upper = append(correct, true), append(lower, 1), append(upper, 1)
			}
		}
		n, worst := float64(len(correct)), 0.0
		if fail {
			worst = 1 // wrong, and sure of it
		}
		plain, err := new(Workspace).ExactCCE(correct, lower, upper, bins)
		if err != nil {
			t.Fatal(err)
		}
		u, err := InExpectation(plain.CCE, len(correct), attempted, p)
		if err != nil {
			t.Fatal(err)
		}
		excess += n * (worst - u) / runs
		quarter += n * (worst - plain.CCE - (u-plain.CCE)/4) / runs
	}
	// The mean is 40·.04 − 2·.04·50 = −2.4 with a standard error of .13; a quarter of the addend, 1, is below 1.6 by more than four of them.
	if excess > 0 || quarter < 0 {
		t.Errorf("on average the error exceeds the bound by %v, that with a quarter of the addend by %v", excess, quarter)
	}
	for _, bad := range []struct {
		n, of int
		p     float64
	}{{0, 5, .1}, {6, 5, .1}, {5, 5, 0}, {5, 5, 1}, {5, 5, math.NaN()}} {
		if _, err := InExpectation(.1, bad.n, bad.of, bad.p); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// A population with a known error: confidence .6 and accuracy .5, confidence .9 and accuracy 1, equally often, so .1 in either bin and .1 in all. A sample alone
// falls short of it often; with the addend hardly ever.
func TestForPopulationCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	const n, delta, runs = 400, .05, 2000
	bins := leftClosed(t, []float64{0, .75, 1})
	missed, short := 0, 0
	for range runs {
		correct, z := make([]bool, n), make([]float64, n)
		for i := range correct {
			if correct[i], z[i] = rng.IntN(2) == 0, .6; rng.IntN(2) == 0 {
				correct[i], z[i] = true, .9
			}
		}
		j, err := JointCCE(correct, z, z, bins, 0)
		if err != nil {
			t.Fatal(err)
		}
		bound, err := ForPopulation(j.Upper, n, delta)
		if err != nil {
			t.Fatal(err)
		}
		if bound < .1 {
			missed++
		}
		if j.Upper < .1 {
			short++
		}
	}
	// At δ = .05 at most 100 misses are expected; more than 150 come with probability below 10⁻⁶.
	if missed > 150 || short < runs/4 {
		t.Errorf("the claim fails in %d of %d runs at δ = %v; the sample falls short in %d", missed, runs, delta, short)
	}
}
