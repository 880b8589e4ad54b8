package bound

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// ofQ is a probability given by its complement.
func ofQ(q float64) Probability { return Probability{P: 1 - q, Q: q} }

func ofP(p float64) Probability { return Probability{P: p, Q: 1 - p} }

// exactP0 is the p0 of which the smaller of the two values is exact.
func exactP0(p Probability) (p0, q0 *big.Float) {
	one := number(1)
	if p.Q < p.P {
		return new(big.Float).Sub(one, number(p.Q)), number(p.Q)
	}
	return number(p.P), new(big.Float).Sub(one, number(p.P))
}

// exactWealth is W by another formula than the package's, the hypergeometric series of the incomplete beta
// function with x = q0, to about 300 bits:
//
//	W = √(p0·q0)/((N−A+½)·2·asin √q0) · Σ_i Π_{j<i} (N+1+j)·q0/(N−A+3/2+j).
func exactWealth(hits, n int, p Probability) *big.Float {
	p0, q0 := exactP0(p)
	miss := float64(n - hits)
	term, sum := number(1), number(1)
	for j := 0.0; ; j++ {
		before := new(big.Float).Set(term)
		term.Mul(term, q0)
		term.Mul(term, number(float64(n)+1+j))
		term.Quo(term, number(miss+1.5+j))
		sum.Add(sum, term)
		if term.Cmp(before) < 0 && term.MantExp(nil) < sum.MantExp(nil)-200 {
			break
		}
	}
	root := new(big.Float).Sqrt(new(big.Float).Mul(p0, q0))
	divisor := new(big.Float).Mul(number(2*miss+1), bigAsin(new(big.Float).Sqrt(q0)))
	sum.Mul(sum, root)
	return sum.Quo(sum, divisor)
}

// bigAsin is asin x for x in (0, 1), to about 200 bits: the angle is halved until the series is short.
func bigAsin(x *big.Float) *big.Float {
	one := number(1)
	// sin²(a/2) = (1 − cos a)/2 = sin² a/(2(1 + cos a)).
	square := new(big.Float).Mul(x, x)
	const halvings = 20
	for range halvings {
		cosine := new(big.Float).Sqrt(new(big.Float).Sub(one, square))
		square.Quo(square, cosine.Mul(cosine.Add(cosine, one), number(2)))
	}
	term := new(big.Float).Sqrt(square)
	sum := new(big.Float).Set(term)
	for i := 1.0; i < 20; i++ {
		term.Mul(term, square)
		term.Mul(term, number((2*i-1)*(2*i-1)))
		term.Quo(term, number(2*i*(2*i+1)))
		sum.Add(sum, term)
	}
	return sum.SetMantExp(sum, halvings)
}

func betting(t failer, p0 Probability, alpha float64) *Betting {
	t.Helper()
	b, err := NewBetting(p0, alpha)
	if err != nil {
		t.Fatalf("NewBetting(%v, %g): %v", p0, alpha, err)
	}
	return b
}

func logWealth(t failer, b *Betting, hits, n int) float64 {
	t.Helper()
	w, err := b.LogWealth(hits, n)
	if err != nil {
		t.Fatalf("LogWealth(%d, %d): %v", hits, n, err)
	}
	return w
}

// SciPy (betaln, betainc) at p0 = 0.5 and 0.97725, to nine decimals.
func TestLogWealth(t *testing.T) {
	for _, c := range []struct {
		p0      Probability
		hits, n int
		want    float64
	}{
		{ofP(0.5), 10, 10, 5.888305216},
		{ofP(0.5), 20, 20, 12.479610247},
		{ofP(0.5), 60, 100, 0.153017727},
		{ofP(0.5), 80, 100, 17.435809248},
		{ofQ(0.02275), 500, 500, 10.165820637},
		{ofQ(0.02275), 995, 1000, 8.985837565},
		{ofQ(0.02275), 300, 500, -5.951074818},
	} {
		if got := logWealth(t, betting(t, c.p0, 0.001), c.hits, c.n); math.Abs(got-c.want) > 0.5e-9 {
			t.Errorf("ln W(%d, %d) at %v = %.12f, want %.9f", c.hits, c.n, c.p0, got, c.want)
		}
	}
	// W(n, n) = 1/(2·atan 1)·h grows beyond the range of a float64: ln W/n → ln 2.
	if got := logWealth(t, betting(t, ofP(0.5), 0.001), 1_000_000, 1_000_000) / 1e6; math.Abs(got-math.Ln2) > 1e-5 {
		t.Errorf("ln W(n, n)/n = %v for n = 10⁶ and p0 = ½, want nearly ln 2", got)
	}
}

