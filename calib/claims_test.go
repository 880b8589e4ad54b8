package calib_test

import (
	"math"
	"testing"

	"github.com/certspec/certspec/calib"
)

// The claims equal the results of their functions, and stand in the order that they must: where all hold,
// jointly, for the population.
func TestClaim(t *testing.T) {
	bins, err := calib.Uniform(2, calib.LeftClosed)
	if err != nil {
		t.Fatal(err)
	}
	var right []bool
	var low, high []float64
	for i := range 200 {
		right, low, high = append(right, i%3 > 0), append(low, .1+float64(i%7)/10), append(high, .3+float64(i%7)/10)
	}
	c, err := calib.Claim(right, low, high, bins, 250, .002, .001)
	if err != nil {
		t.Fatal(err)
	}
	worst, err := calib.ExactCCE(right, low, high, bins.Edges())
	if err != nil {
		t.Fatal(err)
	}
	// P(Bin(250, .002) > 4) = 1 − Σ_{k≤4} is 1.6·10⁻⁴ and P(> 3) is 1.7·10⁻³.
	if c.Failures != 4 || math.Abs(c.CCE-worst.CCE) > 1e-12 {
		t.Errorf("%d failures and CCE %v, want 4 and %v", c.Failures, c.CCE, worst.CCE)
	}
	if !(c.CCE < c.Joint && c.Joint < c.Population && c.CCE < c.Expected && c.Gap >= 0) {
		t.Errorf("%+v is out of order", c)
	}
	if c.Joint > c.CCE+8./200 { // an image of 200 moves the error by 2/200 at most
		t.Errorf("joint %v is above %v + 8/200", c.Joint, c.CCE)
	}
	for name, wrong := range map[string][2]float64{"delta": {.002, 1}, "fails": {1.5, .001}} {
		if _, err := calib.Claim(right, low, high, bins, 250, wrong[0], wrong[1]); err == nil {
			t.Errorf("%s out of range passes", name)
		}
	}
}

// Two samples by hand, a bin each: |.8 − 1| and |.3 − 0|, halved.
func TestMeasure(t *testing.T) {
	bins, err := calib.Uniform(2, calib.LeftClosed)
	if err != nil {
		t.Fatal(err)
	}
	m, err := calib.Measure([]bool{true, false}, []float64{.8, .3}, bins)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string][2]float64{
		"accuracy": {m.Accuracy, .5}, "ECE": {m.ECE, .25}, "AdaECE": {m.AdaECE, .25}, "quantiles": {m.AdaECEQuantile, .05}, "MCE": {m.MCE, .3},
		"Brier": {m.Brier, (.04 + .09) / 2}, "log loss": {*m.LogLoss, -(math.Log(.8) + math.Log(.7)) / 2},
	} {
		if math.Abs(v[0]-v[1]) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, v[0], v[1])
		}
	}
	if m, err := calib.Measure([]bool{false, true}, []float64{1, .5}, bins); err != nil || m.LogLoss != nil || m.N != 2 {
		t.Errorf("a sample certain and wrong: %+v, %v", m, err)
	}
	if _, err := calib.Measure([]bool{true}, []float64{1.5}, bins); err == nil {
		t.Error("a confidence of 1.5 passes")
	}
}
