package nb

import (
	"bytes"
	"image/color"
	"image/png"
	"testing"

	"github.com/certspec/certspec/calib"
)

// blue tells how much bluer than red a figure is at a place, given in shares of its size from the upper left.
func blue(t *testing.T, f *Figure, x, y float64) int {
	t.Helper()
	r, _, b, _ := at(t, f, x, y).RGBA()
	return int(b>>8) - int(r>>8)
}

// light is the grey value there.
func light(t *testing.T, f *Figure, x, y float64) int {
	t.Helper()
	return int(color.GrayModel.Convert(at(t, f, x, y)).(color.Gray).Y)
}

func at(t *testing.T, f *Figure, x, y float64) color.Color {
	t.Helper()
	data, err := f.png()
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	size := picture.Bounds().Size()
	return picture.At(int(x*float64(size.X)), int(y*float64(size.Y)))
}

// A bar of accuracy 0.9 over the upper half of confidences, and none over the lower half, which is empty.
func TestReliabilityHasABarForEachBinThatIsNotEmpty(t *testing.T) {
	f := reliability("two bins", []calib.Bin{{Lower: 0, Upper: 0.5}, {Lower: 0.5, Upper: 1, Count: 10, Confidence: 0.6, Accuracy: 0.9, Gap: -0.3}})
	if got := blue(t, f, 0.87, 0.5); got < 50 {
		t.Errorf("no bar of accuracy: blue exceeds red by %d", got)
	}
	if got := blue(t, f, 0.87, 0.8); got > -50 {
		t.Errorf("no bar of the share: blue exceeds red by %d", got)
	}
	for _, y := range []float64{0.5, 0.8} {
		if got := blue(t, f, 0.21, y); got != 0 {
			t.Errorf("the empty bin has a bar at %g: blue exceeds red by %d", y, got)
		}
	}
}

// Of two samples and two bins, the first sample lies in bin 1, below on the left, and the other in bin 2.
func TestAssignmentsHaveARowForEachSample(t *testing.T) {
	f := Assignments("two samples", 2, map[int][]float64{7: {1, 0, 0, 1}})
	for _, place := range []struct {
		x, y float64
		one  bool
	}{{0.3, 0.65, true}, {0.6, 0.65, false}, {0.3, 0.3, false}, {0.6, 0.3, true}} {
		if got := light(t, f, place.x, place.y); place.one != (got > 250) || place.one == (got < 5) {
			t.Errorf("at %g, %g the grey value is %d; an entry of 1 is white: %t", place.x, place.y, got, place.one)
		}
	}
}
