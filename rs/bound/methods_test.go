package bound

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"
)

func TestNamesAndText(t *testing.T) {
	test := betting(t, ofQ(0.158655253931457), 0.001)
	for _, c := range []struct {
		bound interface {
			Name() string
			fmt.Stringer
		}
		name, text string
	}{
		{ClopperPearson{0.001}, "Clopper-Pearson", "Clopper-Pearson at α = 0.001"},
		{Randomized{0.001, 0.25}, "randomized Clopper-Pearson", "randomized Clopper-Pearson at α = 0.001, U = 0.25"},
		{Randomized{0.001, 0}, "randomized Clopper-Pearson", "randomized Clopper-Pearson at α = 0.001, U = 0.01"},
		{Hoeffding{0.05}, "Hoeffding", "Hoeffding at α = 0.05"},
		{test, "betting test", "betting test of p ≤ 1-0.1586552539 at α = 0.001"},
	} {
		if c.bound.Name() != c.name || c.bound.String() != c.text {
			t.Errorf("%T: name %q, text %q, want %q and %q", c.bound, c.bound.Name(), c.bound, c.name, c.text)
		}
	}
}

// falseBounds sums the probabilities, for k ~ Bin(n, p), that lower(k) lies above p and that upper(k) lies
// below it.
func falseBounds(t *testing.T, n int, p float64, lower, upper func(k int) (Probability, error)) (above, below *big.Float) {
	t.Helper()
	exact := number(p)
	q := new(big.Float).Sub(number(1), exact)
	above, below = number(0), number(0)
	for k := range n + 1 {
		low, err := lower(k)
		if err != nil {
			t.Fatal(err)
		}
		high, err := upper(k)
		if err != nil {
			t.Fatal(err)
		}
		if !(low.P <= high.P && low.P >= 0 && high.P <= 1 && math.Abs(low.P+low.Q-1) <= 0x1p-52 && math.Abs(high.P+high.Q-1) <= 0x1p-52) {
			t.Fatalf("%d of %d: from %v to %v", k, n, low, high)
		}
		mass := binomialMass(k, n, exact, q)
		if low.P > p {
			above.Add(above, mass)
		}
		if high.P < p {
			below.Add(below, mass)
		}
	}
	return above, below
}

var coverageGrid = struct {
	n []int
	p []float64
}{[]int{1, 7, 50, 200}, []float64{0.001, 0.1, 0.5, 0.51, 0.9, 0.999}}

func TestIntervalCoverage(t *testing.T) {
	c := ClopperPearson{0.05}
	for _, n := range coverageGrid.n {
		for _, p := range coverageGrid.p {
			above, below := falseBounds(t, n, p,
				func(k int) (Probability, error) { low, _, err := c.Interval(k, n); return low, err },
				func(k int) (Probability, error) { _, high, err := c.Interval(k, n); return high, err })
			if half := number(c.Alpha / 2); above.Cmp(half) > 0 || below.Cmp(half) > 0 {
				t.Errorf("n = %d, p = %g: false with probabilities %.6g and %.6g, want at most %.6g each", n, p, above, below, half)
			}
		}
	}
	// The usual interval of the field: 10 of 100 at 95 % is 0.0490047 to 0.1762226 (SciPy binomtest(10, 100).proportion_ci()).
	low, high, err := c.Interval(10, 100)
	if err != nil || !agree(low.P, 0.0490047, 7) || !agree(high.P, 0.1762226, 7) {
		t.Errorf("Interval(10, 100) = %v, %v, %v", low, high, err)
	}
	for _, got := range []func(k, n int) (Probability, error){c.Lower, ClopperPearson{0.1}.Upper} {
		if one, err := got(10, 100); err != nil || one.P <= 0.05 || one.P >= 0.16 {
			t.Errorf("one-sided bounds of 10 in 100: %v, %v", one, err)
		}
	}
}

