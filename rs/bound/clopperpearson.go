package bound

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// slack is the relative amount by which a returned bound undercuts alpha; it pays for an
// alpha that was itself rounded (0.001/8, say) and for a checker's own rounding.
const slack = 1e-9

// window is the width, in the logarithm of the tail, within which a solution is accepted.
const window = 2e-10

// Lower returns the one-sided Clopper-Pearson lower bound on p after k hits in n independent
// trials of probability p: the p that solves
//
//	P[Bin(n, p) ≥ k] = α,
//
// which is 0 for k = 0, α^(1/n) for k = n, and the α quantile of Beta(k, n−k+1) else. It
// holds with probability at least 1−α, whatever p is (Clopper and Pearson 1934).
//
// The result is rounded outwards: both as P and as 1−Q it satisfies P[Bin(n, p) ≥ k] ≤ α(1−10⁻⁹) in exact arithmetic.
// It misses equality by less than a relative 2·10⁻⁹ plus the resolution of a float64.
//
// Errors: n outside [1, MaxTrials], k outside [0, n], α outside [1e-280, 1), as *InputError.
func Lower(k, n int, alpha float64) (Probability, error) {
	if err := checkCount(k, n); err != nil {
		return Probability{}, err
	}
	if err := checkAlpha(alpha); err != nil {
		return Probability{}, err
	}
	return lower(k, n, alpha), nil
}

// Upper returns the one-sided Clopper-Pearson upper bound on p after k hits in n trials: the
// p that solves P[Bin(n, p) ≤ k] = α; 1 for k = n. It is the mirror image of Lower
// (1 − Lower(n−k, n, α)), rounded outwards, with the same errors.
func Upper(k, n int, alpha float64) (Probability, error) {
	if err := checkCount(k, n); err != nil {
		return Probability{}, err
	}
	if err := checkAlpha(alpha); err != nil {
		return Probability{}, err
	}
	mirror := lower(n-k, n, alpha)
	return Probability{P: mirror.Q, Q: mirror.P}, nil
}

// LeastCount returns the least count k of n that certifies anything: Lower(k, n, α) is at least one half. ok is false
// where even k = n certifies nothing. Errors: as of Lower.
func LeastCount(n int, alpha float64) (k int, ok bool, err error) {
	if err := checkTrials(n); err != nil {
		return 0, false, err
	}
	if err := checkAlpha(alpha); err != nil {
		return 0, false, err
	}
	low, high := 0, n+1 // the bound of low is below one half; that of high is not, or high is n+1
	for high-low > 1 {
		middle := low + (high-low)/2
		if lower(middle, n, alpha).P >= 0.5 {
			high = middle
		} else {
			low = middle
		}
	}
	return high, high <= n, nil
}

// lower is Lower for arguments that have been checked.
func lower(k, n int, alpha float64) Probability {
	if k == 0 {
		return Probability{P: 0, Q: 1}
	}
	return solve(alpha, firstGuess(float64(k), float64(n-k+1), alpha), func(at split) tail {
		return upperTail(k, n, at)
	})
}

// solve returns the p, rounded outwards, at which a tail that rises with p is α(1−slack): the tail
// has been found to be at most that, its error included.
func solve(alpha float64, at split, tailAt func(split) tail) Probability {
	limit := math.Log(alpha) + math.Log1p(-slack)
	limit -= 4 * unit * math.Abs(limit)
	for range 100 {
		t := tailAt(at)
		if upper := t.log + t.err; upper <= limit && upper >= limit-window {
			return outward(at)
		}
		at = at.shift(step(t, limit-window/2-t.err))
	}
	// Not met in practice. Walk outwards until the bound holds.
	for at.p > 0 {
		if t := tailAt(at); t.log+t.err <= limit {
			return outward(at)
		}
		at = at.shift(-0.01)
	}
	return Probability{P: 0, Q: 1}
}

// step is Halley's step of ln(p/q) towards the p at which the logarithm of the tail is target.
func step(t tail, target float64) float64 {
	const longest = 10
	newton := (target - t.log) / t.slope
	if damping := 1 + newton*(t.lead-t.slope)/2; damping > 0.5 {
		newton /= damping
	}
	return max(-longest, min(longest, newton))
}

// shift adds d to ln(p/q).
func (s split) shift(d float64) split {
	if e := math.Exp(-math.Abs(d)); d > 0 {
		return ofOdds(s.p, s.q*e)
	} else {
		return ofOdds(s.p*e, s.q)
	}
}

// ofOdds is the split with the odds p : q.
func ofOdds(p, q float64) split {
	if p <= q {
		p /= p + q
		return split{p, 1 - p}
	}
	q /= p + q
	return split{1 - q, q}
}

// outward gives the exact one of the two as it is and rounds the other: P down or Q up.
func outward(at split) Probability {
	if at.p <= at.q {
		return Probability{P: at.p, Q: complementUp(at.p)}
	}
	return Probability{P: complementDown(at.q), Q: at.q}
}

// firstGuess approximates the α quantile of Beta(a, b) (Abramowitz and Stegun, 26.5.22).
func firstGuess(a, b, alpha float64) split {
	y := -mathext.NormalQuantile(alpha)
	ra, rb := 1/(2*a-1), 1/(2*b-1)
	lambda := (y*y - 3) / 6
	h := 2 / (ra + rb)
	w := y*math.Sqrt(h+lambda)/h - (rb-ra)*(lambda+5./6-2/(3*h))
	w = max(-300, min(300, w))
	return ofOdds(a, b*math.Exp(2*w))
}
