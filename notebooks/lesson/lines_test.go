package lesson

import (
	"testing"

	"github.com/certspec/certspec/lines"
)

// Voters who share what is hard agree on the line, and their estimates are near the truth; the others are not, and are marked.
func TestVoters(t *testing.T) {
	for _, share := range []bool{true, false} {
		id, shifted, labels, truth := Voters(share)
		a, err := lines.Agree(t.Context(), id, shifted, labels, truth, lines.AgreeOptions{NoIntervals: true})
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for _, m := range a.Models {
			worst = max(worst, m.S-*m.Truth, *m.Truth-m.S)
		}
		if a.Reliable != share || share != (worst < 0.06) {
			t.Errorf("share %v: R² %v, off by up to %v", share, a.Line.R2, worst)
		}
	}
}
