package rs_test

import (
	"math"
	"testing"

	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
)

// SciPy 1.17.1, binomtest(k, n).proportion_ci(confidence, "exact").
func TestExactInterval(t *testing.T) {
	for _, c := range []struct {
		k, n       int
		confidence float64
		low, high  float64
	}{
		{374, 500, .95, .7075459344674456, .7854929332421285},
		{0, 20, .95, 0, .16843347098308548},
		{20, 20, .95, .8315665290169145, 1},
		{1, 1000, .99, 5.0125292607668415e-06, .007406286938353162},
		{5, 10, .5, .3506808141562441, .6493191858437559},
	} {
		i, err := rs.ExactInterval(c.k, c.n, c.confidence)
		// Outwards, and by little.
		if err != nil || i.Low > c.low*(1+1e-12) || i.Low < c.low*(1-1e-8) || 1-i.High > (1-c.high)*(1+1e-12) || i.High > min(1, c.high*(1+1e-8)) {
			t.Errorf("%d of %d at %v: %v, %v; want [%v, %v]", c.k, c.n, c.confidence, i, err, c.low, c.high)
		}
		a, err := rs.Accuracy{Count: c.k, Images: c.n}.Interval(c.confidence)
		if a != i || err != nil {
			t.Errorf("of the accuracy: %v, %v; want %v", a, err, i)
		}
	}
	if i, err := (rs.Accuracy{}).Interval(.95); err != nil || i != (resample.Interval{Low: 0, High: 1}) {
		t.Errorf("of no images: %v, %v", i, err)
	}
	for _, bad := range []float64{0, 1, -1, math.NaN(), math.Inf(1)} {
		if _, err := rs.ExactInterval(1, 2, bad); err == nil {
			t.Errorf("confidence %v is no error", bad)
		}
		if _, err := (rs.Accuracy{}).Interval(bad); err == nil {
			t.Errorf("confidence %v of no images is no error", bad)
		}
	}
	for _, bad := range [][2]int{{-1, 5}, {6, 5}, {0, 0}} {
		if _, err := rs.ExactInterval(bad[0], bad[1], .95); err == nil {
			t.Errorf("%d of %d is no error", bad[0], bad[1])
		}
	}
}