func TestLogWealthAgainstExactWealth(t *testing.T) {
	for _, p0 := range []Probability{ofP(0.5), ofP(0.02), ofQ(0.02), ofP(0.2), ofQ(1e-6)} {
		b := betting(t, p0, 0.001)
		for _, n := range []int{1, 2, 10, 100, 700} {
			if testing.Short() && n > 100 {
				continue
			}
			for _, hits := range []int{0, 1, n / 50, n / 2, n - 1, n} {
				got := bigExp(logWealth(t, b, min(hits, n), n))
				ratio, _ := got.Quo(got, exactWealth(min(hits, n), n, p0)).Float64()
				if math.Abs(ratio-1) > 1e-11 {
					t.Errorf("W(%d, %d) at %v is off by a factor of 1%+.3g", hits, n, p0, ratio-1)
				}
			}
		}
	}
}

// The least A with W(A, N) ≥ 1000, computed with SciPy; N+1 where there is none.
func TestLeastHits(t *testing.T) {
	sizes := []int{20, 50, 100, 500, 1000, 10000}
	for _, c := range []struct {
		q0   float64
		want []int
	}{
		{0.5, []int{19, 40, 71, 299, 571, 5235}},
		{0.15865525393145707, []int{21, 50, 97, 453, 889, 8578}},
		{0.02275013194817921, []int{21, 51, 101, 499, 994, 9835}},
	} {
		b := betting(t, ofQ(c.q0), 0.001)
		for i, n := range sizes {
			if got := b.LeastHits(n); got != c.want[i] {
				t.Errorf("%v: least hits of %d is %d, want %d", b, n, got, c.want[i])
			}
		}
	}
	// The shortest streak of hits alone that certifies, for r = σ, 2σ, 3σ and 3.6σ.
	for q0, want := range map[float64]int{
		0.15865525393145707: 47, 0.02275013194817921: 351,
		0.0013498980316300946: 5977, 0.00015910859015753364: 50734,
	} {
		b := betting(t, ofQ(q0), 0.001)
		if before, at := b.LeastHits(want-1), b.LeastHits(want); before != want || at != want {
			t.Errorf("%v: least hits are %d of %d and %d of %d, want none and all", b, before, want-1, at, want)
		}
	}
}

// checkLeastHits compares the decision with W to 200 bits on both sides of the least count.
func checkLeastHits(t failer, b *Betting, n int) {
	t.Helper()
	least := b.LeastHits(n)
	threshold := new(big.Float).Quo(number(1), number(b.Alpha()))
	if least <= n && exactWealth(least, n, b.P0()).Cmp(threshold) < 0 {
		t.Fatalf("%v: %d of %d hits is certified at a wealth of %.15g, below %.15g", b, least, n, exactWealth(least, n, b.P0()), threshold)
	}
	if least == 0 {
		t.Fatalf("%v: %d trials need no hit", b, n)
	}
	// What is just below the threshold, by the 10⁻⁹ of the margin, may be refused.
	threshold.Mul(threshold, number(1+1.1e-9))
	if w := exactWealth(least-1, n, b.P0()); w.Cmp(threshold) >= 0 {
		t.Fatalf("%v: %d of %d hits is refused at a wealth of %.15g, above %.15g", b, least-1, n, w, threshold)
	}
}

