// Package bound holds the bounds on which certificates rest, each rounded outwards.
//
// A lower bound lies at or below the exact bound of real arithmetic, an upper bound at or above it. A radius lies at or
// below the exact radius. Clopper-Pearson bounds are checked against the exact binomial tail, with its evaluation
// error, before they are returned. Counts are at most MaxTrials.
package bound

import (
	"fmt"
	"math"
)

// MaxTrials is the largest number of trials for which the error bounds of this package are derived.
const MaxTrials = 1<<31 - 1

// Probability is a probability p and its complement q = 1−p, each held as its own variable so
// that neither loses digits when it is small. Its two values are rounded in opposite
// directions: of a lower bound, P is rounded down and Q up; of an upper bound, P up and Q down.
type Probability struct {
	P float64 `json:"p"`
	Q float64 `json:"q"`
}

func (p Probability) String() string {
	if p.Q < 0.5 {
		return fmt.Sprintf("1-%.10g", p.Q)
	}
	return fmt.Sprintf("%.10g", p.P)
}

// InputError reports an argument outside its range.
type InputError struct {
	Argument string // name of the argument, e.g. "alpha"
	Value    string // the offending value
	Expected string // what was expected, e.g. "a number in (0, 1)"
}

func (e *InputError) Error() string {
	return fmt.Sprintf("bound: %s is %s, expected %s", e.Argument, e.Value, e.Expected)
}

func inputError[T any](argument string, value T, expected string) error {
	return &InputError{Argument: argument, Value: fmt.Sprint(value), Expected: expected}
}

func checkTrials(n int) error {
	if n < 1 || n > MaxTrials {
		return inputError("n", n, fmt.Sprintf("a number of trials in [1, %d]", MaxTrials))
	}
	return nil
}

func checkCount(k, n int) error {
	if err := checkTrials(n); err != nil {
		return err
	}
	if k < 0 || k > n {
		return inputError("k", k, fmt.Sprintf("a count in [0, n = %d]", n))
	}
	return nil
}

// minAlpha keeps all intermediate values away from subnormal numbers, of which math.Log is
// wrong on some platforms.
const minAlpha = 1e-280

func checkAlpha(alpha float64) error {
	if !(alpha >= minAlpha && alpha < 1) {
		return inputError("alpha", alpha, fmt.Sprintf("a failure probability in (0, 1), not below %g", minAlpha))
	}
	return nil
}

// complementDown returns the largest float64 at or below 1−x, for x in [0, 1].
func complementDown(x float64) float64 {
	c := 1 - x
	if c > 0 && 1-c < x { // c ≥ 1/2 makes 1−c exact; below, 1−x was exact already
		c = math.Nextafter(c, 0)
	}
	return c
}

// complementUp returns the smallest float64 at or above 1−x, for x in [0, 1].
func complementUp(x float64) float64 {
	c := 1 - x
	if 1-c > x {
		c = math.Nextafter(c, 2)
	}
	return c
}
