// Package predictionset computes what sets of classes that hold the label need: the level that
// noise asks for, the threshold of split conformal prediction, and the range of the coverage.
package predictionset

import (
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/internal/portable"
)

// RobustLevel returns the share β of the calibration images that a prediction set must hold for clean images. The set
// then holds the label with probability at least 1 − miscoverage at any point within a radius:
//
//	β = Φ(Φ⁻¹(1 − miscoverage) + radius/σ),
//
// rounded up by 10⁻¹². Set and threshold come from one noise sample of standard deviation sigma for each image.
// docs/prediction-sets.md derives it.
//
// Errors: miscoverage outside (0, 1), a radius that is negative or not finite, sigma that is not positive, as
// *calib.InputError.
func RobustLevel(miscoverage, radius, sigma float64) (float64, error) {
	switch {
	case !(miscoverage > 0 && miscoverage < 1):
		return 0, invalid("miscoverage", miscoverage, "a number between 0 and 1")
	case !(radius >= 0) || math.IsInf(radius, 0):
		return 0, invalid("radius", radius, "a number of at least 0")
	case !(sigma > 0) || math.IsInf(sigma, 0):
		return 0, invalid("sigma", sigma, "a positive number")
	}
	if radius == 0 {
		return 1 - miscoverage, nil
	}
	return min(1, portable.NormalCDF(portable.NormalQuantile(1-miscoverage)+radius/sigma)+1e-12), nil
}

// LeastCalibration returns the least number of calibration images at which a threshold of level β is finite: the least
// n ≥ β/(1−β). It is 0 where no number that an int holds is enough.
func LeastCalibration(level float64) int {
	if n := math.Ceil(level/(1-level) - 1e-9); n < 1<<52 {
		return max(1, int(n))
	}
	return 0
}

// Threshold returns the threshold of split conformal prediction: the ⌈(n+1)β⌉-th smallest of the n scores of the
// calibration images' labels (large is strange). Where n is below LeastCalibration it is +Inf, so that every class is
// in every set. A score that is NaN counts as +Inf. A set has the classes whose score is at most the threshold.
//
// Errors: no scores, a level outside (0, 1], as *calib.InputError.
func Threshold(scores []float64, level float64) (float64, error) {
	if len(scores) == 0 {
		return 0, invalid("scores", 0, "at least one")
	}
	if !(level > 0 && level <= 1) {
		return 0, invalid("level", level, "a number in (0, 1]")
	}
	place := int(math.Ceil(float64(len(scores)+1)*level - 1e-9))
	if place > len(scores) {
		return math.Inf(1), nil
	}
	sorted := slices.Clone(scores)
	for i, s := range sorted {
		if math.IsNaN(s) {
			sorted[i] = math.Inf(1)
		}
	}
	slices.Sort(sorted)
	return sorted[max(place, 1)-1], nil
}

// CoverageRange returns the central range of the number of m test images whose set holds the label, with at least the
// given confidence. Calibration and test images must be exchangeable, and scores without ties: then the number is
// beta-binomial with parameters k = ⌈(n+1)β⌉ and n + 1 − k (Vovk 2012). If every set has all classes it is [m, m].
//
// Errors: n or m below 1, a level or confidence outside (0, 1), as *calib.InputError.
func CoverageRange(n, m int, level, confidence float64) (low, high int, err error) {
	if n < 1 || m < 1 {
		return 0, 0, invalid("images", fmt.Sprintf("%d and %d", n, m),
			"at least one to calibrate and one to test on")
	}
	if !(level > 0 && level <= 1 && confidence > 0 && confidence < 1) {
		return 0, 0, invalid("level", fmt.Sprintf("%v, confidence %v", level, confidence), "numbers between 0 and 1")
	}
	k := int(math.Ceil(float64(n+1)*level - 1e-9))
	if k > n {
		return m, m, nil
	}
	a, b := float64(k), float64(n+1-k)
	lg := func(x float64) float64 { v, _ := math.Lgamma(x); return v }
	tail := (1 - confidence) / 2
	below := 0.0
	low, high = -1, m
	for c := range m + 1 {
		x, y := float64(c), float64(m-c)
		below += math.Exp(lg(float64(m+1)) - lg(x+1) - lg(y+1) + lg(x+a) + lg(y+b) - lg(float64(m)+a+b) +
			lg(a+b) - lg(a) - lg(b))
		if low < 0 && below > tail {
			low = c
		}
		if below >= 1-tail {
			high = c
			break
		}
	}
	return max(low, 0), high, nil
}

// invalid is the error of an argument out of its range.
func invalid[T any](argument string, value T, expected string) error {
	return &calib.InputError{Argument: argument, Value: fmt.Sprint(value), Expected: expected}
}
