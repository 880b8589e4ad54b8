package bound

import "fmt"

// DKW bounds a distribution function F at all points at once from the empirical one F_n of n independent
// values, with the failure probability Alpha ≤ ½:
//
//	P[sup_x (F_n(x) − F(x)) > ε] ≤ exp(−2nε²)   where the right side is at most ½
//
// (Dvoretzky, Kiefer and Wolfowitz 1956, with the constant of Massart 1990), and the same for F − F_n. Each
// side costs Alpha; for a band take both at half of it.
type DKW struct{ Alpha float64 }

func (DKW) Name() string { return "Dvoretzky-Kiefer-Wolfowitz" }

func (d DKW) String() string { return fmt.Sprintf("%s at α = %g", d.Name(), d.Alpha) }

// Width returns ε = √(ln(1/α)/2n), rounded up.
//
// Errors: n outside [1, MaxTrials], α outside [1e-280, ½], as *InputError.
func (d DKW) Width(n int) (float64, error) {
	if d.Alpha > 0.5 && d.Alpha < 1 {
		return 0, inputError("alpha", d.Alpha,
			"a failure probability of at most 0.5, the condition of Massart's constant")
	}
	return deviation(n, d.Alpha)
}

// Lower returns F_n(x) − ε, not below 0, rounded down, where k of the n values are at most x. It holds for all x
// together, also for an x chosen after seeing the values.
//
// Errors: those of Width, k outside [0, n], as *InputError.
func (d DKW) Lower(k, n int) (Probability, error) {
	width, err := d.width(k, n)
	if err != nil {
		return Probability{}, err
	}
	return shiftDown(float64(k)/float64(n), width), nil
}

// Upper returns F_n(x) + ε, not above 1, rounded up, as Lower does.
func (d DKW) Upper(k, n int) (Probability, error) {
	width, err := d.width(k, n)
	if err != nil {
		return Probability{}, err
	}
	return shiftUp(float64(k)/float64(n), width), nil
}

func (d DKW) width(k, n int) (float64, error) {
	if err := checkCount(k, n); err != nil {
		return 0, err
	}
	return d.Width(n)
}
