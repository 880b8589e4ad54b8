package nb

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/rs"
)

// Curve draws certified accuracy against the radius, one step line per run.
func Curve(runs ...*rs.Run) *Figure {
	if len(runs) == 0 {
		end(fmt.Errorf("nb.Curve: no run to draw"))
	}
	names := runNames(runs)
	return &Figure{
		Caption: "certified accuracy against the radius: " + listed(names),
		Width:   5.6 * vg.Inch, Height: 3.6 * vg.Inch,
		paint: func(c draw.Canvas, plain func(string) string) {
			p := newPlot("", "certified radius (full range of a pixel value = 1)", "certified accuracy")
			p.X.Min, p.Y.Min, p.Y.Max = 0, 0, 1
			p.Y.Tick.Marker = plot.ConstantTicks(evenTicks(0, 1, 0.2))
			for i, run := range runs {
				line := &plotter.Line{XYs: steps(run.Curve()), LineStyle: lineStyle(i)}
				p.Add(line)
				p.Legend.Add(plain(names[i]), line)
				p.X.Max = math.Max(p.X.Max, 1.02*run.RadiusCap())
			}
			p.Draw(inset(c))
		},
	}
}

// steps are the corners of a curve of certified accuracy: level up to and including a radius,
// then straight down, at last to zero.
func steps(c rs.Curve) plotter.XYs {
	var corners plotter.XYs
	from := 0.0
	for i, radius := range c.Radii {
		corners = append(corners, plotter.XY{X: from, Y: c.Accuracy[i]}, plotter.XY{X: radius, Y: c.Accuracy[i]})
		from = radius
	}
	return append(corners, plotter.XY{X: from, Y: 0})
}

func evenTicks(from, to, step float64) []plot.Tick {
	var ticks []plot.Tick
	for i := 0; from+float64(i)*step <= to+step/2; i++ {
		v := from + float64(i)*step
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.1f", v)})
	}
	return ticks
}

// runNames are what tells the runs apart: σ always, model and data where they differ.
func runNames(runs []*rs.Run) []string {
	models, sets := map[string]bool{}, map[string]bool{}
	for _, run := range runs {
		models[run.Header.Model.Name], sets[run.Header.Data.Name] = true, true
	}
	names := make([]string, len(runs))
	for i, run := range runs {
		names[i] = fmt.Sprintf("σ = %g", run.Header.Sigma)
		if len(models) > 1 {
			names[i] = run.Header.Model.Name + ", " + names[i]
		}
		if len(sets) > 1 {
			names[i] += ", " + run.Header.Data.Name
		}
	}
	return names
}
