package figure

import (
	"strings"
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

// Maps of one scale in two rows have one bar, as wide as it is planned, and its ticks are round.
func TestOneBarForMaps(t *testing.T) {
	of := HeatMaps{Title: "maps", Columns: 2, Low: 0, High: 0.15}
	for range 3 {
		of.Maps = append(of.Maps, HeatMap{Columns: []int{-1, 0}, Rows: []int{0, 1}, Values: []float64{0, 0.1, 0.15, 0.05}})
	}
	width, height := of.Size()
	data, err := SVG(width, height, "maps", of.Paint)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), `<image preserveAspectRatio="none" `); n != len(of.Maps)+1 || strings.Count(string(data), "<image") != n {
		t.Errorf("%d pictures of %d, want one below each map and one bar", n, strings.Count(string(data), "<image"))
	}
	for _, label := range []string{">0.05</text>", ">0.10</text>", ">0.15</text>", ">−1</text>", ">maps</text>"} {
		if !strings.Contains(string(data), label) {
			t.Errorf("no text %s", label)
		}
	}
}
