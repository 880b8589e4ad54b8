package rs

import (
	"math"
	"testing"
)

// Where all copies hit, the radius is σ·Φ⁻¹((α/J)^(1/n)) and still grows by
// more than the tolerance at every look but the last; without hope the first look ends it. Values by Python's
// statistics.NormalDist.
func TestForecast(t *testing.T) {
	for _, c := range []struct {
		opt    Options
		p      float64
		copies int
		radius float64 // 4 decimals
	}{
		{Options{Sigma: 1, Rule: Fixed, MaxSamples: 1000}, 1, 1100, 2.4633}, // Φ⁻¹(0.001^(1/1000))
		{Options{Sigma: 1, Rule: Fixed, MaxSamples: 1000}, 0.3, 1100, 0},
		{Options{Sigma: 1}, 1, 100_100, 3.7372},
		{Options{Sigma: 1}, 0.3, 200, 0},
	} {
		copies, radius, err := c.opt.Forecast(c.p)
		if err != nil || copies != c.copies || math.Abs(radius-c.radius) > 0.0001 {
			t.Errorf("%+v at %v: %d copies, radius %v, %v; want %d and %v", c.opt, c.p, copies, radius, err, c.copies, c.radius)
		}
		if c.p == 1 {
			if most, err := c.opt.RadiusCap(); err != nil || most != radius {
				t.Errorf("%+v: cap %v, %v; want %v", c.opt, most, err, radius)
			}
		}
	}
	staged, _, err := Options{Sigma: 1}.Forecast(0.8)
	if err != nil || staged <= 200 || staged >= 100_000 {
		t.Errorf("at 0.8 %d copies, %v; want more than a look and less than all", staged, err)
	}
	for _, p := range []float64{-0.1, 1.1, math.NaN()} {
		if _, _, err := (Options{Sigma: 1}).Forecast(p); err == nil {
			t.Errorf("p = %v passes", p)
		}
	}
	if _, err := (Options{}).RadiusCap(); err == nil {
		t.Error("σ = 0 passes")
	}
}
