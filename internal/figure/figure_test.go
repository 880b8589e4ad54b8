package figure

import (
	"testing"

	"gonum.org/v1/plot/plotter"
)

// Four images, one of them wrong, two with the same radius.
func TestStepsHaveTheRightCorners(t *testing.T) {
	got := Curve{Radii: []float64{0.2, 0.5}, Accuracy: []float64{0.75, 0.5}}.steps()
	want := plotter.XYs{{X: 0, Y: 0.75}, {X: 0.2, Y: 0.75}, {X: 0.2, Y: 0.5}, {X: 0.5, Y: 0.5}, {X: 0.5, Y: 0}}
	if len(got) != len(want) {
		t.Fatalf("corners %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("corner %d is %v, want %v", i, got[i], want[i])
		}
	}
	if none := (Curve{}).steps(); len(none) != 1 || none[0] != (plotter.XY{}) {
		t.Errorf("a curve of nothing has corners %v, want only the origin", none)
	}
}
