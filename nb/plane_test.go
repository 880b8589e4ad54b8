package nb

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/rule"
)

var twoPixels = pixel.Shape{Height: 1, Width: 2, Channels: 1}

// half has class 1 above the given height.
func half(level float64) classifier.Wave {
	return classifier.Wave{Shape: twoPixels, Level: level, Period: 1}
}

// The upper part of the picture must be class 1, smoothed or not, with the boundary at its height.
func TestRegionsAreInPlace(t *testing.T) {
	for _, sigma := range []float64{0, 0.1} {
		img, err := Plane{Model: half(0.75), Sigma: sigma}.regions()
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []int{0, 100, side - 1} {
			for _, byteValue := range []int{0, 60, 190, 193, 255} { // the boundary lies between 191 and 192
				class := 0
				if byteValue > 191 {
					class = 1
				}
				if got := img.Pix[img.PixOffset(x, side-1-byteValue)]; int(got) != class+1 {
					t.Errorf("σ = %g: the point %d, %d has the colour %d, want that of class %d", sigma, x, byteValue, got, class)
				}
			}
		}
	}
}

// The votes that a picture shows are those that a prediction counts.
func TestVotesAreThoseOfPredict(t *testing.T) {
	wave := classifier.Wave{Shape: twoPixels, Level: 0.5, Amplitude: 0.1, Period: 0.2}
	mark := Mark{Image: []uint8{120, 140}, Samples: 300, Sigma: 0.1}
	_, classes, err := mark.classified(wave)
	if err != nil {
		t.Fatal(err)
	}
	predicted, err := rs.Predict(t.Context(), wave, mark.Image, rs.PredictOptions{Sigma: 0.1, Samples: 300, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	counts := make([]int, 2)
	for _, class := range classes {
		counts[class]++
	}
	if !slices.Equal(counts, predicted.Counts) || counts[0] == 0 || counts[1] == 0 {
		t.Errorf("the picture has the votes %v, a prediction %v", counts, predicted.Counts)
	}
}

func TestPlanesRefuseWhatIsNoPlane(t *testing.T) {
	big := classifier.Constant{Shape: pixel.Shape{Height: 2, Width: 2, Channels: 1}, Classes: 2}
	code, said := stopped(t, func() { Planes(Plane{Model: big}) })
	if code != 1 || !strings.Contains(said, "2×2×1") {
		t.Errorf("a model of four pixels: exit code %d, %q", code, said)
	}
	code, said = stopped(t, func() { Planes(Plane{Model: half(0.5), Marks: []Mark{{Image: []uint8{1, 2, 3}}}}) })
	if code != 1 || !strings.Contains(said, "3 values") {
		t.Errorf("a point with three values: exit code %d, %q", code, said)
	}
}

// Every radius that the sliders show is the one that a certification gives.
func TestExploreShowsCertifiedRadii(t *testing.T) {
	e := Exploration{Model: half(0.5), Marks: []Mark{{Name: "A", Image: []uint8{100, 180}}, {Name: "B", Image: []uint8{100, 129}}},
		Sigmas: []float64{0.1, 0.2}, Samples: []int{100, 1000}, Alphas: []float64{0.01, 0.001}}
	w := Explore(e)
	for s, sigma := range e.Sigmas {
		for c, samples := range e.Samples {
			for a, alpha := range e.Alphas {
				got, err := rs.CertifyOne(t.Context(), e.Model, e.Marks[0].Image, rs.Options{Rule: rule.Fixed, Sigma: sigma, MaxSamples: samples, Alpha: alpha, Seed: 1})
				if err != nil {
					t.Fatal(err)
				}
				frame := strings.Join(w.Frame([]int{0, s, c, a}), "")
				if want := fmt.Sprintf("%.4f", math.Floor(1e4*got.Radius)/1e4); !strings.Contains(frame, "certified radius <b>"+want+"</b>") {
					t.Errorf("σ = %g, n = %d, α = %g: the frame lacks the radius %s: %s", sigma, samples, alpha, want, frame[strings.Index(frame, "<circle"):])
				}
			}
		}
	}
	if frame := strings.Join(w.Frame([]int{1, 0, 0, 1}), ""); !strings.Contains(frame, "no certificate") {
		t.Error("a point next to the boundary has a certificate from 100 samples")
	}
}

func TestPointsHaveTheirLabels(t *testing.T) {
	upper := func(image []uint8) int { return int(image[1] / 128) }
	a, _ := NewPoints(50, 1, []string{"lower", "upper"}, upper).Load(t.Context())
	b, _ := NewPoints(50, 1, []string{"lower", "upper"}, upper).Load(t.Context())
	other, _ := NewPoints(50, 2, []string{"lower", "upper"}, upper).Load(t.Context())
	if a.Digest != b.Digest || a.Digest == other.Digest || a.Len() != 50 {
		t.Error("the points are not a function of the seed")
	}
	for i := range a.Len() {
		if a.Labels[i] != upper(a.Image(i)) {
			t.Errorf("point %v has the label %d", a.Image(i), a.Labels[i])
		}
	}
}

// Points that a scale has no place for are left out.
func TestLinesLeaveOut(t *testing.T) {
	got := Axes{LogX: true}.points([]float64{0, 1, 10, 100}, []float64{1, math.NaN(), 2, math.Inf(1)})
	if len(got) != 1 || got[0].X != 10 {
		t.Errorf("points %v, want the one at 10", got)
	}
}

// The data of a plane take a square of the page, or a ball would be no circle.
func TestPlanesAreSquare(t *testing.T) {
	drawn, err := Plane{Model: half(0.5), Title: "title"}.plot()
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]vg.Length{{300, 200}, {200, 300}} {
		data := drawn.DataCanvas(square(drawn, draw.New(vgimg.New(size[0], size[1])))).Size()
		if d := data.X - data.Y; d > 0.01 || d < -0.01 || data.X < 50 {
			t.Errorf("on a canvas of %v the data take %v", size, data)
		}
	}
}

func TestLogarithmicAxis(t *testing.T) {
	axis := &plot.Axis{Min: 3e-6, Max: 1000}
	axis.Tick.Label.Handler = plot.DefaultTextHandler
	figure.LogTicks(axis)
	if axis.Min != 1e-6 || axis.Max != 1000 {
		t.Errorf("the axis goes from %g to %g", axis.Min, axis.Max)
	}
	var labels []string
	for _, tick := range axis.Tick.Marker.Ticks(axis.Min, axis.Max) {
		if tick.Label != "" {
			labels = append(labels, tick.Label)
		}
	}
	if got := strings.Join(labels, " "); got != "10^−6 10^−5 10^−4 0.001 0.01 0.1 1 10 100 1,000" {
		t.Errorf("the ticks are %s", got)
	}
}
