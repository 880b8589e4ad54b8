package bound

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

const precision = 320

func number(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

// exactTail is P[Bin(n, p) ≥ k] to about 300 bits: the mass at one count as a product, the rest by the
// ratio of neighbours, on the side where the terms fall.
func exactTail(k, n int, p *big.Float) *big.Float {
	one := number(1)
	q := new(big.Float).Sub(one, p)
	if p.Sign() == 0 || k > n {
		return number(0)
	}
	if mean, _ := new(big.Float).Mul(number(float64(n+1)), p).Float64(); float64(k) < mean {
		below := exactTail(n-k+1, n, q)
		return below.Sub(one, below)
	}
	mass := binomialMass(k, n, p, q)
	sum := new(big.Float).Set(mass)
	ratio := new(big.Float).Quo(p, q)
	for j := k; j < n; j++ {
		mass.Mul(mass, number(float64(n-j)))
		mass.Quo(mass, number(float64(j+1)))
		mass.Mul(mass, ratio)
		sum.Add(sum, mass)
		if mass.MantExp(nil) < sum.MantExp(nil)-precision {
			break
		}
	}
	return sum
}

// binomialMass is P[Bin(n, p) = k] with q = 1−p.
func binomialMass(k, n int, p, q *big.Float) *big.Float {
	mass := new(big.Float).Mul(power(p, k), power(q, n-k))
	for i := range min(k, n-k) {
		mass.Mul(mass, number(float64(n-i)))
		mass.Quo(mass, number(float64(i+1)))
	}
	return mass
}

func power(x *big.Float, e int) *big.Float {
	result, square := number(1), new(big.Float).Set(x)
	for ; e > 0; e >>= 1 {
		if e&1 == 1 {
			result.Mul(result, square)
		}
		square.Mul(square, square)
	}
	return result
}

type failer interface {
	Helper()
	Fatalf(string, ...any)
}

// checkLower compares Lower with the exact tail: both of its values keep α(1−10⁻⁹), and the more
// precise one uses all but a relative 1.3·10⁻⁹ of α.
func checkLower(t failer, k, n int, alpha float64) {
	t.Helper()
	got, err := Lower(k, n, alpha)
	if err != nil {
		t.Fatalf("Lower(%d, %d, %g): %v", k, n, alpha, err)
	}
	allowed := new(big.Float).Mul(number(alpha), new(big.Float).Sub(number(1), number(1e-9)))
	direct := number(got.P)
	mirrored := new(big.Float).Sub(number(1), number(got.Q))
	for _, p := range []*big.Float{direct, mirrored} {
		if tail := exactTail(k, n, p); tail.Cmp(allowed) > 0 {
			t.Fatalf("Lower(%d, %d, %g) = {%v, %v} has the tail %.20g, above %.20g", k, n, alpha, got.P, got.Q, tail, allowed)
		}
	}
	sharp := direct
	if got.Q < got.P {
		sharp = mirrored
	}
	least := new(big.Float).Mul(number(alpha), number(1-1.3e-9))
	if tail := exactTail(k, n, sharp); tail.Cmp(least) < 0 {
		t.Fatalf("Lower(%d, %d, %g) = {%v, %v} has the tail %.20g, needlessly below %.20g", k, n, alpha, got.P, got.Q, tail, least)
	}
}

func TestLowerAgainstExactTail(t *testing.T) {
	for _, alpha := range []float64{1e-280, 1e-12, 0.001 / 8, 0.001, 0.05, 0.5, 0.999, 1 - 0x1p-40} {
		for _, n := range []int{1, 2, 3, 17, 100, 1000} {
			if testing.Short() && n > 100 {
				continue
			}
			for _, k := range []int{1, 2, n / 3, n / 2, n - 2, n - 1, n} {
				if k >= 1 && k <= n {
					checkLower(t, k, n, alpha)
				}
			}
		}
	}
	for _, alpha := range []float64{1e-12, 0.001 / 8, 0.3} {
		for _, k := range []int{1, 12, 1000, 50_490, 99_000, 99_990, 100_000} {
			checkLower(t, k, 100_000, alpha)
		}
		for _, k := range []int{1, 30, 9_990_000, 9_999_999, 10_000_000} {
			checkLower(t, k, 10_000_000, alpha)
		}
	}
}

func TestLowerAgainstExactTailAtRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 2000).Draw(t, "n")
		k := rapid.IntRange(1, n).Draw(t, "k")
		alpha := math.Exp(-rapid.Float64Range(1e-9, 60).Draw(t, "minus ln alpha"))
		checkLower(t, k, n, alpha)
	})
}

