package stopping

import (
	"math"
	"testing"

	"github.com/certspec/certspec/rs/rule"
)

// Where all samples hit, the radius is σ·Φ⁻¹((α/J)^(1/n)) and still grows by
// more than the tolerance at every look but the last; without hope the first look ends it. Values by Python's
// statistics.NormalDist; those of betting as spec §10.5 has its looks.
func TestForecast(t *testing.T) {
	for _, c := range []struct {
		settings rule.Settings
		p        float64
		samples  int
		radius   float64 // 4 decimals
	}{
		{rule.Settings{Rule: rule.Fixed, MaxSamples: 1000}, 1, 1100, 2.4633}, // Φ⁻¹(0.001^(1/1000))
		{rule.Settings{Rule: rule.Fixed, MaxSamples: 1000}, 0.3, 1100, 0},
		{rule.Settings{}, 1, 100_100, 3.7372},
		{rule.Settings{}, 0.3, 200, 0},
		{rule.Settings{Rule: rule.ISS}, 0.3, 1000, 0},
		{rule.Settings{Rule: rule.ISS, Block: 200, Tolerance: .2}, 1, 46_400, 3.6116}, // spec §10.3, d = .05 at σ = .25
		{rule.Settings{Rule: rule.Betting, Radii: []float64{1, 2}}, 1, 500, 2},        // 351 hits, at the look after 400
		{rule.Settings{Rule: rule.Betting, Radii: []float64{1, 2}}, 0.3, 200, 0},
	} {
		c.settings.Sigma = 1
		p := testPlan(t, c.settings)
		if samples, radius := p.Forecast(c.p); samples != c.samples || math.Abs(radius-c.radius) > 0.0001 {
			t.Errorf("%+v at %v: %d noise samples, radius %v; want %d and %v", c.settings, c.p, samples, radius, c.samples, c.radius)
		} else if c.p == 1 && p.RadiusCap() != radius {
			t.Errorf("%+v: cap %v, want %v", c.settings, p.RadiusCap(), radius)
		}
	}
	p := testPlan(t, rule.Settings{Sigma: 1})
	if staged, _ := p.Forecast(0.8); staged <= 200 || staged >= 100_000 {
		t.Errorf("at 0.8 %d noise samples; want more than a look and less than all", staged)
	}
	for _, wrong := range []float64{-0.1, math.NaN(), math.Inf(-1)} {
		if samples, radius := p.Forecast(wrong); samples != 200 || radius != 0 {
			t.Errorf("p = %v: %d noise samples, radius %v", wrong, samples, radius)
		}
	}
}
