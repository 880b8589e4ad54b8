package calib

import (
	"cmp"
	"math"
	"slices"
)

// AdaECE returns the calibration error over bins of (almost) equal count, in [0, 1] (Nguyen and O'Connor 2015; Nixon et
// al. 2019). Samples are ordered by confidence, ties by their index. The order is cut into blocks whose sizes differ by
// at most one; the first N mod bins blocks are the larger ones.
//
// Errors: bins < 1, as *InputError; those of CheckConfidences.
func AdaECE(correct []bool, confidence []float64, bins int) (float64, error) {
	sums, err := blockGaps(correct, confidence, bins)
	if err != nil {
		return 0, err
	}
	total := 0.0
	for _, gap := range sums {
		total += math.Abs(gap)
	}
	return total / float64(len(correct)), nil
}

// AdaECEGaps returns the signed parts of AdaECE, (1/N)·Σ_{i in block} (z_i − c_i), one for each block. Blocks beyond
// the number of samples have 0. AdaECE is the sum of the absolute values.
//
// Errors: those of AdaECE.
func AdaECEGaps(correct []bool, confidence []float64, bins int) ([]float64, error) {
	gaps, err := blockGaps(correct, confidence, bins)
	if err != nil {
		return nil, err
	}
	for k := range gaps {
		gaps[k] /= float64(len(correct))
	}
	return gaps, nil
}

// blockGaps are the sums of z_i − c_i over blocks of almost equal count.
func blockGaps(correct []bool, confidence []float64, bins int) ([]float64, error) {
	if bins < 1 {
		return nil, inputError("bins", bins, "a number of bins of at least 1")
	}
	if err := CheckConfidences(correct, confidence); err != nil {
		return nil, err
	}
	order := make([]int, len(correct))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(confidence[i], confidence[j]), cmp.Compare(i, j))
	})
	n := len(order)
	gaps := make([]float64, bins)
	for k := range min(bins, n) {
		size := n / bins
		if k < n%bins {
			size++
		}
		for _, i := range order[:size] {
			gaps[k] += confidence[i] - float64(bit(correct[i]))
		}
		order = order[size:]
	}
	return gaps, nil
}