// Verification rests on the bound on the error of the tail.
func TestTailError(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3000).Draw(t, "n")
		k := rapid.IntRange(1, n).Draw(t, "k")
		logit := rapid.Float64Range(-25, 25).Draw(t, "logit")
		at := split{0.5, 0.5}.shift(logit)
		p := number(at.p)
		if at.q < at.p {
			p.Sub(number(1), number(at.q))
		}
		got := upperTail(k, n, at)
		exact := exactTail(k, n, p)
		low := new(big.Float).Mul(exact, number(math.Exp(-got.err)))
		high := new(big.Float).Mul(exact, number(math.Exp(got.err)))
		// e^log in few bits would blur the comparison: exp of the integer and the rest apart.
		estimate := bigExp(got.log)
		if estimate.Cmp(low) < 0 || estimate.Cmp(high) > 0 {
			t.Fatalf("ln P[Bin(%d, %g) ≥ %d] = %.17g ± %.2g, exact tail %.20g", n, at.p, k, got.log, got.err, exact)
		}
		if got.err > 1e-9 && got.log > -700 {
			t.Fatalf("ln P[Bin(%d, %g) ≥ %d] = %.17g ± %.2g is too uncertain to be of use", n, at.p, k, got.log, got.err)
		}
	})
}

// bigExp is e^x to about 300 bits.
func bigExp(x float64) *big.Float {
	const halvings = 40
	small := number(x)
	small.SetMantExp(small, -halvings)
	term, sum := number(1), number(1)
	for i := 1; i < 60 && term.Sign() != 0; i++ {
		term.Mul(term, small)
		term.Quo(term, number(float64(i)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// P[Lower(K) > p] for K ~ Bin(n, p) is summed exactly and must not exceed α; the upper bound likewise.
func TestCoverage(t *testing.T) {
	const alpha = 0.001
	for _, n := range []int{1, 7, 50, 100, 1000} {
		if testing.Short() && n > 100 {
			continue
		}
		for _, p := range []float64{0.1, 0.5, 0.51, 0.9, 0.999} {
			exact := number(p)
			q := new(big.Float).Sub(number(1), exact)
			above, below := number(0), number(0) // probabilities that a bound is false
			for k := range n + 1 {
				lower, err := Lower(k, n, alpha)
				if err != nil {
					t.Fatal(err)
				}
				upper, err := Upper(k, n, alpha)
				if err != nil {
					t.Fatal(err)
				}
				if lower.P > p {
					above.Add(above, binomialMass(k, n, exact, q))
				}
				if upper.P < p {
					below.Add(below, binomialMass(k, n, exact, q))
				}
			}
			if above.Cmp(number(alpha)) > 0 || below.Cmp(number(alpha)) > 0 {
				t.Errorf("n = %d, p = %g: Lower fails with probability %.6g, Upper with %.6g, want at most %g", n, p, above, below, alpha)
			}
		}
	}
}

// δ(n) − δ(n+1) = (n+½) ln(1+1/n) − 1, across the end of the table too; δ(1) = 1 − ½ ln 2π.
func TestStirlingError(t *testing.T) {
	if got, want := stirlingError(1), 1-0.5*math.Log(2*math.Pi); math.Abs(got-want) > 1e-16 {
		t.Errorf("δ(1) = %.17g, want %.17g", got, want)
	}
	for n := 1.0; n < 300; n++ {
		got, want := stirlingError(n)-stirlingError(n+1), (n+0.5)*math.Log1p(1/n)-1
		if math.Abs(got-want) > 1e-15 {
			t.Errorf("δ(%g) − δ(%g) = %.17g, want %.17g", n, n+1, got, want)
		}
	}
}
