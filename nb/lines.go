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
			p := figure.NewPlot(w.Title, w.X, w.Y)
			drawn := make([]figure.Line, len(lines))
			for i, l := range lines {
				drawn[i] = figure.Line{Name: l.Name, XYs: axes.points(l), Style: figure.LineStyle(i)}
				if len(l.Low) > 0 {
					p.Add(figure.Band(axes.points(Line{X: l.X, Y: l.Low}), axes.points(Line{X: l.X, Y: l.High}), i))
				}
				p.Add(&plotter.Line{XYs: drawn[i].XYs, LineStyle: drawn[i].Style})
			}
			if axes.LogX {
				figure.LogTicks(&p.X)
			}
			if axes.LogY {
				figure.LogTicks(&p.Y)
			}
			figure.DrawLines(p, figure.Inset(c), drawn)
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
