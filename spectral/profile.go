package spectral

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
)

// Ring is the mean over the frequencies whose azimuthal frequency rounds to one number.
type Ring struct {
	Frequency int     `json:"frequency"`
	Bins      int     `json:"bins"`
	Mean      float64 `json:"mean"`
	// Ends of what the mean is shown with: of a spectrum the middle 90 % of the images, of a difference its interval;
	// both 0 where there is none.
	Low  float64 `json:"-"`
	High float64 `json:"-"`
}

// Profile is the radial profile of a map: the mean over each ring of rounded azimuthal frequency f, halves away from
// zero, from 0 on. Rings without a frequency are left out. Where Ends are known, they are the rings' Low and High.
func (m *Map) Profile() []Ring {
	sums := map[int]*Ring{}
	last := 0
	m.radii(func(radius, value float64) {
		f := int(math.Round(radius))
		if sums[f] == nil {
			sums[f] = &Ring{Frequency: f}
		}
		sums[f].Bins++
		sums[f].Mean += value
		last = max(last, f)
	})
	var rings []Ring
	for f := range last + 1 {
		if r := sums[f]; r != nil {
			r.Mean /= float64(r.Bins)
			if k := len(rings); k < len(m.Ends) {
				r.Low, r.High = m.Ends[k][0], m.Ends[k][1]
			}
			rings = append(rings, *r)
		}
	}
	return rings
}

// Centroid is the mean azimuthal frequency, weighted by the values S, zero frequency included:
//
//	Σ f S / Σ S
//
// It is an error where a value is negative or all are zero.
func (m *Map) Centroid() (float64, error) {
	weighted, sum, least := 0.0, 0.0, 0.0
	m.radii(func(radius, value float64) {
		weighted += radius * value
		sum += value
		least = min(least, value)
	})
	if least < 0 || !(sum > 0) || math.IsInf(sum, 0) {
		return 0, fmt.Errorf("spectral: no centroid of values whose least is %v and whose sum is %v; expected "+
			"values of at least 0, not all 0", least, sum)
	}
	return weighted / sum, nil
}

// Slope is a fitted power law, value ≈ exp(Intercept) f^Exponent.
type Slope struct {
	Exponent  float64 `json:"exponent"`
	Intercept float64 `json:"intercept"`
	R2        float64 `json:"r2"` // squared correlation of the logarithms
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Bins      int     `json:"bins"`
}

// Slope fits a straight line by least squares to the logarithms of value and azimuthal frequency f, over all
// frequencies of the map with low ≤ f ≤ high. The usual range is 1 to one less than half the shorter side. Natural
// images have exponents near −1 in amplitude and −2 in power.
//
// Errors: a value in the range that is not positive, fewer than two radii in it.
func (m *Map) Slope(low, high float64) (Slope, error) {
	var x, y []float64
	var bad error
	m.radii(func(radius, value float64) {
		if radius <= 0 || radius < low || radius > high {
			return
		}
		if !(value > 0) || math.IsInf(value, 1) {
			bad = fmt.Errorf("spectral: no slope: the value at frequency %.4g is %v; expected a positive number",
				radius, value)
			return
		}
		x, y = append(x, math.Log(radius)), append(y, math.Log(value))
	})
	if bad != nil {
		return Slope{}, bad
	}
	if len(x) == 0 || !(stat.Variance(x, nil) > 0) {
		return Slope{}, fmt.Errorf("spectral: no slope: fewer than two frequencies between %v and %v", low, high)
	}
	intercept, exponent := stat.LinearRegression(x, y, nil, false)
	s := Slope{Exponent: exponent, Intercept: intercept, Low: low, High: high, Bins: len(x)}
	if stat.Variance(y, nil) > 0 {
		r := stat.Correlation(x, y, nil)
		s.R2 = r * r
	}
	return s, nil
}