func TestLeastHitsAgainstExactWealth(t *testing.T) {
	for _, q := range []float64{0.5, 0.158655253931457, 0.022750131948179, 0.001349898031630, 1e-9} {
		for _, alpha := range []float64{1e-12, 0.001, 0.3} {
			for _, p0 := range []Probability{ofQ(q), ofP(q)} {
				for _, n := range []int{1, 2, 10, 100, 999} {
					if testing.Short() && n > 100 {
						continue
					}
					if p0.P < 0.02 {
						continue // the series has a hundred thousand terms and more
					}
					checkLeastHits(t, betting(t, p0, alpha), n)
				}
			}
		}
	}
	checkLeastHits(t, betting(t, ofP(0.00135), 0.001), 10)
	if testing.Short() {
		return
	}
	checkLeastHits(t, betting(t, ofP(0.5), 0.001), 100_000)
	checkLeastHits(t, betting(t, ofQ(0.158655253931457), 0.001), 100_000)
	checkLeastHits(t, betting(t, ofQ(0.00003), 0.001), 100_000)
	checkLeastHits(t, betting(t, ofP(0.00135), 0.001), 1000)
}

func TestLeastHitsAtRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Float64Range(0.05, 0.95).Draw(t, "p0")
		n := rapid.IntRange(1, 1000).Draw(t, "n")
		alpha := math.Exp(-rapid.Float64Range(0.01, 60).Draw(t, "minus ln alpha"))
		checkLeastHits(t, betting(t, ofP(p), alpha), n)
	})
}

// E[W] = 1 at p = p0 and below 1 at a smaller p: the binomial law summed over all counts. The values
// at p0 − 0.05 are from SciPy.
func TestExpectedWealth(t *testing.T) {
	for _, c := range []struct {
		n     int
		p0    float64
		below float64 // E[W] at p0 − 0.05
	}{
		{20, 0.5, 0.332138}, {50, 0.8, 0.203393}, {50, 0.97, 0.244769}, {200, 0.97725, 0.051782},
	} {
		b := betting(t, ofP(c.p0), 0.001)
		for p, want := range map[float64]float64{c.p0: 1, c.p0 - 0.05: c.below} {
			exact := number(p)
			mean := number(0)
			for k := range c.n + 1 {
				w := bigExp(logWealth(t, b, k, c.n))
				mean.Add(mean, w.Mul(w, binomialMass(k, c.n, exact, new(big.Float).Sub(number(1), exact))))
			}
			got, _ := mean.Float64()
			tolerance := 0.5e-6
			if want == 1 {
				tolerance = 1e-12
			}
			if math.Abs(got-want) > tolerance {
				t.Errorf("n = %d, p0 = %g: mean wealth at p = %g is %.15g, want %g", c.n, c.p0, p, got, want)
			}
		}
	}
}

// everRejects is the probability that a test that looks after every one of n trials ever rejects, by
// recursion over the counts it has not rejected.
func everRejects(least func(int) int, p float64, n int) float64 {
	alive := make([]float64, n+2)
	alive[0] = 1
	rejected := 0.0
	for trial := 1; trial <= n; trial++ {
		for k := trial; k >= 0; k-- {
			mass := alive[k] * (1 - p)
			if k > 0 {
				mass += alive[k-1] * p
			}
			alive[k] = mass
		}
		for k := least(trial); k <= trial; k++ {
			rejected += alive[k]
			alive[k] = 0
		}
	}
	return rejected
}

