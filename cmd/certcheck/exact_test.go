package main

import (
	"math"
	"math/big"
	"testing"
)

// A decision in float64 is that of 128 bits, over counts, levels and bounds from loose to tight; and the sums err by less than is said.
func TestFloat64DecidesAsBigNumbersDo(t *testing.T) {
	c := &checker{terms: 1e9, sigma: big.NewRat(1, 4)}
	decisions, sums := 0, 0
	for _, n := range []int{1, 2, 20, 100, 1000, 10000, 100000} {
		if n > 1000 && testing.Short() {
			continue
		}
		for _, share := range []float64{0, 0.01, 0.3, 0.5, 0.51, 0.7, 0.9, 0.99, 0.999, 1} {
			for _, alpha := range []*big.Rat{big.NewRat(1, 20), big.NewRat(1, 1000), big.NewRat(1, 8000), big.NewRat(1, 1e15), exact("1e-200"), exact("1e-299")} {
				k := int(math.Round(share * float64(n)))
				low, high := new(big.Rat), big.NewRat(1, 1)
				for range 60 { // to the q where the tail is α
					q := times(half, new(big.Rat).Add(low, high))
					if f, _ := q.Float64(); f <= 1e-15 || f >= 1-1e-15 {
						break
					}
					if c.tail(k, n, q, alpha) <= 1 {
						low = q
					} else {
						high = q
					}
				}
				for _, q := range []*big.Rat{low, times(low, big.NewRat(9, 10)), times(low, big.NewRat(1e9-1, 1e9)), minus(one, times(minus(one, low), big.NewRat(1e10-1, 1e10)))} {
					units, _ := times(q, big.NewRat(whole15, 1)).Float64()
					p := probability(units)
					if q = p.exact(); p <= 0 || p >= whole15 {
						continue
					}
					want := c.tail(k, n, q, alpha)
					for _, level := range []float64{1 - 0.999e-9, 1 - 2.001e-9, 1, want, math.Nextafter(want, 2), math.Nextafter(want, 0), want * (1 + 1e-12), want * (1 - 1e-12)} {
						if level < 0.6 { // of a tail below ½ it is known only that it is
							continue
						}
						if got := c.rare(k, n, p, near(alpha), level); got != (want <= level) {
							t.Errorf("%d of %d at %v, α = %v: %v at level %v, the tail is %v", k, n, q, alpha, got, level, want)
						}
						decisions++
					}
					hit, miss := float64(p)/whole15, float64(whole15-p)/whole15
					for _, v := range []struct {
						a, step int
						b, x    float64
						exact   *big.Float
					}{
						{n - k, -1, float64(k + 1), hit / miss, number(one).Quo(number(q), number(minus(one, q)))},
						{k, -1, float64(n - k + 1), miss / hit, number(one).Quo(number(minus(one, q)), number(q))},
					} {
						got, steps := c.series64(v.a, v.step, v.b, v.x, math.Inf(1))
						if math.IsInf(got, 0) {
							continue
						}
						want := c.series(v.a, v.step, v.b, v.exact, infinite)
						off, _ := want.Quo(want.Sub(want, big.NewFloat(got)), big.NewFloat(got)).Float64()
						if math.Abs(off) > steps*0x1p-50+0x1p-44 {
							t.Errorf("F(%d, %v, %v) errs by %g after %v steps", v.a, v.b, v.x, off, steps)
						}
						sums++
					}
				}
			}
		}
	}
	if decisions < 3000 || sums < 1000 {
		t.Errorf("%d decisions and %d sums were compared", decisions, sums)
	}
	decisions = 0
	for i := int64(1); i <= 1500; i++ { // radii up to 6σ
		r := big.NewRat(i, 1000)
		x, _ := times(r, big.NewRat(4, 1)).Float64()
		phi, _ := c.phi(r).Rat(nil)
		for _, off := range []int64{0, 1, -1, 30, -30, 1000, -1000, 1e6, -1e6, 1e12, -1e12} {
			v, _ := new(big.Rat).Add(minus(phi, half), big.NewRat(off, 1e18)).Float64()
			switch got := side(x, v); {
			case got != 0:
				want := phi.Cmp(new(big.Rat).Add(half, new(big.Rat).SetFloat64(v)))
				if decisions++; got != want {
					t.Errorf("Φ(%v) against itself + %d·10⁻¹⁸: %d, want %d", x, off, got, want)
				}
			case off >= 1e6 && x < 5 || off <= -1e6 && x < 5:
				t.Errorf("Φ(%v) is not told from itself + %d·10⁻¹⁸", x, off)
			}
		}
	}
	if decisions < 5000 {
		t.Errorf("%d comparisons with Φ were decided", decisions)
	}
}
