package bound

import "math"

// TopTwoPValue returns the p-value of the two-sided exact binomial test of probability one
// half on the two largest class counts, first ≥ second ≥ 0: with N = first+second,
//
//	min(1, 2·P[Bin(N, ½) ≥ first]),  and 1 where first = second,
//
// rounded up by a relative 10⁻⁹. Prediction under noise abstains where it exceeds α (Hung and
// Fithian 2019; Cohen, Rosenfeld and Kolter 2019, PREDICT).
//
// Errors: second < 0, first < second, N outside [1, MaxTrials], as *InputError.
func TopTwoPValue(first, second int) (float64, error) {
	if second < 0 {
		return 0, inputError("second", second, "a count of at least 0")
	}
	if first < second {
		return 0, inputError("first", first, "the larger of the two counts")
	}
	if first > MaxTrials || second > MaxTrials {
		return 0, inputError("first", first, "a count of at most MaxTrials")
	}
	n := first + second
	if err := checkTrials(n); err != nil {
		return 0, err
	}
	if first == second {
		return 1, nil
	}
	t := upperTail(first, n, split{0.5, 0.5})
	return math.Min(1, 2*math.Exp(t.log+t.err)*(1+margin)), nil
}
