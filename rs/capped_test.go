package rs

import (
	"math"
	"testing"

	"github.com/certspec/certspec/rs/rule"
)

// Radii 0.9, 0.5, a wrong class and an abstention: ACR (0.9 + 0.5)/4, and (0.7 + 0.5)/4 below the cap.
func TestCapped(t *testing.T) {
	rows := Rows{{Label: 1, Outcome: rule.Outcome{Class: 1, Radius: 0.9}}, {Label: 1, Outcome: rule.Outcome{Class: 1, Radius: 0.5}}, {Label: 1, Outcome: rule.Outcome{Class: 2, Radius: 0.9}}, {Label: 1, Outcome: rule.Outcome{Class: Abstain}}}
	if got := rows.Capped(0.7).ACR().Value; math.Abs(got-0.3) > 1e-12 {
		t.Errorf("ACR %v below the cap, want 0.3", got)
	}
	if got := rows.Capped(0.7).CertifiedAccuracy(0.7, 0.71); got[0].Value != 0.25 || got[1].Value != 0 {
		t.Errorf("certified accuracies %v, want 0.25 at the cap and 0 above", got)
	}
	for _, none := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if got := rows.Capped(none).ACR().Value; math.Abs(got-0.35) > 1e-12 {
			t.Errorf("cap %v: ACR %v, want 0.35", none, got)
		}
	}
	if rows[0].Radius != 0.9 {
		t.Error("the rows themselves are changed")
	}
}
