package bound

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// exactMixedTail is P[Bin(n, p) > k] + u·P[Bin(n, p) = k].
func exactMixedTail(k, n int, u float64, p *big.Float) *big.Float {
	all, more := number(1), exactTail(k+1, n, p)
	if k > 0 {
		all = exactTail(k, n, p)
	}
	sum := new(big.Float).Sub(all, more)
	sum.Mul(sum, number(u))
	return sum.Add(sum, more)
}

// checkRandomized verifies the inequality of the bound, that it misses equality by little, and that it does not
// lie below the plain bound.
func checkRandomized(t failer, k, n int, alpha, u float64) {
	t.Helper()
	got, err := Randomized{Alpha: alpha, U: u}.Lower(k, n)
	if err != nil {
		t.Fatalf("Randomized{%g, %g}.Lower(%d, %d): %v", alpha, u, k, n, err)
	}
	plain, err := Lower(k, n, alpha)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if got.P < plain.P || got.Q > plain.Q {
		t.Fatalf("Randomized{%g, %g}.Lower(%d, %d) = %v, below the plain %v", alpha, u, k, n, got, plain)
	}
	used := max(u, 0.01, min(1, 2*alpha))
	allowed := new(big.Float).Mul(number(alpha), new(big.Float).Sub(number(1), number(1e-9)))
	direct, mirrored := number(got.P), new(big.Float).Sub(number(1), number(got.Q))
	for _, p := range []*big.Float{direct, mirrored} {
		if tail := exactMixedTail(k, n, used, p); k > 0 && tail.Cmp(allowed) > 0 {
			t.Fatalf("Randomized{%g, %g}.Lower(%d, %d) = {%v, %v} has the tail %.20g, above %.20g", alpha, u, k, n, got.P, got.Q, tail, allowed)
		}
	}
	if k == 0 {
		if got.P != 0 {
			t.Fatalf("Randomized{%g, %g}.Lower(0, %d) = %v, want 0", alpha, u, n, got)
		}
		return
	}
	sharp := direct
	if got.Q < got.P {
		sharp = mirrored
	}
	least := new(big.Float).Mul(number(alpha), number(1-1.3e-9))
	if tail := exactMixedTail(k, n, used, sharp); tail.Cmp(least) < 0 {
		t.Fatalf("Randomized{%g, %g}.Lower(%d, %d) = {%v, %v} has the tail %.20g, needlessly below %.20g", alpha, u, k, n, got.P, got.Q, tail, least)
	}
}

func TestRandomizedAgainstExactTail(t *testing.T) {
	for _, alpha := range []float64{1e-12, 0.001, 0.05, 0.4, 0.9} {
		for _, u := range []float64{0, 0.01, 0.1, 0.5, 0.999, 1} {
			for _, n := range []int{1, 2, 17, 100, 1000} {
				if testing.Short() && n > 100 {
					continue
				}
				for _, k := range []int{0, 1, n / 3, n / 2, n - 1, n} {
					checkRandomized(t, k, n, alpha, u)
				}
			}
		}
	}
	if testing.Short() {
		return
	}
	for _, u := range []float64{0, 0.3, 0.99} {
		for _, k := range []int{1, 50_490, 99_000, 99_999, 100_000} {
			checkRandomized(t, k, 100_000, 0.001, u)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1000).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		alpha := math.Exp(-rapid.Float64Range(1e-6, 60).Draw(t, "minus ln alpha"))
		checkRandomized(t, k, n, alpha, rapid.Float64Range(0, 1).Draw(t, "u"))
	})
}

// Radii at α = 0.001 and σ = ¼, computed with SciPy (brentq on binom.sf + U·binom.pmf).
func TestRandomizedRadius(t *testing.T) {
	us := []float64{1, .5, .1, .01}
	for _, c := range []struct {
		k, n int
		want []float64
	}{
		{100_000, 100_000, []float64{.952864, .959377, .977628, 1.018703}},
		{99_000, 100_000, []float64{.572500, .572544, .572581, .572589}},
		{950, 1000, []float64{.359966, .360913, .361829, .362060}},
	} {
		for i, u := range us {
			p, err := Randomized{Alpha: 0.001, U: u}.Lower(c.k, c.n)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := Radius(0.25, p); err != nil || !agree(got, c.want[i], 6) {
				t.Errorf("radius at %d of %d, U = %g: %.8f, %v, want %.6f", c.k, c.n, u, got, err, c.want[i])
			}
		}
	}
	// (α/U)^(1/n) where all hit.
	p, err := Randomized{Alpha: 0.001, U: 0.5}.Lower(10, 10)
	if want := math.Pow(0.002, 0.1); err != nil || p.P > want || p.P < want*(1-1e-9) {
		t.Errorf("all of 10, U = ½: %v, %v, want %v", p, err, want)
	}
}

// For each p, the U at which the bound after k hits passes p is found by bisection; the probability that
// the bound is false is the sum over k of the mass at k times that U. It is at most α, and close to it
// where the least U does not interfere.
func TestRandomizedCoverage(t *testing.T) {
	const alpha, least = 0.05, 0.1 // the least U is 2α
	for _, n := range []int{1, 10, 60} {
		for _, p := range []float64{0.1, 0.5, 0.9} {
			exact := number(p)
			q := new(big.Float).Sub(number(1), exact)
			wrong := 0.0
			for k := range n + 1 {
				isWrong := func(u float64) bool {
					lower, err := Randomized{Alpha: alpha, U: u}.Lower(k, n)
					if err != nil {
						t.Fatal(err)
					}
					return lower.P > p
				}
				low, high := 0.0, 1.0 // wrong below, right above
				if isWrong(1) {
					low = 1
				} else if isWrong(0) {
					for high-low > 1e-9 {
						if middle := (low + high) / 2; isWrong(middle) {
							low = middle
						} else {
							high = middle
						}
					}
				}
				mass, _ := binomialMass(k, n, exact, q).Float64()
				wrong += low * mass
			}
			if wrong > alpha {
				t.Errorf("n = %d, p = %g: false with probability %.9f, want at most %g", n, p, wrong, alpha)
			}
			// Equality but where the U that would be needed is below the least.
			if n > 1 && wrong < alpha*(1-least) {
				t.Errorf("n = %d, p = %g: false with probability %.9f, the coin does not use up %g", n, p, wrong, alpha)
			}
		}
	}
}

func TestRandomizedBadInput(t *testing.T) {
	for _, u := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1)} {
		var input *InputError
		if p, err := (Randomized{Alpha: 0.001, U: u}).Lower(5, 10); !errors.As(err, &input) || input.Argument != "U" {
			t.Errorf("U = %g: %v, %v", u, p, err)
		}
	}
	for alpha, k := range map[float64]int{0: 5, math.NaN(): 5, 0.001: 11} {
		if p, err := (Randomized{Alpha: alpha, U: 0.5}).Lower(k, 10); err == nil {
			t.Errorf("%d of 10 at α = %g: %v", k, alpha, p)
		}
	}
}

func ExampleRandomized() {
	plain, _ := ClopperPearson{Alpha: 0.001}.Lower(1000, 1000)
	b := Randomized{Alpha: 0.001, U: 0.1}
	drawn, _ := b.Lower(1000, 1000)
	fmt.Println(b)
	fmt.Printf("%.6f, not %.6f\n", drawn.P, plain.P)
	// Output:
	// randomized Clopper-Pearson at α = 0.001, U = 0.1
	// 0.995405, not 0.993116
}
