package bound

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestMirror(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, MaxTrials).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		alpha := rapid.Float64Range(1e-12, 0.999).Draw(t, "alpha")
		lower, err := Lower(n-k, n, alpha)
		if err != nil {
			t.Fatal(err)
		}
		upper, err := Upper(k, n, alpha)
		if err != nil {
			t.Fatal(err)
		}
		if upper != (Probability{P: lower.Q, Q: lower.P}) {
			t.Fatalf("Upper(%d, %d, %g) = %v is no mirror image of %v", k, n, alpha, upper, lower)
		}
	})
}

func TestUpperOfAllHits(t *testing.T) {
	if got, err := Upper(5, 5, 0.01); err != nil || got != (Probability{P: 1, Q: 0}) {
		t.Errorf("Upper(5, 5, 0.01) = %v, %v, want 1", got, err)
	}
	// 1 − 0.01^(1/5) misses: P[Bin(5, p) ≤ 0] = (1−p)⁵ = 0.01.
	if got, err := Upper(0, 5, 0.01); err != nil || math.Abs(math.Pow(got.Q, 5)-0.01) > 1e-10 {
		t.Errorf("Upper(0, 5, 0.01) = %v, %v, want 1 − 0.01^(1/5)", got, err)
	}
}

// More hits, or a larger α, never lower the bound by more than its outward rounding; at α ≤ ½ it
// does not exceed the observed frequency.
func TestMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, MaxTrials).Draw(t, "n")
		k := rapid.IntRange(0, n-1).Draw(t, "k")
		alpha := math.Exp(-rapid.Float64Range(0.7, 40).Draw(t, "minus ln alpha"))
		base, err := Lower(k, n, alpha)
		if err != nil {
			t.Fatal(err)
		}
		more, err := Lower(k+1, n, alpha)
		if err != nil {
			t.Fatal(err)
		}
		weaker, err := Lower(k, n, alpha*1.001)
		if err != nil {
			t.Fatal(err)
		}
		if more.P < base.P || more.Q > base.Q {
			t.Fatalf("Lower(%d, %d, %g) = %v, yet %v with one hit more", k, n, alpha, base, more)
		}
		if weaker.P < base.P || weaker.Q > base.Q {
			t.Fatalf("Lower(%d, %d, %g) = %v, yet %v at a larger alpha", k, n, alpha, base, weaker)
		}
		if base.P > float64(k)/float64(n) {
			t.Fatalf("Lower(%d, %d, %g) = %v exceeds the frequency", k, n, alpha, base)
		}
	})
}

func TestComplements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(0, 1).Draw(t, "x")
		exact := new(big.Float).SetPrec(2200).Sub(big.NewFloat(1), big.NewFloat(x))
		down, up := complementDown(x), complementUp(x)
		if big.NewFloat(down).Cmp(exact) > 0 || big.NewFloat(math.Nextafter(down, 2)).Cmp(exact) <= 0 {
			t.Fatalf("complementDown(%v) = %v", x, down)
		}
		if big.NewFloat(up).Cmp(exact) < 0 || big.NewFloat(math.Nextafter(up, -1)).Cmp(exact) >= 0 {
			t.Fatalf("complementUp(%v) = %v", x, up)
		}
	})
}

func TestRadius(t *testing.T) {
	for _, c := range []struct {
		sigma float64
		p     Probability
		want  float64
	}{
		{0.25, Probability{P: 0.4999, Q: 0.5001}, 0},
		{0.25, Probability{P: 0, Q: 1}, 0},
		{0.25, Probability{P: 0.5, Q: 0.5}, 0},
		{0.25, Probability{P: 0.5, Q: 0.5 + 0x1p-53}, 0}, // Q rounded up past one half
		{1e300, Probability{P: 1 - 1e-10, Q: 1e-10}, 6.361340902404056e300},
		{1e-300, Probability{P: 1 - 1e-10, Q: 1e-10}, 6.361340902404056e-300}, // SciPy norm.isf(1e-10)
	} {
		got, err := Radius(c.sigma, c.p)
		if err != nil || got > c.want || got < c.want*(1-3e-9) {
			t.Errorf("Radius(%g, %v) = %v, %v, want just below %v", c.sigma, c.p, got, err, c.want)
		}
	}
}

