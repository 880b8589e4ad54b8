package figure

import (
	"slices"
	"testing"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

func TestRoundTicks(t *testing.T) {
	for ends, want := range map[[2]float64][]string{
		{0, 5}:          {"0", "1", "2", "3", "4", "5"},
		{0, 1}:          {"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"},
		{0.097, 0.155}:  {"0.10", "0.11", "0.12", "0.13", "0.14", "0.15"},
		{1, 13}:         {"2", "4", "6", "8", "10", "12"},
		{-30, 20}:       {"−30", "−20", "−10", "0", "10", "20"},
		{0, 20000}:      {"0", "5,000", "10,000", "15,000", "20,000"},
		{0.3, 0.3004}:   {"0.3000", "0.3001", "0.3002", "0.3003", "0.3004"},
		{-0.2, 0.60001}: {"−0.2", "0.0", "0.2", "0.4", "0.6"},
	} {
		var labels []string
		ticks := roundTicks{}.Ticks(ends[0], ends[1])
		for i, tick := range ticks {
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
			if i > 0 && !(tick.Value > ticks[i-1].Value) {
				t.Errorf("%v: %v after %v", ends, tick.Value, ticks[i-1].Value)
			}
		}
		if !slices.Equal(labels, want) {
			t.Errorf("%v: %q, want %q", ends, labels, want)
		}
	}
	if ticks := (roundTicks{}).Ticks(3, 3); len(ticks) == 0 {
		t.Error("an axis of one point has no tick")
	}
}

// The legend keeps clear of the lines: right above, left above, below, or beside the plot.
func TestLegendIsClearOfLines(t *testing.T) {
	const side = 400
	for name, c := range map[string]struct {
		lines       []plotter.XYs
		right, high bool
	}{
		"falling":      {[]plotter.XYs{{{X: 0, Y: 1}, {X: 1, Y: 0}}}, true, true},
		"rising":       {[]plotter.XYs{{{X: 0, Y: 0}, {X: 1, Y: 1}}}, false, true},
		"along top":    {[]plotter.XYs{{{X: 0, Y: 1}, {X: 1, Y: 1}, {X: 1, Y: 0.9}}, {{X: 0, Y: 0}, {X: 0.1, Y: 0}}}, true, false},
		"every corner": {[]plotter.XYs{{{X: 0, Y: 0}, {X: 1, Y: 1}}, {{X: 0, Y: 1}, {X: 1, Y: 0}}}, true, true},
	} {
		p := NewPlot("", "", "")
		var lines []Line
		for i, line := range c.lines {
			lines = append(lines, Line{Name: "legend", XYs: line, Style: LineStyle(i)})
			p.Add(&plotter.Line{XYs: line, LineStyle: LineStyle(i)})
		}
		var r recorder.Canvas
		drawLegend(p, draw.NewCanvas(&r, side, side), lines)
		var at *vg.Point
		var furthest vg.Length // of the axis labels
		for _, action := range r.Actions {
			if s, ok := action.(*recorder.FillString); ok {
				if s.String == "legend" {
					at = &s.Point
				} else {
					furthest = max(furthest, s.Point.X)
				}
			}
		}
		if at == nil || at.X > side/2 != c.right || at.Y > side/2 != c.high {
			t.Errorf("%s: the legend stands at %v", name, at)
		}
		if at != nil && name == "every corner" && at.X < furthest {
			t.Errorf("%s: the legend at %v is not beside the plot, which goes to %v", name, at.X, furthest)
		}
	}
}
