package calib_test

import (
	"math"
	"testing"

	"github.com/certspec/certspec/calib"
)

// Two samples in one bin [0, 1], by hand: right with an interval [.5, .9], wrong with [.2, .6]. The confidences sum to .7 to 1.5 and one
// is right, so that the largest |1 − sum|/2 is .25; the Brier score is largest at .5 and .6.
func TestSummarize(t *testing.T) {
	bins, err := calib.Uniform(1, calib.LeftClosed)
	if err != nil {
		t.Fatal(err)
	}
	s, worst, err := calib.Summarize([]bool{true, false}, []float64{.8, .3}, []float64{.5, .2}, []float64{.9, .6}, bins)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string][2]float64{
		"CCE": {s.CCE, .25}, "where": {worst.CCE, s.CCE}, "CBS": {s.CBS, (.25 + .36) / 2}, "mean gap": {s.MeanGap, (.5 + .6) / 2},
		"Brier ECE": {s.BrierECE, .05}, "width": {s.MeanWidth, .4}, "ECE": {*s.ECE, .05}, "Brier": {*s.Brier, (.04 + .09) / 2},
	} {
		if math.Abs(v[0]-v[1]) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, v[0], v[1])
		}
	}
	if s, _, err := calib.Summarize([]bool{true}, nil, []float64{.5}, []float64{.9}, bins); err != nil || s.ECE != nil || s.Brier != nil || s.N != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, _, err := calib.Summarize([]bool{true}, nil, []float64{.9}, []float64{.5}, bins); err == nil {
		t.Error("an interval upside down passes")
	}
}
