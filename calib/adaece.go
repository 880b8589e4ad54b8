package calib

import (
	"cmp"
	"math"
	"slices"
)

// AdaECE returns the calibration error over bins of (almost) equal count (Nguyen and O'Connor 2015; Nixon et
// al. 2019): samples are ordered by confidence, ties by their index, and the order is cut into blocks whose
// sizes differ by at most one, the first N mod bins blocks being the larger. It is in [0, 1].
//
// Errors: bins < 1, as *InputError; those of CheckConfidences.
func AdaECE(correct []bool, confidence []float64, bins int) (float64, error) {
	if bins < 1 {
		return 0, inputError("bins", bins, "a number of bins of at least 1")
	}
	if err := CheckConfidences(correct, confidence); err != nil {
		return 0, err
	}
	order := make([]int, len(correct))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(confidence[i], confidence[j]), cmp.Compare(i, j))
	})
	n := len(order)
	total := 0.0
	for k := range min(bins, n) {
		size := n / bins
		if k < n%bins {
			size++
		}
		gap := 0.0
		for _, i := range order[:size] {
			gap += confidence[i] - float64(bit(correct[i]))
		}
		order = order[size:]
		total += math.Abs(gap)
	}
	return total / float64(n), nil
}
