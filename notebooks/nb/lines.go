package nb

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/internal/figure"
)

// Axes are the names of the two axes of a figure, with units, and their scales.
type Axes struct {
	X, Y       string
	LogX, LogY bool
	Caption    string // what is to be seen
}

// Line is a line of a figure. Points that are not finite, and on a logarithmic scale those that are not positive, are left out.
type Line struct {
	Name string
	X, Y []float64
}

// Lines draws lines over common axes.
func Lines(axes Axes, lines ...Line) *Figure {
	for _, l := range lines {
		if len(l.X) != len(l.Y) {
			end(fmt.Errorf("nb.Lines: %q has %d values of x and %d of y", l.Name, len(l.X), len(l.Y)))
			return nil
		}
	}
	return &Figure{
		Caption: axes.Caption, Width: figure.Width, Height: figure.Height,
		paint: func(c draw.Canvas, plain func(string) string) {
			p := figure.NewPlot("", plain(axes.X), plain(axes.Y))
			for i, l := range lines {
				line := &plotter.Line{XYs: axes.points(l), LineStyle: figure.LineStyle(i)}
				p.Add(line)
				if l.Name != "" {
					p.Legend.Add(plain(l.Name), line)
				}
			}
			logarithmic(&p.X, axes.LogX)
			logarithmic(&p.Y, axes.LogY)
			p.Draw(figure.Inset(c))
		},
	}
}

func (a Axes) points(l Line) (points plotter.XYs) {
	for i, x := range l.X {
		y := l.Y[i]
		if math.IsNaN(x+y) || math.IsInf(x, 0) || math.IsInf(y, 0) || a.LogX && x <= 0 || a.LogY && y <= 0 {
			continue
		}
		points = append(points, plotter.XY{X: x, Y: y})
	}
	return points
}

// logarithmic widens the axis to whole powers of ten.
func logarithmic(axis *plot.Axis, wanted bool) {
	if !wanted || !(axis.Min > 0) {
		return
	}
	axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	axis.Min, axis.Max = math.Pow(10, math.Floor(math.Log10(axis.Min))), math.Pow(10, math.Ceil(math.Log10(axis.Max)))
}
