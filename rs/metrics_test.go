package rs_test

import (
	"math"
	"testing"

	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/rule"
)

// spec §11.3: ACR .332 and the area under the curve .332; CA(.34) = .6, CA(.35) = .4.
func TestMetrics(t *testing.T) {
	rows := rs.Rows{
		{Image: 0, Label: 1, Outcome: rule.Outcome{Class: 1, Radius: .378}},
		{Image: 1, Label: 1, Outcome: rule.Outcome{Class: rs.Abstain}},
		{Image: 2, Label: 1, Outcome: rule.Outcome{Class: 1, Radius: .341}},
		{Image: 3, Label: 1, Outcome: rule.Outcome{Class: 1, Radius: .941}},
		{Image: 4, Label: 1, Outcome: rule.Outcome{Class: 0, Radius: .2}},
	}
	if a := rows.ACR(); math.Abs(a.Value-.332) > 1e-15 || a.Images != 5 {
		t.Errorf("ACR %v", a)
	}
	for _, a := range rows.CertifiedAccuracy(.34, .35, 0, .341, .941, .942) {
		want := map[float64]float64{.34: .6, .35: .4, 0: .6, .341: .6, .941: .2, .942: 0}[a.Radius]
		if a.Value != want || a.Images != 5 {
			t.Errorf("%v, want %v", a, want)
		}
	}
	curve, area, last := rows.Curve(), 0.0, 0.0
	for i, r := range curve.Radii {
		area += (r - last) * curve.Accuracy[i]
		last = r
	}
	if math.Abs(area-.332) > 1e-15 || len(curve.Radii) != 3 {
		t.Errorf("area %v under %v", area, curve)
	}
	if n, rate := rows.Abstained(), rows.AbstentionRate(); n != 1 || rate != .2 {
		t.Errorf("%d abstained, a rate of %v", n, rate)
	}
	if l := rows.Largest(2); len(l) != 2 || l[0].Image != 3 || l[1].Image != 0 {
		t.Errorf("largest %+v", l)
	}
	if s := rows.Smallest(9); len(s) != 4 || s[0].Image != 4 || s[1].Image != 2 {
		t.Errorf("smallest %+v", s)
	}
	// A label that nobody knows takes its image out of the metrics.
	with := append(rows, rs.Row{Image: 5, Label: -1, Outcome: rule.Outcome{Class: 1, Radius: 5}})
	if with.ACR() != rows.ACR() || with.CertifiedAccuracy(.3)[0] != rows.CertifiedAccuracy(.3)[0] {
		t.Errorf("%v with an image without a label, %v without", with.ACR(), rows.ACR())
	}
	if none := (rs.Rows{}); len(none.Curve().Radii) != 0 || none.ACR().Value != 0 || none.AbstentionRate() != 0 || len(none.Largest(3)) != 0 || len(rows.Largest(-1)) != 0 {
		t.Error("metrics of no rows")
	}
}
