package bound

import "math"

// Mixture is a confidence sequence for the probability p of a hit: bounds on p that hold after every number of trials at once, so that
// whoever looks at the counts may stop, go on, or choose what to sample next by what was seen.
//
// After k hits in n trials the wealth against p is the likelihood of the counts under a Beta(1, b) prior, in units of that under p,
//
//	M(p) = ∫₀¹ u^k (1−u)^(n−k) dBeta(1, b)(u) / (p^k (1−p)^(n−k)) = B(k) / Bin(k; n, p),
//
// with B(k) the beta-binomial and Bin the binomial probability of k hits. With p the true one, M is a non-negative martingale
// that begins at 1, so the probability that it ever reaches 1/α is at most α (Ville 1939; Robbins 1970 for the mixture). The
// p with M(p) < 1/α are an interval around k/n; Lower is its lower end, Upper its upper end, and both hold together.
//
// A small b puts the prior's weight near p = 1, where the largest radii are: after 100,000 trials that all hit, 1−p is 1.17 times that of
// Clopper and Pearson at b = 0.1.
type Mixture struct{ alpha, b float64 }

// NewMixture returns the confidence sequence of level α with the prior Beta(1, b).
//
// Errors: α outside [1e-280, 1), b outside [0.01, 1], as *InputError.
func NewMixture(alpha, b float64) (*Mixture, error) {
	if err := checkAlpha(alpha); err != nil {
		return nil, err
	}
	if !(b >= 0.01 && b <= 1) {
		return nil, inputError("b", b, "a number in [0.01, 1]")
	}
	return &Mixture{alpha, b}, nil
}

// mixtureSlack is the relative amount by which 1/M undercuts α. It is larger than slack, so that a checker may multiply up the
// beta-binomial probability factor by factor.
const mixtureSlack = 1e-6

// Lower returns the lower end of the interval, 0 for k = 0. It is rounded outwards: both as P and as 1−Q it satisfies
// 1/M(p) ≤ α(1−10⁻⁶) in exact arithmetic, and misses equality by less than a relative 2·10⁻⁸ plus the resolution of a float64.
//
// Errors: n outside [1, MaxTrials], k outside [0, n], as *InputError.
func (m *Mixture) Lower(k, n int) (Probability, error) {
	if err := checkCount(k, n); err != nil {
		return Probability{}, err
	}
	return m.end(k, n, m.logMass(k, n)), nil
}

// Upper returns the upper end of the interval, 1 for k = n. It is rounded outwards, with the same errors.
func (m *Mixture) Upper(k, n int) (Probability, error) {
	if err := checkCount(k, n); err != nil {
		return Probability{}, err
	}
	mirror := m.end(n-k, n, m.logMass(k, n)) // the binomial probability of k hits is that of n−k misses
	return Probability{P: mirror.Q, Q: mirror.P}, nil
}

// end is the p below k/n at which Bin(k; n, p) is α(1−10⁻⁶) times the mass e^log, rounded outwards.
func (m *Mixture) end(k, n int, log float64) Probability {
	if k == 0 {
		return Probability{P: 0, Q: 1}
	}
	kf, nf := float64(k), float64(n)
	// The exponent of the wealth is n·KL(k/n, p) about ln 1/α + ln √n; half that distance in a normal approximation is a fair start.
	return solve(m.alpha*(1-mixtureSlack), firstGuess(kf, nf-kf+1, m.alpha/math.Sqrt(nf+10)), func(at split) tail {
		mass, err := logMass(kf, nf, at)
		t := tail{log: mass - log, err: err + massError, slope: lead(kf, nf-1, at)}
		if t.slope <= 0 { // beyond the largest: no p there is an end
			return tail{log: math.Inf(1), slope: 1}
		}
		t.lead = t.slope - nf*at.p*at.q/t.slope
		return t
	})
}

// massError bounds the absolute error of logMass.
const massError = 1e-11

// logMass is ln B(k) = ln [b · Γ(m+b)/Γ(m+1) · Γ(n+1)/Γ(n+1+b)], with m = n−k misses.
func (m *Mixture) logMass(k, n int) float64 {
	return math.Log(m.b) + logGammaRatio(float64(n-k), m.b) - logGammaRatio(float64(n+1), m.b) - math.Log(float64(n+1))
}

// logGammaRatio is ln Γ(x+b)/Γ(x+1) of 0 < b ≤ 1 and a whole x ≥ 0. From 64 on it is the asymptotic series in w = x + b/2, in which
// the even powers vanish, with s = (b−1)/2:
//
//	2s·ln w − (s³ − s/4)/(3w²) − (s⁵ − 5s³/6 + 7s/48)/(10w⁴) − …
//
// (the series of ln Γ(w+c) in Bernoulli polynomials B_j(c), at c = ½ ± s). What is left out is below 10⁻¹².
func logGammaRatio(x, b float64) float64 {
	const direct = 64
	if x < direct {
		g, _ := math.Lgamma(b)
		for j := 0.0; j < x; j++ {
			g += math.Log((b + j) / (1 + j))
		}
		return g
	}
	s, w := (b-1)/2, x+b/2
	return 2*s*math.Log(w) - (s*s*s-s/4)/(3*w*w) - (math.Pow(s, 5)-5*s*s*s/6+7*s/48)/(10*w*w*w*w)
}
