package confidence

import (
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/calib"
)

// NewDistribution counts scores at thresholds. A score that is NaN is one that is not known.
//
// Errors: no scores, a score outside [0, 1], thresholds that do not increase from 0 to 1, as *InputError.
func NewDistribution(scores, thresholds []float64) (*Distribution, error) {
	sorted, unknown, err := sortScores(scores)
	if err != nil {
		return nil, err
	}
	d := &Distribution{N: len(scores), Thresholds: slices.Clone(thresholds)}
	for j, s := range thresholds {
		atLeast, _ := slices.BinarySearch(sorted, s)
		above, _ := slices.BinarySearch(sorted, math.Nextafter(s, 2))
		d.AtLeast = append(d.AtLeast, len(sorted)-atLeast)
		d.Above = append(d.Above, len(sorted)-above+unknown)
		if j == 0 {
			d.AtLeast[0] += unknown
		}
	}
	return d, d.Check()
}

// sortScores returns the known scores in ascending order, and the number of the others.
func sortScores(scores []float64) (sorted []float64, unknown int, err error) {
	if len(scores) == 0 {
		return nil, 0, inputError("len(scores)", 0, "at least 1 score")
	}
	for i, h := range scores {
		switch {
		case math.IsNaN(h):
			unknown++
		case h >= 0 && h <= 1:
			sorted = append(sorted, h)
		default:
			return nil, 0, inputError(fmt.Sprintf("scores[%d]", i), h, "a number in [0, 1]")
		}
	}
	slices.Sort(sorted)
	return sorted, unknown, nil
}

// OrderStatistics returns thresholds for NewDistribution: 0, every step-th of the sorted scores, and 1. With
// step 1 nothing is lost; published code takes step ⌈n/10000⌉.
//
// Errors: those of the scores; step < 1; as *InputError.
func OrderStatistics(scores []float64, step int) ([]float64, error) {
	if step < 1 {
		return nil, inputError("step", step, "at least 1")
	}
	sorted, _, err := sortScores(scores)
	if err != nil {
		return nil, err
	}
	thresholds := []float64{0}
	for i := 0; i < len(sorted); i += step {
		thresholds = append(thresholds, sorted[i])
	}
	thresholds = append(thresholds, 1)
	slices.Sort(thresholds)
	return slices.Compact(thresholds), nil
}

// Mean returns bounds on the mean of scores of which those that are NaN are not known.
//
// Errors: those of the scores, as *InputError.
func Mean(scores []float64) (calib.Bounds, error) {
	sorted, unknown, err := sortScores(scores)
	if err != nil {
		return calib.Bounds{}, err
	}
	low := 0.0
	for _, h := range sorted {
		low += h
	}
	// A sum of n terms has a relative error of less than n·2⁻⁵³.
	n := float64(len(scores))
	slack := (n + 4) * 0x1p-52
	high := (low + float64(unknown)) / n * (1 + slack)
	return calib.Bounds{Lower: low / n * (1 - slack), Upper: math.Min(1, high)}, nil
}
