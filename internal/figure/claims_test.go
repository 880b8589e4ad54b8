package figure

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
	"pgregory.net/rapid"
)

// claims are accuracies that are proven at some radii.
func claims(t *rapid.T) (c Curve) {
	gap := rapid.Float64Range(1e-4, 0.3)
	radius, accuracy := 0.0, 1.0
	for range rapid.IntRange(0, 12).Draw(t, "count") {
		radius += gap.Draw(t, "gap")
		accuracy *= rapid.Float64Range(0, 1).Draw(t, "share")
		c.Radii, c.Accuracy = append(c.Radii, radius), append(c.Accuracy, accuracy)
	}
	return c
}

// proven is the value that holds at x: the value at the next larger radius, and nothing beyond the last.
func (c Curve) proven(x float64) float64 {
	i := slices.IndexFunc(c.Radii, func(r float64) bool { return r >= x })
	if i < 0 {
		return 0
	}
	return c.Accuracy[i]
}

// highest is the largest value that a line shows at x.
func highest(line plotter.XYs, x float64) float64 {
	top := 0.0
	for i := 1; i < len(line); i++ {
		a, b := line[i-1], line[i]
		switch {
		case a.X == b.X && a.X == x:
			top = max(top, a.Y, b.Y)
		case a.X <= x && x <= b.X && a.X < b.X:
			top = max(top, a.Y+(b.Y-a.Y)*(x-a.X)/(b.X-a.X))
		}
	}
	return top
}

// No curve lies above what is proven at any radius, also where steps that are too close are left out.
func TestNoCurveLiesAboveWhatIsProven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := claims(t)
		places := append([]float64{0}, c.Radii...)
		for range 40 {
			places = append(places, rapid.Float64Range(0, 4).Draw(t, "x"))
		}
		width := rapid.SampledFrom([]float64{0, 0.05, 0.5}).Draw(t, "width")
		for _, line := range []plotter.XYs{c.steps(), c.thinned(width).steps()} {
			for _, x := range places {
				if shown, most := highest(line, x), c.proven(x); shown > most+1e-12 {
					t.Fatalf("%v, %v: %g at radius %g, where %g is proven", c.Radii, c.Accuracy, shown, x, most)
				}
			}
		}
	})
}

// oblique counts the pieces of lines that are neither level nor upright.
func oblique(paint func(draw.Canvas)) (count int) {
	var r recorder.Canvas
	paint(draw.NewCanvas(&r, 400, 300))
	for _, action := range r.Actions {
		stroke, ok := action.(*recorder.Stroke)
		if !ok {
			continue
		}
		for i := 1; i < len(stroke.Path); i++ {
			a, b := stroke.Path[i-1], stroke.Path[i]
			if b.Type == vg.LineComp && math.Abs(float64(a.Pos.X-b.Pos.X)) > 1 && math.Abs(float64(a.Pos.Y-b.Pos.Y)) > 1 {
				count++
			}
		}
	}
	return count
}

// Between two radii nothing is drawn but steps, or nothing at all.
func TestCurvesOfClaimsHaveNoObliqueLine(t *testing.T) {
	line := Line{Name: "claimed", XYs: plotter.XYs{{X: 0.1, Y: 0.8}, {X: 0.5, Y: 0.3}, {X: 0.9, Y: 0.1}}}
	line.Low = plotter.XYs{{X: 0.1, Y: 0.7}, {X: 0.5, Y: 0.2}, {X: 0.9, Y: 0}}
	line.High = plotter.XYs{{X: 0.1, Y: 0.9}, {X: 0.5, Y: 0.4}, {X: 0.9, Y: 0.2}}
	curve := Curve{Name: "certified", Radii: []float64{0.1, 0.5, 0.9}, Accuracy: []float64{0.8, 0.3, 0.1}, Images: 20,
		Cap: 1, Samples: 100}
	for name, paint := range map[string]func(draw.Canvas){
		"certified accuracy": func(c draw.Canvas) { CertifiedAccuracy(c, Words{}, curve, curve) },
		"stairs":             Lines{Stairs: true, Lines: []Line{line}}.Paint,
		"points":             Lines{Points: true, Lines: []Line{line}}.Paint,
	} {
		if n := oblique(paint); n != 0 {
			t.Errorf("%s: %d oblique pieces of lines", name, n)
		}
	}
	if n := oblique(Lines{Lines: []Line{line}}.Paint); n == 0 {
		t.Error("lines that are joined have no oblique piece: the count does not see them")
	}
}
