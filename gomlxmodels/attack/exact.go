package attack

import (
	"fmt"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/calib/confidence"
)

// Bins is the number of bins of equal width in which adversaries measure calibration.
const Bins = 15

// Exact is the driver of exact-ACT: before the first step it finds the confidences z*_n inside the certified intervals of the
// batch that have the largest calibration error of all (calib.ExactCCE), and then lowers Σ_n (ẑ_n − z*_n)². It takes the place of
// the relaxation that ACCE solves.
type Exact struct {
	// HoeffdingAlpha, where it is positive, widens the intervals by the bound of Hoeffding for Noises draws at this level.
	HoeffdingAlpha float64
	Noises         int

	target []float64
}

func (e *Exact) Drive(s *State) error {
	if e.target == nil {
		lower, upper, err := intervals(s, e.HoeffdingAlpha, e.Noises)
		if err != nil {
			return err
		}
		bins, err := calib.Uniform(Bins, calib.LeftClosed)
		if err != nil {
			return err
		}
		worst, err := new(calib.Workspace).ExactCCE(s.Correct, lower, upper, bins)
		if err != nil {
			return err
		}
		e.target = worst.Confidence
	}
	for i, z := range s.Confidence {
		s.Direction[i] = sign(e.target[i] - z)
	}
	return nil
}

// intervals are what the Standard certificate says of the confidences at radius ε (Emde et al. 2025, equation 12), taken at
// their estimates from the noises of the batch: [Φ(Φ⁻¹(ẑ) − ε/σ), Φ(Φ⁻¹(ẑ) + ε/σ)].
func intervals(s *State, alpha float64, noises int) (lower, upper []float64, err error) {
	half := 0.0
	if alpha > 0 {
		if half, err = confidence.HalfWidth(noises, alpha); err != nil {
			return nil, nil, err
		}
	}
	if !(s.Sigma > 0) {
		return nil, nil, fmt.Errorf("attack: σ = %v; intervals of confidences need noise", s.Sigma)
	}
	lower, upper = make([]float64, len(s.Confidence)), make([]float64, len(s.Confidence))
	for i, z := range s.Confidence {
		interval, err := confidence.Standard(z, z, half, s.Epsilon/s.Sigma)
		if err != nil {
			return nil, nil, err
		}
		lower[i], upper[i] = interval.Lower, interval.Upper
	}
	return lower, upper, nil
}

func sign(v float64) float32 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}
