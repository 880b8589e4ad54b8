package bound

import (
	"math"
	"strconv"
)

// Decimals is the number of decimals of a published lower bound. A float64 holds any such number below 1 so
// that it prints as the same digits again.
const Decimals = 15

const decimalOne = 1e15 // 10^Decimals

// Certificate returns the two numbers that are published for a lower bound p under noise of standard deviation σ. One
// is the bound, rounded down to Decimals decimals. The other is the radius that follows from the rounded bound
// (Radius), rounded down to 9 significant digits; 0 where the bound is below ½.
//
// Errors: as Radius.
func Certificate(sigma float64, p Probability) (lower, radius float64, err error) {
	if _, err := Radius(sigma, p); err != nil {
		return 0, 0, err
	}
	lower = p.Down()
	if lower < 0.5 {
		return lower, 0, nil
	}
	exact, err := Radius(sigma, Probability{P: lower, Q: decimalsUp(p.Q)})
	if err != nil {
		return 0, 0, err
	}
	return lower, roundDown(exact), nil
}

// Down is p rounded down to Decimals decimals.
func (p Probability) Down() float64 { return (decimalOne - unitsUp(p.Q)) / decimalOne }

// Up is p rounded up to Decimals decimals.
func (p Probability) Up() float64 { return decimalsUp(p.P) }

func decimalsUp(x float64) float64 { return unitsUp(x) / decimalOne }

// unitsUp is x in units of the last decimal, rounded up.
func unitsUp(x float64) float64 { return min(decimalOne, math.Ceil(x*decimalOne*(1+0x1p-50))) }

// roundDown cuts a finite number that is not negative to 9 significant digits.
func roundDown(v float64) float64 {
	const digits = 9
	// The exact decimal value needs more digits than these 40 only far behind the cut.
	text := strconv.FormatFloat(v, 'e', 40, 64) // d.ddd…e±dd
	cut, err := strconv.ParseFloat(text[:digits+1]+text[len("0.")+40:], 64)
	if err != nil {
		panic("bound: " + err.Error())
	}
	return cut
}
