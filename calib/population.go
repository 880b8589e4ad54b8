package calib

import (
	"fmt"
	"math"
)

// InExpectation bounds the calibration error on average over the noise of a run. Each of the attempted images has a
// false radius or interval with probability at most p, and n of them are certified. A false certificate moves the error
// by at most 2/n. So
//
//	U = CCE + 2·p·attempted/n
//
// is at least the largest error that a disturbance can cause, on average over runs weighted by n: E[n·(error − U)] ≤ 0.
// Failures of different images need not be independent. It says nothing about one run; JointCCE does.
//
// Errors: n < 1, attempted < n, p outside (0, 1), as *InputError.
func InExpectation(cce float64, n, attempted int, p float64) (float64, error) {
	switch {
	case n < 1 || attempted < n:
		return 0, inputError("images", fmt.Sprintf("%d certified of %d", n, attempted),
			"at least 1, and no more certified than attempted")
	case !(p > 0 && p < 1):
		return 0, inputError("p", p, "a number between 0 and 1")
	}
	return min(1, (cce+2*p*float64(attempted)/float64(n))*(1+8*unit)), nil
}

// ForPopulation adds to a joint bound on a sample the amount by which the population's calibration error may exceed it.
// With fixed bins and n independent, identically distributed images, that is more than √(2 ln(1/δ)/n) with probability
// at most δ. For replacing an image moves the error by at most 2/n (McDiarmid 1989), and by convexity the error's mean
// is at least the population's. It holds together with the joint claim with probability 1 − δ₁ − δ₂. It does not hold
// where the number of noise samples of an image depends on other images.
//
// Errors: n < 1, delta outside (0, 1), as *InputError.
func ForPopulation(joint float64, n int, delta float64) (float64, error) {
	switch {
	case n < 1:
		return 0, inputError("n", n, "at least 1")
	case !(delta > 0 && delta < 1):
		return 0, inputError("delta", delta, "a number between 0 and 1")
	}
	return min(1, (joint+math.Sqrt(2*math.Log(1/delta)/float64(n)))*(1+8*unit)), nil
}
