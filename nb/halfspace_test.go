package nb

import (
	"math"
	"strings"
	"testing"
)

// Of the regions with one p the half space loses class A soonest, as Neyman and Pearson have it, and at Φ⁻¹(p):
// 1.2816 of p = 0.9, from a table.
func TestHalfSpaceIsTheWorst(t *testing.T) {
	lines := regions(0.9)
	worst := lines[0]
	for _, line := range lines[:3] {
		if math.Abs(line.Y[0]-0.9) > 1e-9 {
			t.Errorf("%s begins at %g", line.Name, line.Y[0])
		}
		for k, y := range line.Y {
			if worst.X[k] <= 1.2816 && y < worst.Y[k]-1e-9 {
				t.Errorf("%s is below the half space at %g: %g, %g", line.Name, line.X[k], y, worst.Y[k])
			}
		}
	}
	if k := 50; math.Abs(worst.X[k]-1.2816) > 1e-4 || math.Abs(worst.Y[k]-0.5) > 1e-9 {
		t.Errorf("the half space has %g at %g", worst.Y[k], worst.X[k])
	}
	w := HalfSpace(0.9)
	for at, want := range map[int]string{0: "<b>A</b>", 9: "<b>A</b>", 10: "<b>turns here</b>", 11: "<b>B</b>"} {
		if page := strings.Join(w.Frame([]int{at}), ""); !strings.Contains(page, want) || strings.Contains(page, "%!") {
			t.Errorf("frame %d: %s", at, page)
		}
	}
}