func TestHoeffdingCoverage(t *testing.T) {
	for _, alpha := range []float64{0.001, 0.05, 0.4} {
		h := Hoeffding{alpha}
		for _, n := range coverageGrid.n {
			for _, p := range coverageGrid.p {
				above, below := falseBounds(t, n, p,
					func(k int) (Probability, error) { return h.Lower(float64(k)/float64(n), n) },
					func(k int) (Probability, error) { return h.Upper(float64(k)/float64(n), n) })
				if level := number(alpha); above.Cmp(level) > 0 || below.Cmp(level) > 0 {
					t.Errorf("%v, n = %d, p = %g: false with probabilities %.6g and %.6g", h, n, p, above, below)
				}
			}
		}
	}
	// √(ln 20/200) = 0.1223873…
	low, err := Hoeffding{0.05}.Lower(0.5, 100)
	if err != nil || !agree(low.P, 0.3776127, 7) {
		t.Errorf("Hoeffding at ½, n = 100, α = 0.05: %v, %v, want 0.3776127", low, err)
	}
	if high, err := (Hoeffding{0.05}).Upper(0.5, 100); err != nil || !agree(high.P, 0.6223873, 7) {
		t.Errorf("Hoeffding at ½, n = 100, α = 0.05: %v, %v, want 0.6223873", high, err)
	}
}

func TestMethodsBadInput(t *testing.T) {
	nan := math.NaN()
	for name, call := range map[string]func() error{
		"k in interval":      func() error { _, _, err := ClopperPearson{0.1}.Interval(11, 10); return err },
		"n in interval":      func() error { _, _, err := ClopperPearson{0.1}.Interval(0, 0); return err },
		"alpha of interval":  func() error { _, _, err := ClopperPearson{1.5}.Interval(5, 10); return err },
		"average above 1":    func() error { _, err := Hoeffding{0.1}.Lower(1.1, 10); return err },
		"average NaN":        func() error { _, err := Hoeffding{0.1}.Upper(nan, 10); return err },
		"n of Hoeffding":     func() error { _, err := Hoeffding{0.1}.Lower(0.5, -1); return err },
		"alpha of Hoeffding": func() error { _, err := Hoeffding{0}.Lower(0.5, 10); return err },
	} {
		var input *InputError
		if err := call(); !errors.As(err, &input) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func ExampleClopperPearson() {
	b := ClopperPearson{Alpha: 0.05}
	low, high, err := b.Interval(90, 100)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%v: p between %.4f and %.4f\n", b, low.P, high.P)
	// Output: Clopper-Pearson at α = 0.05: p between 0.8238 and 0.9510
}

func ExampleHoeffding() {
	b := Hoeffding{Alpha: 0.001}
	low, err := b.Lower(0.93, 10_000) // the average of 10,000 confidences
	if err != nil {
		panic(err)
	}
	fmt.Printf("%v: mean at least %.4f\n", b, low.P)
	// Output: Hoeffding at α = 0.001: mean at least 0.9114
}

func ExampleBetting() {
	// Is the radius at least 0.25 under noise of standard deviation 0.25? It is where p > Φ(1).
	b, err := NewBetting(Probability{P: 0.841344746068543, Q: 0.158655253931457}, 0.001)
	if err != nil {
		panic(err)
	}
	for _, n := range []int{40, 50, 100, 1000} {
		if least := b.LeastHits(n); least <= n {
			fmt.Printf("after %d noise samples: certified from %d hits on\n", n, least)
		} else {
			fmt.Printf("after %d noise samples: not yet\n", n)
		}
	}
	// Output:
	// after 40 noise samples: not yet
	// after 50 noise samples: certified from 50 hits on
	// after 100 noise samples: certified from 97 hits on
	// after 1000 noise samples: certified from 889 hits on
}

func BenchmarkRandomized(b *testing.B) {
	for b.Loop() {
		if _, err := (Randomized{Alpha: 0.001, U: 0.3}).Lower(99_000, 100_000); err != nil {
			b.Fatal(err)
		}
	}
}
