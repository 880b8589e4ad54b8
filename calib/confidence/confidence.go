// Package confidence certifies the confidence of a smoothed classifier. It takes the scores h_1 … h_n in [0, 1] that
// the model gives one class under Gaussian noise of standard deviation σ. It bounds the mean score at every point
// within a distance R in L2 norm. Standard uses the mean of the scores, CDF their distribution, which is never looser
// by more than a gap between thresholds.
//
// Both rest on the Gaussian shift sh(p, t) = Φ(Φ⁻¹(p) + t): an event of probability p has at a distance R a probability
// in [sh(p, −R/σ), sh(p, +R/σ)]. Sources: Cohen, Rosenfeld and Kolter 2019; Salman et al. 2019; for the distribution,
// Kumar, Levine, Feizi and Goldstein 2020; together, Emde et al. 2025, equations 12 and 13.
//
// Bounds are rounded outwards. All functions are pure: of counts, sums and settings.
package confidence

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/certspec/certspec/calib"
)

// InputError reports an argument outside its range.
type InputError struct {
	Argument string
	Value    string
	Expected string
}

func (e *InputError) Error() string {
	return fmt.Sprintf("confidence: %s is %s, expected %s", e.Argument, e.Value, e.Expected)
}

func inputError[T any](argument string, value T, expected string) error {
	return &InputError{Argument: argument, Value: fmt.Sprint(value), Expected: expected}
}

// margin is the relative amount by which computed values are moved outwards. It exceeds the error of what they
// are computed with (some 1e-15; in the tails of Φ, some 1e-13) many times over.
const margin = 1e-12

// HalfWidth returns the half-width of the two-sided confidence band of n independent scores in [0, 1],
//
//	ε = √(ln(2/α) / 2n),
//
// rounded up. With probability 1−α the mean of the scores is within ε of its expectation (Hoeffding 1963). Likewise the
// empirical distribution function is everywhere within ε of the true one (Dvoretzky, Kiefer and Wolfowitz 1956,
// constant of Massart 1990).
//
// Errors: n < 1, α outside (0, 1), as *InputError.
func HalfWidth(n int, alpha float64) (float64, error) {
	if n < 1 {
		return 0, inputError("n", n, "at least 1 score")
	}
	if !(alpha > 0 && alpha < 1) {
		return 0, inputError("alpha", alpha, "a failure probability in (0, 1)")
	}
	return math.Sqrt((math.Ln2-math.Log(alpha))/(2*float64(n))) * (1 + margin), nil
}

func checkShift(t float64) error {
	if !(t >= 0) || math.IsInf(t, 0) {
		return inputError("shift", t, "a finite number R/σ of at least 0")
	}
	return nil
}

// quantile is Φ⁻¹(p), rounded down.
func quantile(p float64) float64 {
	switch {
	case p < 0x1p-1022: // nothing certifies less than the smallest normal number
		return math.Inf(-1)
	case p >= 1:
		return math.Inf(1)
	}
	x := mathext.NormalQuantile(p)
	return x - math.Abs(x)*margin/8
}

// shiftedTail is Φ(x − t), rounded down.
func shiftedTail(x, t float64) float64 {
	switch {
	case math.IsInf(x, 1):
		return 1
	case math.IsInf(x, -1):
		return 0
	}
	x -= t
	x -= math.Abs(x) * margin / 8
	return math.Erfc(-x/math.Sqrt2) / 2 * (1 - margin)
}

// down returns the largest float64 below x, up the smallest above it, within [0, 1].
func down(x float64) float64 { return math.Max(0, math.Nextafter(x, -1)) }
func up(x float64) float64   { return math.Min(1, math.Nextafter(x, 2)) }

// less returns max(0, p − ε), rounded down.
func less(p, halfWidth float64) float64 {
	if halfWidth == 0 {
		return p
	}
	return down(p - halfWidth)
}

// complement returns 1 − p, rounded down.
func complement(p float64) float64 {
	q := 1 - p
	if 1-q < p {
		q = down(q)
	}
	return q
}

// Standard returns the certificate on the mean score within a shift t = R/σ (Emde et al. 2025, equation 12),
//
//	l = sh(max(0, m − ε), −t),  u = sh(min(1, M + ε), +t),
//
// from bounds m ≤ M on the mean of the observed scores, which may have been rounded or have missing values, and
// the half-width ε of their band.
//
// Errors: m, M not ordered in [0, 1]; ε or t negative or not finite; as *InputError.
func Standard(low, high, halfWidth, t float64) (calib.Bounds, error) {
	if !(low >= 0 && low <= high && high <= 1) {
		return calib.Bounds{}, inputError("mean", fmt.Sprintf("[%v, %v]", low, high), "bounds in order, in [0, 1]")
	}
	if err := checkBand(halfWidth, t); err != nil {
		return calib.Bounds{}, err
	}
	// sh(p, +t) = 1 − sh(1−p, −t).
	l := shiftedTail(quantile(less(low, halfWidth)), t)
	u := 1 - shiftedTail(quantile(less(complement(high), halfWidth)), t)
	return calib.Bounds{Lower: l, Upper: up(u)}, nil
}

func checkBand(halfWidth, t float64) error {
	if !(halfWidth >= 0) || math.IsInf(halfWidth, 0) {
		return inputError("half-width", halfWidth, "a finite number of at least 0")
	}
	return checkShift(t)
}

// OfTop turns the interval of the confidence in a fixed class into one of the largest of all classes' mean
// scores, where these add up to 1:
//
//	l = max(l, 1/K),  u = max(u, 1−l).
//
// Errors: an interval that is not in order in [0, 1]; fewer than 2 classes; as *InputError.
func OfTop(i calib.Bounds, classes int) (calib.Bounds, error) {
	if !(i.Lower >= 0 && i.Lower <= i.Upper && i.Upper <= 1) {
		return calib.Bounds{}, inputError("interval", fmt.Sprintf("[%v, %v]", i.Lower, i.Upper),
			"bounds in order, in [0, 1]")
	}
	if classes < 2 {
		return calib.Bounds{}, inputError("classes", classes, "at least 2")
	}
	if i.Lower >= .5 { // then 1/K ≤ l and 1−l ≤ u
		return i, nil
	}
	return calib.Bounds{
		Lower: math.Max(i.Lower, down(1/float64(classes))),
		Upper: math.Max(i.Upper, up(1-i.Lower)),
	}, nil
}
