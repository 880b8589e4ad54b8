package figure

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// Curve is a step curve: Accuracy[i] at every radius up to and including Radii[i], above Radii[i−1].
type Curve struct {
	Name     string // in the legend; "": none
	Radii    []float64
	Accuracy []float64
	Cap      float64 // largest radius that could be certified
}

// CertifiedAccuracy plots certified accuracy against the radius, one step line per curve.
func CertifiedAccuracy(curves ...Curve) *plot.Plot {
	p := NewPlot("", "certified radius (full range of a pixel value = 1)", "certified accuracy")
	p.X.Min, p.Y.Min, p.Y.Max = 0, 0, 1
	p.Y.Tick.Marker = plot.ConstantTicks(evenTicks(0, 1, 0.2))
	for i, curve := range curves {
		line := &plotter.Line{XYs: curve.steps(), LineStyle: LineStyle(i)}
		p.Add(line)
		if curve.Name != "" {
			p.Legend.Add(curve.Name, line)
		}
		p.X.Max = math.Max(p.X.Max, 1.02*curve.Cap)
	}
	return p
}

// steps are the corners of the curve: level up to and including a radius, then straight down, at last to zero.
func (c Curve) steps() plotter.XYs {
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
