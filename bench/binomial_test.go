package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// The table has the probabilities of the closed form, and draws follow it (a chi-squared test that fails by chance once in 10⁵ times).
func TestBinomial(t *testing.T) {
	for _, c := range []struct {
		n int
		p float64
	}{{1, .3}, {100, .5}, {1000, .9986}, {128, .0001}, {4096, .03}, {50, 0}, {50, 1}} {
		law := newBinomial(c.n, c.p)
		want := distuv.Binomial{N: float64(c.n), P: c.p}
		for i, below := range law.below {
			if k := law.first + i; i+1 < len(law.below) && math.Abs(below-want.CDF(float64(k))) > 1e-10 {
				t.Fatalf("n = %d, p = %v: at most %d with probability %v, want %v", c.n, c.p, k, below, want.CDF(float64(k)))
			}
		}
		const draws = 100_000
		random, found := rand.New(rand.NewPCG(1, 2)), make([]float64, c.n+1)
		for range draws {
			found[law.draw(random)]++
		}
		sum, free := 0.0, -1.0
		tail, expected := 0.0, 0.0 // cells of at least 20
		for k := range found {
			mass := 0.0
			if i := k - law.first; i >= 0 && i < len(law.below) {
				mass = min(1, law.below[i])
				if i > 0 {
					mass -= law.below[i-1]
				}
			}
			tail, expected = tail+found[k], expected+draws*mass
			if expected >= 20 {
				sum, free = sum+(tail-expected)*(tail-expected)/expected, free+1
				tail, expected = 0, 0
			}
		}
		if free > 0 && (distuv.ChiSquared{K: free}).Survival(sum) < 1e-5 {
			t.Errorf("n = %d, p = %v: chi-squared %v with %v degrees of freedom", c.n, c.p, sum, free)
		}
	}
}
