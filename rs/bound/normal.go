package bound

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// margin is the relative amount by which quantiles, radii and p-values are moved outwards.
// It exceeds the error of the functions they are computed with (about 1e-15) many times over.
const margin = 1e-9

// Quantile returns a value at or below Φ⁻¹(p), the standard normal quantile, and within a
// relative 2·10⁻⁹ of it. It works from the smaller of p.P and p.Q, so that a p close to one
// loses no digits (Wichura 1988, AS 241). It is −Inf for P = 0 and P too small for a normal
// float64; a Q too small for one is taken as the smallest.
//
// Errors: a p that is not a probability below 1 with its complement, as *InputError.
func Quantile(p Probability) (float64, error) {
	if !(p.P >= 0 && p.P <= 1 && p.Q > 0 && p.Q <= 1 && math.Abs(p.P+p.Q-1) <= 1e-15) {
		return 0, inputError("probability", fmt.Sprintf("{P: %g, Q: %g}", p.P, p.Q),
			"P in [0, 1], Q in (0, 1] and P+Q = 1")
	}
	const smallestNormal = 0x1p-1022
	switch {
	case p.P < smallestNormal:
		return math.Inf(-1), nil
	case p.P < 0.5:
		return mathext.NormalQuantile(p.P) * (1 + margin), nil
	case p.Q >= 0.5:
		return 0, nil
	}
	return -mathext.NormalQuantile(max(p.Q, smallestNormal)) * (1 - margin), nil
}

// Radius returns the radius of the ball in L2 norm on which the smoothed classifier keeps its class,
//
//	R = σ·Φ⁻¹(p),
//
// rounded down. Here p is a lower bound on the probability of that class under noise of standard deviation σ. It is
// theorem 1 of Cohen, Rosenfeld and Kolter 2019, with 1−p as the bound on all other classes together. R has the unit of
// σ. It is 0 where p.P < ½: abstain.
//
// Errors: σ not positive or not finite, and those of Quantile, as *InputError.
func Radius(sigma float64, p Probability) (float64, error) {
	if err := checkSigma(sigma); err != nil {
		return 0, err
	}
	z, err := Quantile(p)
	if err != nil || z <= 0 {
		return 0, err
	}
	return sigma * z, nil // the margin of z pays for the rounding
}

func checkSigma(sigma float64) error {
	if !(sigma > 0) || math.IsInf(sigma, 0) {
		return inputError("sigma", sigma, "a finite standard deviation above 0")
	}
	return nil
}
