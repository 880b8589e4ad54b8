package bound

import (
	"fmt"
	"math"
)

// Hoeffding bounds the mean of independent values in [0, 1] from the average of n of them, with the failure probability
// Alpha:
//
//	P[average − mean ≥ ε] ≤ exp(−2nε²)
//
// (Hoeffding 1963, theorem 1). For counts of hits ClopperPearson is tighter; this one holds for any values in [0, 1],
// such as confidences.
type Hoeffding struct{ Alpha float64 }

func (Hoeffding) Name() string { return "Hoeffding" }

func (h Hoeffding) String() string { return fmt.Sprintf("%s at α = %g", h.Name(), h.Alpha) }

// Lower returns average − √(ln(1/α)/2n), not below 0, rounded down. The average may be off by its rounding to a
// float64.
//
// Errors: an average outside [0, 1], n outside [1, MaxTrials], α outside [1e-280, 1), as *InputError.
func (h Hoeffding) Lower(average float64, n int) (Probability, error) {
	width, err := h.width(average, n)
	if err != nil {
		return Probability{}, err
	}
	return shiftDown(average, width), nil
}

// Upper returns average + √(ln(1/α)/2n), not above 1, rounded up, with the errors of Lower.
func (h Hoeffding) Upper(average float64, n int) (Probability, error) {
	width, err := h.width(average, n)
	if err != nil {
		return Probability{}, err
	}
	return shiftUp(average, width), nil
}

func (h Hoeffding) width(average float64, n int) (float64, error) {
	if !(average >= 0 && average <= 1) {
		return 0, inputError("average", average, "an average of values in [0, 1]")
	}
	return deviation(n, h.Alpha)
}

// deviation returns √(ln(1/α)/2n), rounded up by a relative 10⁻⁹, and by what an average in [0, 1]
// may be off that was rounded to a float64.
func deviation(n int, alpha float64) (float64, error) {
	if err := checkTrials(n); err != nil {
		return 0, err
	}
	if err := checkAlpha(alpha); err != nil {
		return 0, err
	}
	return math.Sqrt(-math.Log(alpha)/(2*float64(n)))*(1+margin) + unit, nil
}

// shiftDown returns x − width for x in [0, 1], not below 0, rounded down.
func shiftDown(x, width float64) Probability {
	p := max(0, math.Nextafter(x-width, -1))
	return Probability{P: p, Q: complementUp(p)}
}

// shiftUp returns x + width for x in [0, 1], not above 1, rounded up.
func shiftUp(x, width float64) Probability {
	p := min(1, math.Nextafter(x+width, 2))
	return Probability{P: p, Q: complementDown(p)}
}