func TestBadInput(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	half := Probability{P: 0.5, Q: 0.5}
	calls := map[string]func() (any, error){}
	add := func(argument string, call func() (any, error)) {
		calls[fmt.Sprintf("%s %d", argument, len(calls))] = call
	}
	for _, c := range []struct {
		argument string
		k, n     int
		alpha    float64
	}{
		{"n", 0, 0, 0.1}, {"n", 0, -1, 0.1}, {"n", 5, MaxTrials + 1, 0.1},
		{"k", -1, 10, 0.1}, {"k", 11, 10, 0.1},
		{"alpha", 5, 10, 0}, {"alpha", 5, 10, 5e-324}, {"alpha", 5, 10, 1}, {"alpha", 5, 10, -0.1}, {"alpha", 5, 10, nan}, {"alpha", 5, 10, inf},
	} {
		add(c.argument, func() (any, error) { return Lower(c.k, c.n, c.alpha) })
		add(c.argument, func() (any, error) { return Upper(c.k, c.n, c.alpha) })
		if c.argument != "k" {
			add(c.argument, func() (any, error) { k, _, err := LeastCount(c.n, c.alpha); return k, err })
		}
	}
	for _, sigma := range []float64{0, -0.25, nan, inf} {
		add("sigma", func() (any, error) { return Radius(sigma, half) })
	}
	for _, p := range []Probability{{0.9, 0.2}, {1 - 1e-10, 1e-20}, {0.9, 0}, {1, 0}, {nan, 0.5}, {0.5, nan}, {-0.1, 1.1}, {inf, 0.1}, {}} {
		add("probability", func() (any, error) { return Quantile(p) })
		add("probability", func() (any, error) { return Radius(0.25, p) })
	}
	add("second", func() (any, error) { return TopTwoPValue(5, -1) })
	add("first", func() (any, error) { return TopTwoPValue(4, 5) })
	add("n", func() (any, error) { return TopTwoPValue(0, 0) })
	add("first", func() (any, error) { return TopTwoPValue(math.MaxInt, math.MaxInt) })
	add("n", func() (any, error) { return TopTwoPValue(MaxTrials, 1) })
	for name, call := range calls {
		value, err := call()
		var input *InputError
		if !errors.As(err, &input) || !hasPrefixWord(name, input.Argument) {
			t.Errorf("%s: got %v and the error %v", name, value, err)
		}
	}
	_, err := Lower(11, 10, 0.1)
	if want := "bound: k is 11, expected a count in [0, n = 10]"; err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func hasPrefixWord(s, word string) bool {
	return len(s) > len(word) && s[:len(word)] == word && s[len(word)] == ' '
}

func TestLowerDoesNotAllocate(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { _, _ = Lower(99_000, 100_000, 0.001) }); n != 0 {
		t.Errorf("Lower allocates %v times a call", n)
	}
}

func ExampleRadius() {
	p, err := Lower(99_000, 100_000, 0.001) // 99,000 of 100,000 noise samples got the class
	if err != nil {
		panic(err)
	}
	r, err := Radius(0.25, p)
	if err != nil {
		panic(err)
	}
	fmt.Printf("with probability 0.999 at least %.6f of all noise keeps the class: radius %.4f\n", p.P, r)
	// Output: with probability 0.999 at least 0.988989 of all noise keeps the class: radius 0.5725
}

func BenchmarkLower(b *testing.B) {
	for _, k := range []int{100_000, 99_990, 99_000, 90_000, 50_500, 10} {
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Lower(k, 100_000, 0.001); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
