// Package mip holds the mixed-integer program whose optimum is the certified calibration error. Two published searches
// approach it from below: ADMM on a relaxation, and gradient ascent on a differentiable calibration error.
// calib.ExactCCE solves it exactly.
//
// With samples n = 1 … N and bins m = 1 … M of edges L_m < U_m, correctness c_n and intervals [l_n, u_n], the
// program is (Emde et al. 2025, equation 6)
//
//	maximise    Σ_m |Σ_n a_nm (z_nm − c_n)|
//	subject to  a_nm ∈ {0, 1},  Σ_m a_nm = 1,  Σ_m k_nm a_nm = 0,
//	            max(l_n, L_m) ≤ z_nm ≤ min(u_n, U_m) where k_nm = 0,
//
// where k_nm = 1 if the interval of sample n does not meet bin m. Its value divided by N is a calibration
// error. The matrices of the paper have at most N·M entries other than zero and are never built.
package mip

import (
	"errors"
	"fmt"
	"math"

	"github.com/certspec/certspec/calib"
)

// Program is an instance of the program. Its slices are not to be changed.
type Program struct {
	Correct      []bool
	Lower, Upper []float64
	Bins         *calib.Bins
	edges        []float64
	low, high    []int // the bins that the interval of a sample meets, first and last
}

// New returns the program of samples with their intervals, whose slices it keeps.
//
// Errors: those of calib.CheckIntervals.
func New(correct []bool, lower, upper []float64, bins *calib.Bins) (*Program, error) {
	if err := calib.CheckIntervals(correct, lower, upper); err != nil {
		return nil, err
	}
	p := &Program{Correct: correct, Lower: lower, Upper: upper, Bins: bins, edges: bins.Edges()}
	p.low, p.high = make([]int, len(correct)), make([]int, len(correct))
	for i, l := range lower {
		p.low[i], p.high[i] = bins.Index(l), bins.Index(upper[i])
	}
	return p, nil
}

// Value returns the calibration error of an assignment of samples to bins, counted from 0, with confidences
// there. It is not binned again: a confidence may be an open edge of its bin.
//
// Errors: an assignment that is not feasible.
func (p *Program) Value(bin []int, confidence []float64) (float64, error) {
	if len(bin) != len(p.Correct) || len(confidence) != len(p.Correct) {
		return 0, fmt.Errorf("mip: %d bins and %d confidences, expected %d", len(bin), len(confidence), len(p.Correct))
	}
	sums := make([]float64, p.Bins.Len())
	for i, m := range bin {
		z := confidence[i]
		if m < p.low[i] || m > p.high[i] || !(z >= max(p.Lower[i], p.edges[m]) && z <= min(p.Upper[i], p.edges[m+1])) {
			return 0, fmt.Errorf("mip: sample %d has confidence %v in bin %d, which is not feasible", i, z, m)
		}
		sums[m] += z
		if p.Correct[i] {
			sums[m]--
		}
	}
	total := 0.0
	for _, s := range sums {
		total += math.Abs(s)
	}
	return total / float64(len(bin)), nil
}

// Start names the confidences at which a search begins.
type Start string

const (
	Clean    Start = "clean"    // the confidences of undisturbed inputs
	Brier    Start = "brier"    // calib.BrierConfidences
	Middle   Start = "middle"   // of the intervals, where clean confidences are not known
	Gaussian Start = "gaussian" // normal around the middle, clipped to the interval
	Random   Start = "random"   // uniform in the interval
)

// checkClean reports clean confidences that are not inside their intervals. None at all are in order.
func (p *Program) checkClean(clean []float64) error {
	if clean == nil {
		return nil
	}
	if err := calib.CheckConfidences(p.Correct, clean); err != nil {
		return err
	}
	for i, z := range clean {
		if z < p.Lower[i] || z > p.Upper[i] {
			return &calib.InputError{
				Argument: fmt.Sprintf("confidence[%d]", i), Value: fmt.Sprint(z),
				Expected: fmt.Sprintf("a number in its interval [%v, %v]", p.Lower[i], p.Upper[i]),
			}
		}
	}
	return nil
}

// checkStart is checkClean for a search that begins there.
func (p *Program) checkStart(start Start, clean []float64) error {
	if start == Clean && clean == nil {
		return errors.New("mip: a start at clean confidences, but none are given")
	}
	return p.checkClean(clean)
}

// natural is the start at clean confidences, or the middle of the intervals where there are none.
func natural(clean []float64) Start {
	if clean == nil {
		return Middle
	}
	return Clean
}

// at returns the confidences of the starts that need no chance.
func (p *Program) at(start Start, clean []float64) []float64 {
	z := make([]float64, len(p.Correct))
	switch start {
	case Clean:
		copy(z, clean)
	case Brier:
		calib.BrierConfidences(z, p.Correct, p.Lower, p.Upper)
	default:
		for i, l := range p.Lower {
			z[i] = l + (p.Upper[i]-l)/2
		}
	}
	return z
}
