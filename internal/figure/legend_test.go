package figure

import (
	"math"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// words are the texts that a drawing writes, with their places.
func words(paint func(draw.Canvas)) map[string]vg.Point {
	var r recorder.Canvas
	paint(draw.NewCanvas(&r, Width, Height))
	at := map[string]vg.Point{}
	for _, action := range r.Actions {
		if s, ok := action.(*recorder.FillString); ok {
			at[s.String] = s.Point
		}
	}
	return at
}

// Names are written at the ends of their lines, in their order, apart from each other; where a line ends early they go to a legend.
func TestNamesStandBesideTheirLines(t *testing.T) {
	draws := func(last float64) map[string]vg.Point {
		return words(func(c draw.Canvas) {
			p := NewPlot("", "", "")
			var lines []Line
			for i, height := range []float64{1, 0.99, 0.5} {
				end := 1.0
				if i == 0 {
					end = last
				}
				lines = append(lines, Line{Name: []string{"first", "second", "third"}[i],
					XYs: plotter.XYs{{X: 0, Y: 0}, {X: end, Y: height}}, Style: LineStyle(i)})
				p.Add(&plotter.Line{XYs: lines[i].XYs, LineStyle: lines[i].Style})
			}
			DrawLines(p, c, lines)
		})
	}
	at := draws(1)
	first, second, third := at["first"], at["second"], at["third"]
	if first.X != second.X || second.X != third.X || first.X < 0.8*Width {
		t.Errorf("the names stand at %v, %v and %v, not one below the other on the right", first, second, third)
	}
	if first.Y-second.Y < 10 || second.Y-third.Y < 60 {
		t.Errorf("the names stand at %v, %v and %v: not apart, or not at the heights of their lines", first, second, third)
	}
	at = draws(0.5)
	if at["first"].Y-at["third"].Y > 40 {
		t.Errorf("a line that ends early has its name at %v, %v expected in a legend", at["first"], at["third"])
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		ends, want []vg.Length
		ok         bool
	}{
		{[]vg.Length{50, 20}, []vg.Length{50, 20}, true},
		{[]vg.Length{50, 50}, []vg.Length{45, 55}, true},
		{[]vg.Length{52, 50, 51}, []vg.Length{61, 41, 51}, true},
		{[]vg.Length{0, 0}, []vg.Length{0, 10}, true},
		{[]vg.Length{50, 50, 50, 50, 50, 50, 50}, nil, false},
	} {
		ends := make([]vg.Point, len(c.ends))
		for i, y := range c.ends {
			ends[i].Y = y
		}
		got, ok := spread(ends, 10, 0, 100)
		if ok != c.ok {
			t.Errorf("%v: %v, %v", c.ends, got, ok)
			continue
		}
		for i := range c.want {
			if math.Abs(float64(got[i]-c.want[i])) > 1e-9 {
				t.Errorf("%v: %v, want %v", c.ends, got, c.want)
				break
			}
		}
	}
}

// The label of a logarithmic axis takes no room beyond the axis.
func TestLabelOfALogarithmicAxis(t *testing.T) {
	at := words(func(c draw.Canvas) {
		p := NewPlot("", "x", "a label that is long enough to be seen")
		p.Y.Min, p.Y.Max = 1e-9, 1
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{}
		DrawLines(p, c, []Line{{XYs: plotter.XYs{{X: 0, Y: 1e-9}, {X: 1, Y: 1}}}})
	})
	if top := at["1"].Y; top < 0.9*Height {
		t.Errorf("the upper end of the axis stands at %v of %v", top, Height)
	}
}

// One curve: its band lies around it, the cap is marked and named.
func TestCertifiedAccuracyShowsBandAndCap(t *testing.T) {
	c := Curve{Radii: []float64{0.2, 0.5}, Accuracy: []float64{0.75, 0.5}, Images: 4, Cap: 0.8, Samples: 10_000}
	at := words(func(canvas draw.Canvas) { CertifiedAccuracy(canvas, Words{Title: "toy/test"}, c) })
	for _, want := range []string{"cap of n ≤ 10,000", "toy/test"} {
		if _, ok := at[want]; !ok {
			t.Errorf("the figure does not say %q: %v", want, at)
		}
	}
	band := c.band(Palette[0])
	var low, high float64 = 1, 0
	for _, xy := range band.XYs[0] {
		if xy.X > 0 && xy.X < 0.5 {
			low, high = min(low, xy.Y), max(high, xy.Y)
		}
	}
	// Clopper and Pearson, 95 %: 3 of 4 gives (0.194, 0.994), 2 of 4 (0.068, 0.932); from R's binom.test.
	if math.Abs(low-0.0676) > 1e-3 || math.Abs(high-0.9937) > 1e-3 {
		t.Errorf("the band goes from %v to %v", low, high)
	}
	if thin := (Curve{Radii: []float64{0.1, 0.1001, 0.1002, 0.3}, Accuracy: []float64{0.9, 0.8, 0.7, 0.6}}).thinned(0.01); len(thin.Radii) != 2 || thin.Accuracy[0] != 0.9 || thin.Radii[1] != 0.3 || thin.Accuracy[1] != 0.6 {
		t.Errorf("thinned: %v", thin)
	}
}
