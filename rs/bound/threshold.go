package bound

import (
	"fmt"
	"math/big"
	"strconv"
)

// farthest is a number of standard deviations at which 15 decimals of Φ, rounded up, are 1.
const farthest = 8

// thresholdBits is the precision of Threshold. At 8 standard deviations the terms of its series reach e³² = 2⁴⁷.
const thresholdBits = 320

// Threshold returns the least probability of Decimals decimals that is at or above
//
//	Φ(radius/σ),
//
// the probability from which on a class keeps the radius under noise of standard deviation σ (see Radius). Both
// numbers are taken as the shortest decimals that read as them, so that 0.1/0.1 and 0.25/0.25 are 1.
// P and Q of the result are each rounded once from the decimal number.
//
// Errors: a radius that is negative or so large that the result would be 1 (about 7.94σ), σ not positive or not
// finite, as *InputError.
func Threshold(radius, sigma float64) (Probability, error) {
	if err := checkSigma(sigma); err != nil {
		return Probability{}, err
	}
	outside := inputError("radius", radius,
		fmt.Sprintf("a radius of at least 0 with a Φ(radius/σ) below 1 to %d decimals", Decimals))
	if !(radius >= 0 && radius/sigma < farthest) {
		return Probability{}, outside
	}
	if radius == 0 {
		return Probability{P: 0.5, Q: 0.5}, nil
	}
	phi := bigCDF(new(big.Float).Quo(bigDecimal(radius), bigDecimal(sigma)))
	// What is added is above all errors and below the distance of Φ from a number of 15 decimals.
	phi.Add(phi, bigNumber(0x1p-200))
	digits, _ := phi.Mul(phi, bigNumber(decimalOne)).Int64()
	if digits++; digits >= decimalOne {
		return Probability{}, outside
	}
	return Probability{P: float64(digits) / decimalOne, Q: float64(decimalOne-digits) / decimalOne}, nil
}

// bigCDF is Φ(x) = ½ + x/√(2π)·Σ_j (−x²/2)^j/(j!(2j+1)), for 0 < x < farthest. It overwrites x.
func bigCDF(x *big.Float) *big.Float {
	const pi = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798"
	root, _, err := big.ParseFloat(pi, 10, thresholdBits, big.ToNearestEven)
	if err != nil {
		panic("bound: " + err.Error())
	}
	root.Sqrt(root.Mul(root, bigNumber(2)))
	factor := new(big.Float).Mul(x, x)
	factor.Quo(factor, bigNumber(-2))
	term, sum := bigNumber(1), bigNumber(1)
	for j := 1.0; term.Sign() != 0 && term.MantExp(nil) > -thresholdBits; j++ {
		term.Quo(term.Mul(term, factor), bigNumber(j))
		sum.Add(sum, new(big.Float).Quo(term, bigNumber(2*j+1)))
	}
	return x.Add(x.Mul(x, sum.Quo(sum, root)), bigNumber(0.5))
}

func bigNumber(v float64) *big.Float { return new(big.Float).SetPrec(thresholdBits).SetFloat64(v) }

// bigDecimal is the shortest decimal that reads as v.
func bigDecimal(v float64) *big.Float {
	f, _, err := big.ParseFloat(strconv.FormatFloat(v, 'g', -1, 64), 10, thresholdBits, big.ToNearestEven)
	if err != nil {
		panic("bound: " + err.Error())
	}
	return f
}
