package attack

import (
	"fmt"
	"math"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/calib/confidence"
)

// Bins is the number of bins of equal width in which adversaries measure calibration.
const Bins = 15

// Exact is the driver of exact-ACT. Before the first step it finds the confidences z*_n inside the certified intervals
// of the batch that have the largest calibration error of all (calib.ExactCCE). Then it steers each ẑ_n to its z*_n. It
// replaces the relaxation that ACCE solves.
type Exact struct {
	// HoeffdingAlpha, where it is positive, widens the intervals by the bound of Hoeffding for
	// Noises draws at this level.
	HoeffdingAlpha float64
	Noises         int

	target []float64
	steer  steering
}

func (e *Exact) Drive(s *State) error {
	if e.target == nil {
		worst, bins, err := solve(s, e.HoeffdingAlpha, e.Noises)
		if err != nil {
			return err
		}
		e.target = worst.Confidence
		for i, z := range worst.Confidence {
			e.target[i] = inside(z, worst.Bin[i], bins)
		}
	}
	e.steer.toward(s, e.target)
	return nil
}

// solve finds the largest calibration error that the intervals of the batch allow.
func solve(s *State, alpha float64, noises int) (worst calib.Worst, bins *calib.Bins, err error) {
	lower, upper, err := intervals(s, alpha, noises)
	if err != nil {
		return worst, nil, err
	}
	if bins, err = calib.Uniform(Bins, calib.LeftClosed); err != nil {
		return worst, nil, err
	}
	worst, err = new(calib.Workspace).ExactCCE(s.Correct, lower, upper, bins)
	return worst, bins, err
}

// inside moves a confidence from the edges of its bin by a twentieth of the bin's width: a bin does not contain its
// upper edge, which z*_n often is.
func inside(z float64, bin int, bins *calib.Bins) float64 {
	edges := bins.Edges()
	low, high := edges[bin], edges[bin+1]
	margin := (high - low) / 20
	return math.Max(low+margin, math.Min(high-margin, z))
}

// steering brings confidences to their aims in steps that are shorter than full ones where that
// suffices. On the scale of probits the confidence of a smoothed classifier moves by at most
// length/σ in a step (Salman et al. 2019, lemma 2), and nearly evenly: the way that a step made
// says how long the next must be.
type steering struct {
	last  []float64 // probits before the last step
	slope []float64 // probits per full step
}

func (t *steering) toward(s *State, target []float64) {
	if t.last == nil {
		t.last, t.slope = make([]float64, len(target)), make([]float64, len(target))
		for i := range t.slope {
			t.slope[i] = s.Length / s.Sigma
		}
	} else {
		for i, way := range s.Direction {
			if moved := (probit(s.Confidence[i]) - t.last[i]) / float64(way); way != 0 && moved > 0 {
				t.slope[i] = moved
			}
		}
	}
	for i, z := range s.Confidence {
		u := probit(z)
		t.last[i] = u
		s.Direction[i] = 0
		if t.slope[i] > 0 { // else steps have no length
			s.Direction[i] = float32(math.Max(-1, math.Min(1, (probit(target[i])-u)/t.slope[i])))
		}
	}
}

// probit is Φ⁻¹, finite at 0 and 1.
func probit(z float64) float64 {
	const least = 1e-7
	return math.Sqrt2 * math.Erfinv(2*math.Max(least, math.Min(1-least, z))-1)
}

// intervals are what the Standard certificate says of the confidences at radius ε (Emde et al.
// 2025, equation 12), taken at their estimates from the noises of the batch: [Φ(Φ⁻¹(ẑ) − ε/σ),
// Φ(Φ⁻¹(ẑ) + ε/σ)].
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
