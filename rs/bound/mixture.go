package bound

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Mixture is a confidence sequence for the probability p of a hit: bounds on p that hold after every number of trials
// at once. So whoever looks at the counts may stop, go on, or choose the next samples by what was seen.
//
// After k hits in n trials, with m = n−k misses, the wealth against p is the likelihood of the counts under a beta
// prior of mean p and strength r, in units of the likelihood under p,
//
//	M(p) = ∫₀¹ u^k (1−u)^m dBeta(rp, r(1−p))(u) / (p^k (1−p)^m) = A(k; rp)·A(m; r(1−p)) / (A(n; r)·Bin(k; n, p)),
//
// with A(x; c) = Γ(x+c)/(Γ(c)·x!) and Bin the binomial probability of k hits. For the true p, M is a non-negative
// martingale that starts at 1. So it ever reaches 1/α with probability at most α (Ville 1939). The mixture is that of
// Robbins 1970; the prior around the tested p is that of Howard, Ramdas, McAuliffe and Sekhon 2021, proposition 7. ln M
// is convex in p, since all terms of
//
//	(ln M)′ = Σ_{j<m} j/((1−p)(r(1−p)+j)) − Σ_{j<k} j/(p(rp+j))
//
// grow with p; and M(k/n) ≤ 1. So the p with M(p) < 1/α are an interval around k/n. Its ends, Lower and Upper, are the
// only p where M is 1/α. Both hold together.
//
// The strength is about the number of trials at which the interval is narrowest beside others; it stays close for many
// more. With r = 60 and α = 0.001, where 100,000 trials all hit, 1−p is 1.005 times that of Clopper and Pearson.
type Mixture struct{ alpha, strength float64 }

// NewMixture returns the confidence sequence of level α with a prior of strength r.
//
// Errors: α outside [1e-280, 1), r outside [1, 10000], as *InputError.
func NewMixture(alpha, r float64) (*Mixture, error) {
	if err := checkAlpha(alpha); err != nil {
		return nil, err
	}
	if !(r >= 1 && r <= 10_000) {
		return nil, inputError("r", r, "a number in [1, 10000]")
	}
	return &Mixture{alpha, r}, nil
}

// mixtureSlack is the relative amount by which 1/M undercuts α. It is larger than slack, so that a
// checker may multiply up the factors of A one by one.
const mixtureSlack = 1e-6

// Lower returns the lower end of the interval, 0 for k ≤ 1. It is rounded outwards: both as P and as 1−Q it satisfies
// 1/M(p) ≤ α(1−10⁻⁶) in exact arithmetic. It misses equality by less than a relative 2·10⁻⁸ plus the resolution of a
// float64.
//
// Errors: n outside [1, MaxTrials], k outside [0, n], as *InputError.
func (m *Mixture) Lower(k, n int) (Probability, error) {
	if err := checkCount(k, n); err != nil {
		return Probability{}, err
	}
	return m.end(k, n), nil
}

// Upper returns the upper end of the interval, 1 for k ≥ n−1. It is rounded outwards, with the same errors.
func (m *Mixture) Upper(k, n int) (Probability, error) {
	if err := checkCount(k, n); err != nil {
		return Probability{}, err
	}
	mirror := m.end(n-k, n)
	return Probability{P: mirror.Q, Q: mirror.P}, nil
}

// end is the p below k/n at which 1/M(p) is α(1−10⁻⁶), rounded outwards.
func (m *Mixture) end(k, n int) Probability {
	if k <= 1 { // M is at most r/(r+n−1) at 0 after one hit
		return Probability{P: 0, Q: 1}
	}
	kf, nf, r := float64(k), float64(n), m.strength
	all := logRising(nf, r)
	// The exponent of the wealth is n·KL(k/n, p) about ln 1/α + ln √(n/r); that distance in a
	// normal approximation is a fair start.
	return solve(m.alpha*(1-mixtureSlack), firstGuess(kf, nf-kf+1, m.alpha/math.Sqrt(1+nf/r)), func(at split) tail {
		mass, err := logMass(kf, nf, at)
		t := tail{log: mass - logRising(kf, r*at.p) - logRising(nf-kf, r*at.q) + all, err: err + massError}
		t.slope = lead(kf, nf-1, at) - r*at.p*at.q*(harmonic(kf, r*at.p)-harmonic(nf-kf, r*at.q))
		if t.slope <= 0 { // beyond the largest: no p there is an end
			return tail{log: math.Inf(1), slope: 1}
		}
		t.lead = t.slope - nf*at.p*at.q/t.slope
		return t
	})
}

// massError bounds the absolute error of ln M, but for the binomial probability's.
const massError = 1e-11

// logRising is ln A(x; c) = ln Γ(x+c)/(Γ(c)·x!) of c > 0 and a whole x ≥ 0. From 64 on it is by
// Stirling's series, arranged so that nothing large cancels; what is left out is below 10⁻¹⁹.
func logRising(x, c float64) float64 {
	const direct = 64
	if x < direct {
		a := 1.0
		for j := 1.0; j <= x; j++ {
			a *= (j - 1 + c) / j
		}
		return math.Log(a)
	}
	g, _ := math.Lgamma(c)
	return (x+0.5)*math.Log1p((c-1)/(x+1)) + (c-1)*(math.Log(x+c)-1) + stirlingSeries(x+c) - stirlingSeries(x+1) - g
}

// stirlingSeries is ln Γ(y) − (y−½)·ln y + y − ½·ln 2π.
func stirlingSeries(y float64) float64 {
	r := 1 / (y * y)
	return (1./12 - r*(1./360-r*(1./1260-r/1680))) / y
}

// harmonic is Σ_{j<x} 1/(c+j), the derivative of logRising with respect to c.
func harmonic(x, c float64) float64 {
	if x == 0 {
		return 0
	}
	return mathext.Digamma(x+c) - mathext.Digamma(c)
}
