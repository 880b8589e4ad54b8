// Package calib measures the calibration of confidences, and bounds how wrong they can become.
//
//	bins, err := calib.Uniform(15, calib.LeftClosed)
//	ece, err := calib.ECE(correct, confidence, bins)                      // on clean inputs
//	worst, err := calib.ExactCCE(correct, lower, upper, []float64{0, 1}) // within certified intervals, in one bin
//
// A sample has a confidence z in [0, 1] and a correctness c, 1 or 0. A certificate can confine each confidence to an
// interval [l, u]; package confidence makes such intervals. In the order of use:
//
//   - [ReadCSV] reads samples from a file; [Uniform] and [NewBins] make [Bins].
//   - [ECE], [AdaECE], [SmoothECE] and [Brier] say how far confidence and correctness are apart on clean inputs;
//     [Measure] computes them and others, [Reliability] the bars of a diagram.
//   - [CertifiedBrier] and [ExactCCE] are the largest Brier score and the largest expected calibration error that
//     confidences inside the intervals can have; [Summarize] has both.
//   - [Claim] says with which probability these hold, for the images and for the population.
//   - [FitRecalibration] fits a map of confidences.
//
// Package mip holds the mixed-integer program of ExactCCE, and the searches that others use for it.
//
// Source of the certified quantities: Emde, Pinto, Lukasiewicz, Torr and Bibi, "Towards Certification of Uncertainty
// Calibration under Adversarial Attacks", ICLR 2025. The exact solution of their program is ours.
//
// All arithmetic is in float64. Bounds are rounded outwards; metrics are not.
package calib

import (
	"errors"
	"fmt"
)

// ErrNoSamples says that a metric was asked of nothing.
var ErrNoSamples = errors.New("calib: no certified samples")

// InputError reports an argument outside its range.
type InputError struct {
	Argument string // name of the argument, with its index, e.g. "lower[17]"
	Value    string // the offending value
	Expected string // what was expected, e.g. "a number in [0, 1]"
}

func (e *InputError) Error() string {
	return fmt.Sprintf("calib: %s is %s, expected %s", e.Argument, e.Value, e.Expected)
}

func inputError[T any](argument string, value T, expected string) error {
	return &InputError{Argument: argument, Value: fmt.Sprint(value), Expected: expected}
}

func valueError(argument string, i int, value float64) error {
	return inputError(fmt.Sprintf("%s[%d]", argument, i), value, "a number in [0, 1]")
}

// checkLengths compares the number of values of an argument with that of correct.
func checkLengths(correct []bool, argument string, values []float64) error {
	if len(values) != len(correct) {
		return inputError("len("+argument+")", len(values), fmt.Sprintf("len(correct) = %d", len(correct)))
	}
	return nil
}

// CheckConfidences reports the first fault in a set of samples: unequal lengths, none at all (ErrNoSamples),
// or a confidence that is not a number in [0, 1] (*InputError).
func CheckConfidences(correct []bool, confidence []float64) error {
	if err := checkLengths(correct, "confidence", confidence); err != nil {
		return err
	}
	if len(correct) == 0 {
		return ErrNoSamples
	}
	for i, z := range confidence {
		if !(z >= 0 && z <= 1) {
			return valueError("confidence", i, z)
		}
	}
	return nil
}

// CheckIntervals reports the first fault in a set of samples with intervals: unequal lengths, none at all
// (ErrNoSamples), or an interval that does not satisfy 0 ≤ lower ≤ upper ≤ 1 (*InputError).
func CheckIntervals(correct []bool, lower, upper []float64) error {
	if err := errors.Join(checkLengths(correct, "lower", lower), checkLengths(correct, "upper", upper)); err != nil {
		return err
	}
	if len(correct) == 0 {
		return ErrNoSamples
	}
	for i, l := range lower {
		if u := upper[i]; !(l >= 0 && l <= u && u <= 1) {
			return intervalError(i, l, u)
		}
	}
	return nil
}

// intervalError says what is wrong with an interval.
func intervalError(i int, l, u float64) error {
	switch {
	case !(l >= 0 && l <= 1):
		return valueError("lower", i, l)
	case !(u >= 0 && u <= 1):
		return valueError("upper", i, u)
	}
	return inputError(fmt.Sprintf("lower[%d]", i), l, fmt.Sprintf("at most upper[%d] = %v", i, u))
}
