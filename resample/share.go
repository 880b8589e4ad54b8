package resample

import (
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Share returns the exact two-sided interval of Clopper and Pearson (1934) for a probability, from hits of n trials.
// Where a statistic is a share of independent units, use it instead of a bootstrap, which is too narrow near 0 and 1.
//
// Errors: hits outside 0 to n, n < 1, a confidence outside (0, 1), as *OptionError.
func Share(hits, n int, confidence float64) (Interval, error) {
	switch {
	case n < 1 || hits < 0 || hits > n:
		return Interval{}, optionErrorf("%d hits of %d, want 0 to n of at least 1", hits, n)
	case !(confidence > 0 && confidence < 1):
		return Interval{}, optionErrorf("confidence %v, want a number in (0, 1)", confidence)
	}
	i, tail := Interval{0, 1}, (1-confidence)/2
	if hits > 0 {
		i.Low = mathext.InvRegIncBeta(float64(hits), float64(n-hits+1), tail)
	}
	if hits < n {
		i.High = mathext.InvRegIncBeta(float64(hits+1), float64(n-hits), 1-tail)
	}
	return i, nil
}

// pValue is the two-sided p-value of the hypothesis that a statistic is null, from its values in
// resamples: twice the smaller of the shares of resamples on either side of null, each with one
// added to both parts (Davison and Hinkley 1997, (4.11)), at most 1.
func pValue(resamples []float64, null float64) float64 {
	low, high := 1, 1
	for _, v := range resamples {
		if v <= null {
			low++
		}
		if v >= null {
			high++
		}
	}
	return min(1, 2*float64(min(low, high))/float64(len(resamples)+1))
}

// Holm corrects the p-values of many claims (Holm 1979). If all claims whose corrected value is at most α are made, the
// probability that one of them is false is at most α, however they depend on each other.
//
// Errors: a value outside [0, 1], as *OptionError.
func Holm(p []float64) ([]float64, error) {
	order := make([]int, len(p))
	for i, v := range p {
		if !(v >= 0 && v <= 1) {
			return nil, optionErrorf("p-value %v, want a number in [0, 1]", v)
		}
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case p[i] < p[j]:
			return -1
		case p[i] > p[j]:
			return 1
		}
		return 0
	})
	corrected, largest := make([]float64, len(p)), 0.
	for rank, i := range order {
		largest = max(largest, min(1, float64(len(p)-rank)*p[i]))
		corrected[i] = largest
	}
	return corrected, nil
}
