package bound

import (
	"math"
	"testing"
)

// Section 11.B of the specification of certified calibration: bounds, and the radius where all of n samples hit.
func TestCalibrationOracles(t *testing.T) {
	for _, c := range []struct {
		k, n   int
		alpha  float64
		want   float64
		radius float64 // R/σ, the first three by the quantile of Python; 0: abstain
	}{
		{990, 1000, .001, .97603619, 1.97801},
		{99000, 100000, .001, .98898934, 2.29000},
		{80, 100, .05, .72279975, .59118},
		{60, 100, .001, .44098427, 0},
		{100, 100, .001, .93325430, 1.50048},
		{1000, 1000, .001, .99311605, 2.46326},
		{10000, 10000, .001, .99930946, 3.19858},
		{100000, 100000, .001, .99993092, 3.81146},
	} {
		p, err := Lower(c.k, c.n, c.alpha)
		if err != nil || !agree(p.P, c.want, 8) {
			t.Errorf("Lower(%d, %d, %g) = %v, %v, want %v", c.k, c.n, c.alpha, p, err, c.want)
		}
		if r, err := Radius(1, p); err != nil || !agree(r, c.radius, 5) || (r == 0) != (c.radius == 0) {
			t.Errorf("Radius(1) at %d of %d, α = %g: %v, %v, want %v", c.k, c.n, c.alpha, r, err, c.radius)
		}
	}
}

// The step classifier of the same section, 1[w·x + b > 0]: with the true probability Φ(t/(σ‖w‖)) of its class at
// t = w·x + b > 0, the radius is the distance t/‖w‖ to its boundary, whatever σ.
func TestStepClassifier(t *testing.T) {
	phi := func(x float64) Probability {
		return Probability{P: math.Erfc(-x/math.Sqrt2) / 2, Q: math.Erfc(x/math.Sqrt2) / 2}
	}
	if p := phi(1 / (.5 * 2)); !agree(p.P, .841345, 6) {
		t.Errorf("t = 1, ‖w‖ = 2, σ = .5: probability %v, want .841345", p)
	}
	for _, logit := range []float64{1e-6, .1, 1, 3} {
		for _, norm := range []float64{.5, 2} {
			for _, sigma := range []float64{.25, .5, 1, 40} {
				distance := logit / norm
				got, err := Radius(sigma, phi(distance/sigma))
				if err != nil || got > distance || got < distance*(1-1e-8)-1e-14*sigma {
					t.Errorf("t = %v, ‖w‖ = %v, σ = %v: radius %v, %v, want just below %v", logit, norm, sigma, got, err, distance)
				}
			}
		}
	}
}
