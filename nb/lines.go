package nb

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/internal/figure"
)

// Axes are the names of the two axes of a figure, with units, and their scales.
type Axes struct {
	X, Y       string
	LogX, LogY bool
	Stairs     bool   // each value holds from the place before up to its own, as what is certified at a radius
	Points     bool   // nothing is said between the places: no line joins them
	Title      string // above the figure: the data set and what else the lines have in common
	Caption    string // what is to be seen, for those who do not see it; "": the title
}

// Line is a line of a figure. Points that are not finite, and on a logarithmic scale those that are not positive, are
// left out.
type Line struct {
	Name      string // beside the end of the line, or in a legend where there is no room
	X, Y      []float64
	Low, High []float64 // ends of an interval at each X, drawn as a band; nil: none
}

// Lines draws lines over common axes.
func Lines(axes Axes, lines ...Line) *Figure {
	for _, l := range lines {
		if len(l.X) != len(l.Y) || len(l.Low) != len(l.High) || len(l.Low) > 0 && len(l.Low) != len(l.X) {
			end(fmt.Errorf("nb.Lines: %q has %d values of x and %d of y, %d lower and %d upper ends", l.Name, len(l.X),
				len(l.Y), len(l.Low), len(l.High)))
			return nil
		}
	}
	return &Figure{
		Caption: cmp.Or(axes.Caption, axes.Title), Width: figure.Width, Height: figure.Height,
		numbers: func() *Tabular { return lineNumbers(axes, lines) },
		paint: func(f *Figure, c draw.Canvas) {
			w := f.words(axes.Title, axes.X, axes.Y)
			drawn := figure.Lines{Title: w.Title, X: w.X, Y: w.Y, LogX: axes.LogX, LogY: axes.LogY, Stairs: axes.Stairs,
				Points: axes.Points}
			for _, l := range lines {
				line := figure.Line{Name: l.Name, XYs: axes.points(l.X, l.Y)}
				line.Low, line.High = axes.band(l)
				drawn.Lines = append(drawn.Lines, line)
			}
			drawn.Paint(c)
		},
	}
}

// band is the ends of the intervals of which both can be drawn.
func (a Axes) band(l Line) (low, high plotter.XYs) {
	for i := range l.Low {
		from, to := a.points(l.X[i:i+1], l.Low[i:i+1]), a.points(l.X[i:i+1], l.High[i:i+1])
		if len(from) == len(to) {
			low, high = append(low, from...), append(high, to...)
		}
	}
	return low, high
}

func (a Axes) points(xs, ys []float64) (points plotter.XYs) {
	for i, y := range ys {
		x := xs[i]
		if math.IsNaN(x+y) || math.IsInf(x, 0) || math.IsInf(y, 0) || a.LogX && x <= 0 || a.LogY && y <= 0 {
			continue
		}
		points = append(points, plotter.XY{X: x, Y: y})
	}
	return points
}