func TestBettingCoverage(t *testing.T) {
	const alpha = 0.05
	for _, p0 := range []float64{0.001, 0.05, 0.3, 0.5, 0.8, 0.97, 0.999} {
		b := betting(t, ofP(p0), alpha)
		at := everRejects(b.LeastHits, p0, 2000)
		below := everRejects(b.LeastHits, p0*0.99, 2000)
		if at > alpha || below > at {
			t.Errorf("p0 = %g: rejects with probability %.6f at p0 and %.6f below it, want at most %g", p0, at, below, alpha)
		}
		// A test without power would pass the above.
		if p0 >= 0.05 && p0 <= 0.97 && at < alpha/4 {
			t.Errorf("p0 = %g: rejects with probability %.6f at p0, far less than %g allows", p0, at, alpha)
		}
	}
	// The recursion finds what is wrong: looking at Clopper-Pearson after every trial.
	peeking := func(n int) int {
		for k := n; k >= 0; k-- {
			if lower(k, n, alpha).P <= 0.5 {
				return k + 1
			}
		}
		return 0
	}
	if p := everRejects(peeking, 0.5, 500); p < 2*alpha {
		t.Errorf("peeking at a bound of fixed size errs with probability %.4f only", p)
	}
}

func TestLeastHitsRises(t *testing.T) {
	for _, p0 := range []Probability{ofP(0.5), ofQ(0.0227501319), ofP(0.0227501319), ofQ(1e-15)} {
		b := betting(t, p0, 0.001)
		last := 0
		for n := 1; n <= 3000; n++ {
			least := b.LeastHits(n)
			if least < last || least > n+1 || (least <= n && least > last+1 && last > 0) {
				t.Fatalf("%v: least hits of %d trials is %d, after %d", b, n, least, last)
			}
			last = least
		}
	}
}

func TestBettingBadInput(t *testing.T) {
	nan := math.NaN()
	for _, p0 := range []Probability{{}, {1, 0}, {0, 1}, {0.9, 0.2}, {nan, 0.5}, {0.5, nan}, {1, 1e-21}, {math.Inf(1), 0.5}} {
		var input *InputError
		if b, err := NewBetting(p0, 0.001); !errors.As(err, &input) || input.Argument != "p0" {
			t.Errorf("NewBetting(%v) = %v, %v", p0, b, err)
		}
	}
	for _, alpha := range []float64{0, 1, -1, nan, 1e-300} {
		var input *InputError
		if b, err := NewBetting(ofP(0.5), alpha); !errors.As(err, &input) || input.Argument != "alpha" {
			t.Errorf("NewBetting at α = %g = %v, %v", alpha, b, err)
		}
	}
	b := betting(t, ofP(0.5), 0.001)
	for n, want := range map[int]int{0: 1, -5: 1, math.MinInt: 1, MaxTrials + 1: MaxTrials + 2} {
		if got := b.LeastHits(n); got != want {
			t.Errorf("LeastHits(%d) = %d, want %d", n, got, want)
		}
	}
	for _, c := range [][2]int{{0, 0}, {-1, 10}, {11, 10}} {
		var input *InputError
		if w, err := b.LogWealth(c[0], c[1]); !errors.As(err, &input) {
			t.Errorf("LogWealth(%d, %d) = %v, %v", c[0], c[1], w, err)
		}
	}
	// The extremes neither overflow into a false claim nor loop.
	for _, p0 := range []Probability{{1, 1e-20}, {1e-20, 1}} {
		b := betting(t, p0, 1e-280)
		for _, n := range []int{1, 1000, MaxTrials} {
			if least := b.LeastHits(n); least < 1 || least > n+1 {
				t.Errorf("%v: least hits of %d is %d", b, n, least)
			}
		}
	}
}

func BenchmarkLeastHits(b *testing.B) {
	for _, q0 := range []float64{0.5, 0.15865525393145707, 0.02275013194817921} {
		for _, p0 := range []Probability{ofQ(q0), ofP(q0)} {
			test := betting(b, p0, 0.001)
			b.Run(fmt.Sprintf("p0=%v/n=100000", p0), func(b *testing.B) {
				for b.Loop() {
					test.LeastHits(100_000)
				}
			})
		}
	}
}

// A table of 1000 looks up to n = 100,000, which a run builds once for a target.
func BenchmarkBettingTable(b *testing.B) {
	test := betting(b, ofQ(0.15865525393145707), 0.001)
	for b.Loop() {
		for look := 1; look <= 1000; look++ {
			test.LeastHits(100 * look)
		}
	}
}
