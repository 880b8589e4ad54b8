package calib

import (
	"math"
	"slices"
)

// mce returns the maximum calibration error max_m |mean confidence − accuracy| over the bins that hold samples, in [0,
// 1] (Naeini, Cooper and Hauskrecht 2015). A bin of few samples decides it as easily as one of many.
//
// Errors: those of CheckConfidences.
func mce(correct []bool, confidence []float64, bins *Bins) (float64, error) {
	bars, err := Reliability(correct, confidence, bins)
	if err != nil {
		return 0, err
	}
	largest := 0.0
	for _, b := range bars {
		largest = math.Max(largest, math.Abs(b.Gap))
	}
	return largest, nil
}

// debiasedECE returns the debiased root-mean-square calibration error over bins, in [0, 1] (Kumar, Liang and Ma 2019,
// definition 5.1; Bröcker 2012; Ferro and Fricker 2012),
//
//	√ max(0, Σ_m n_m/N · [(z̄_m − c̄_m)² − c̄_m(1 − c̄_m)/(n_m − 1)]),
//
// where z̄ and c̄ are the mean confidence and the accuracy of the n_m samples of bin m. The subtrahend is the
// part that chance adds to a square. For confidences that are constant in each bin, the sum under the root is
// right on average; the plain error's is too large. Bins of one sample add 0. It averages squares, so it
// is not below the ECE by itself.
//
// Errors: those of CheckConfidences.
func debiasedECE(correct []bool, confidence []float64, bins *Bins) (float64, error) {
	square, err := debiasedSquare(correct, confidence, bins)
	return math.Sqrt(math.Max(0, square)), err
}

// debiasedSquare is the sum under the root of debiasedECE.
func debiasedSquare(correct []bool, confidence []float64, bins *Bins) (float64, error) {
	bars, err := Reliability(correct, confidence, bins)
	if err != nil {
		return 0, err
	}
	total := 0.0
	for _, b := range bars {
		if b.Count > 1 {
			total += float64(b.Count) * (b.Gap*b.Gap - b.Accuracy*(1-b.Accuracy)/float64(b.Count-1))
		}
	}
	return total / float64(len(correct)), nil
}

// adaECEQuantile returns the calibration error over bins between quantiles of the confidences, in [0, 1] (Mukhoti et
// al. 2020). With the confidences in order, z_(0) ≤ … ≤ z_(N−1), the edges are z at the places kN/bins, k = 0 … bins,
// linear between places. A bin is (a, b]; the lowest one holds its lower edge, too, where the authors' program leaves
// samples out. Samples of equal confidence share a bin, where AdaECE parts them. So a model that is often certain has
// fewer, larger bins.
//
// Errors: bins < 1, as *InputError; those of CheckConfidences.
func adaECEQuantile(correct []bool, confidence []float64, bins int) (float64, error) {
	gaps, err := quantileGaps(correct, confidence, bins)
	total := 0.0
	for _, g := range gaps {
		total += math.Abs(g)
	}
	return total / max(1, float64(len(correct))), err
}

// quantileGaps are the sums of z_i − c_i over bins between quantiles.
func quantileGaps(correct []bool, confidence []float64, bins int) ([]float64, error) {
	if bins < 1 {
		return nil, inputError("bins", bins, "a number of bins of at least 1")
	}
	if err := CheckConfidences(correct, confidence); err != nil {
		return nil, err
	}
	z := slices.Sorted(slices.Values(confidence))
	n := len(z)
	edges := make([]float64, bins) // the upper ones
	for k := range edges {
		place := float64(k+1) * float64(n) / float64(bins)
		below := min(int(place), n-1)
		edges[k] = z[below]
		if below < n-1 {
			edges[k] += (place - float64(below)) * (z[below+1] - z[below])
		}
	}
	edges[bins-1] = z[n-1]
	gaps := make([]float64, bins)
	for i, v := range confidence {
		m, _ := slices.BinarySearch(edges, v) // the first edge that is not below v
		gaps[m] += v - float64(bit(correct[i]))
	}
	return gaps, nil
}

// ConsistencyBand returns for each bar of a reliability diagram the range of its accuracy if confidences are
// calibrated. It holds in all bins at once with probability at least level, given the confidences. A bar outside shows
// that they are not calibrated. Bars without samples get [0, 1].
//
// With calibrated confidences the number of correct samples in a bin is a sum of independent trials of probabilities
// z_i. By theorem 5 of Hoeffding 1956 it lies in a range around its mean at least as likely as the binomial count of
// n_m trials of the mean confidence. The ends are quantiles of that count, with (1 − level)/(2·number of bars with
// samples) on each side. Bröcker and Smith 2007, who introduced the band, draw it by resampling, for one bin at a time.
//
// Errors: a level outside (0, 1), as *InputError.
func ConsistencyBand(bars []Bin, level float64) ([]Bounds, error) {
	if !(level > 0 && level < 1) {
		return nil, inputError("level", level, "a level in (0, 1)")
	}
	filled := 0
	for _, b := range bars {
		filled += int(bit(b.Count > 0))
	}
	band := make([]Bounds, len(bars))
	for m, b := range bars {
		if band[m].Upper = 1; b.Count == 0 {
			continue
		}
		n, p, tail := float64(b.Count), math.Min(1, b.Confidence), (1-level)/float64(2*filled)
		if p == 0 || p == 1 { // no chance
			band[m] = Bounds{p, p}
			continue
		}
		most, err := FailuresAtMost(b.Count, p, tail)
		if err != nil {
			return nil, err
		}
		missed, err := FailuresAtMost(b.Count, 1-p, tail)
		if err != nil {
			return nil, err
		}
		// The theorem wants the mean inside.
		band[m] = Bounds{math.Min(n-float64(missed), math.Floor(n*p)) / n, math.Max(float64(most), math.Ceil(n*p)) / n}
	}
	return band, nil
}
