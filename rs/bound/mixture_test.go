package bound

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// strength of the priors in these tests, as in the rule anytime.
const strength = 60

// The two ends of the interval in rational arithmetic: the likelihood under the prior is a product of fractions, that
// under p a power, so that "M(p) ≥ 1/α" is decided exactly.
func TestMixtureInRationals(t *testing.T) {
	const alpha = 0.001
	m, err := NewMixture(alpha, strength)
	if err != nil {
		t.Fatal(err)
	}
	limit := new(big.Rat).SetFloat64(alpha)
	for _, c := range [][2]int{{1, 1}, {1, 5}, {2, 2}, {2, 90}, {3, 5}, {5, 5}, {20, 20}, {50, 80}, {79, 80}, {3, 80}, {0, 40}, {119, 120}, {120, 120}} {
		k, n := c[0], c[1]
		if testing.Short() && n > 100 {
			continue
		}
		low, err := m.Lower(k, n)
		if err != nil {
			t.Fatal(err)
		}
		up, err := m.Upper(k, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range []struct {
			name string
			p    float64
			out  float64 // direction away from k/n
			no   bool
		}{{"lower", low.P, -1, k <= 1}, {"upper", up.P, 1, k >= n-1}} {
			if end.no {
				if end.p != (1+end.out)/2 {
					t.Errorf("%d of %d: the %s end is %v", k, n, end.name, end.p)
				}
				continue
			}
			at := func(p float64) *big.Rat { return exactInverse(k, n, new(big.Rat).SetFloat64(p)) }
			if at(end.p).Cmp(limit) > 0 {
				t.Errorf("%d of %d: the %s end %v does not hold", k, n, end.name, end.p)
			}
			// A little towards k/n the wealth is below 1/α: nothing is given away.
			near := end.p - end.out*max(3e-5*min(end.p, 1-end.p), 1e-15)
			if at(near).Cmp(limit) < 0 {
				t.Errorf("%d of %d: the %s end %v could be %v", k, n, end.name, end.p, near)
			}
		}
	}
}

// exactInverse is 1/M(p).
func exactInverse(k, n int, p *big.Rat) *big.Rat {
	v, r := big.NewRat(1, 1), big.NewRat(strength, 1)
	rising := func(c *big.Rat, x int) *big.Rat { // c(c+1)…(c+x−1)
		product := big.NewRat(1, 1)
		for j := range int64(x) {
			product.Mul(product, new(big.Rat).Add(c, big.NewRat(j, 1)))
		}
		return product
	}
	q := new(big.Rat).Sub(big.NewRat(1, 1), p)
	for range k {
		v.Mul(v, p)
	}
	for range n - k {
		v.Mul(v, q)
	}
	v.Mul(v, rising(r, n))
	v.Quo(v, rising(new(big.Rat).Mul(r, p), k))
	return v.Quo(v, rising(new(big.Rat).Mul(r, q), n-k))
}

// The series of the ratio of gamma functions continues the product, and harmonic is its derivative.
func TestLogRising(t *testing.T) {
	for _, c := range []float64{1e-9, 0.01, 0.5, 1, 7.3, 60, 500} {
		sum, rest := 0.0, 0.0 // compensated
		for x := 0; x < 5000; x++ {
			if got := logRising(float64(x), c); math.Abs(got-sum) > massError/4 {
				t.Fatalf("c = %v, x = %d: %.15g, the product has %.15g", c, x, got, sum)
			}
			add := math.Log((c+float64(x))/(1+float64(x))) - rest
			next := sum + add
			sum, rest = next, (next-sum)-add
		}
		d := c * 1e-5
		if got, want := harmonic(300, c), (logRising(300, c+d)-logRising(300, c-d))/(2*d); math.Abs(got-want) > 1e-5*want {
			t.Errorf("c = %v: the derivative is %v, want %v", c, got, want)
		}
	}
}

// The probability that a bound is false at any of 600 numbers of trials, summed exactly over all ways, is at most α, and not
// needlessly small.
func TestMixtureFalseClaimsExactly(t *testing.T) {
	const horizon = 600
	for _, alpha := range []float64{0.001, 0.05} {
		m, err := NewMixture(alpha, strength)
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for _, p := range []float64{0.02, 0.3, 0.5, 0.6, 0.75, 0.9, 0.97, 0.99, 0.999, 0.9999} {
			// least is the number of hits from which the lower bound is above p; it rises by at most one with a trial.
			chance, wrong, least, few := []float64{1}, 0.0, 0, 0
			for n := 1; n <= horizon; n++ {
				next := make([]float64, n+1)
				for k, c := range chance {
					next[k] += c * (1 - p)
					next[k+1] += c * p
				}
				for ; least <= n; least++ {
					if low, _ := m.Lower(least, n); low.P > p {
						break
					}
				}
				for k := least; k <= n; k++ {
					wrong += next[k]
					next[k] = 0
				}
				for ; few <= n; few++ { // and those whose upper bound is below p
					if up, _ := m.Upper(few, n); up.P >= p {
						break
					}
				}
				for k := range min(few, n) {
					wrong += next[k]
					next[k] = 0
				}
				chance = next
			}
			if wrong > alpha {
				t.Errorf("p = %v: false within %d trials with probability %v, α is %v", p, horizon, wrong, alpha)
			}
			worst = max(worst, wrong)
		}
		if worst < 0.2*alpha {
			t.Errorf("α = %v: false with probability %v at most, which wastes noise samples", alpha, worst)
		}
		t.Logf("α = %v: at most %v", alpha, worst)
	}
}

// Whoever stops at the first false claim finds one in at most a share α of the runs.
func TestMixtureAgainstAnAdversary(t *testing.T) {
	const alpha, horizon = 0.05, 2000
	runs := 20_000
	if testing.Short() {
		runs = 2000
	}
	m, err := NewMixture(alpha, strength)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 11))
	for _, p := range []float64{0.5, 0.95} {
		least := make([]int, horizon+1)
		for n := 1; n <= horizon; n++ {
			least[n] = least[n-1]
			for ; least[n] <= n; least[n]++ {
				if low, _ := m.Lower(least[n], n); low.P > p {
					break
				}
			}
		}
		wrong := 0
		for range runs {
			for n, hits := 1, 0; n <= horizon; n++ {
				if rng.Float64() < p {
					hits++
				}
				if hits >= least[n] {
					wrong++
					break
				}
			}
		}
		// Beyond α·runs + 4·√(α·runs) an honest bound comes once in 30,000 times.
		if most := alpha*float64(runs) + 4*math.Sqrt(alpha*float64(runs)); float64(wrong) > most {
			t.Errorf("p = %v: %d of %d runs have a false claim, at most %.0f are expected", p, wrong, runs, most)
		}
		t.Logf("p = %v: %d of %d", p, wrong, runs)
	}
}
