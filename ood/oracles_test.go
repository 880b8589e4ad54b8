package ood

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/certspec/certspec/feedforward"
)

// Conservative areas both ways and the ties sum to 1; increasing maps change nothing; a larger foreign score never raises an area.
func TestAreaProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	area := func(in, foreign []float64) AUC {
		t.Helper()
		a, err := Area(in, foreign)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for range 200 {
		in, foreign := make([]float64, 1+rng.IntN(12)), make([]float64, 1+rng.IntN(12))
		for _, list := range [][]float64{in, foreign} {
			for i := range list {
				list[i] = float64(rng.IntN(5))
			}
		}
		a, swapped := area(in, foreign), area(foreign, in)
		ties := 0
		for _, x := range in {
			for _, y := range foreign {
				if x == y {
					ties++
				}
			}
		}
		if math.Abs(a.Conservative+swapped.Conservative+float64(ties)/float64(len(in)*len(foreign))-1) > 1e-12 {
			t.Fatalf("%v, %v: %v and %v with ties %v", in, foreign, a.Conservative, swapped.Conservative, ties)
		}
		mapped := func(list []float64) []float64 {
			out := make([]float64, len(list))
			for i, v := range list {
				out[i] = math.Exp(v) - 7
			}
			return out
		}
		if b := area(mapped(in), mapped(foreign)); b.Value != a.Value || b.Conservative != a.Conservative {
			t.Fatalf("exp changes %+v to %+v", a, b)
		}
		foreign[rng.IntN(len(foreign))] += float64(1 + rng.IntN(3))
		if b := area(in, foreign); b.Value > a.Value || b.Conservative > a.Conservative {
			t.Fatalf("a larger foreign score raises %+v to %+v", a, b)
		}
	}
}

// At ε = 0 GAUC is AUC; the mean bound never falls as ε grows. (That GAUC never rises, TestCompare has.)
func TestGuaranteeAtZeroIsTheAUC(t *testing.T) {
	net := network(t, 5)
	in, err := Measure(t.Context(), net, pictures("own", 7, 60), Options{})
	if err != nil {
		t.Fatal(err)
	}
	last := 0.0
	for _, e := range []float64{0, 0.01, 0.1, 0.4} {
		m, err := Measure(t.Context(), net, pictures("foreign", 8, 50), Options{Epsilon: e, Method: feedforward.IBP})
		if err != nil {
			t.Fatal(err)
		}
		c, err := Compare(t.Context(), CompareOptions{Resamples: 10}, in, m)
		if err != nil {
			t.Fatal(err)
		}
		if e == 0 && *c.GAUC != c.AUC {
			t.Errorf("at ε = 0 GAUC is %v, AUC %v", *c.GAUC, c.AUC)
		}
		if *c.Foreign.Bound < last {
			t.Errorf("ε = %v: the mean bound falls from %v to %v", e, last, *c.Foreign.Bound)
		}
		last = *c.Foreign.Bound
	}
}
