package nb

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot"
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
		paint: func(c draw.Canvas) {
			p := figure.NewPlot(axes.Title, axes.X, axes.Y)
			drawn := make([]figure.Line, len(lines))
			for i, l := range lines {
				drawn[i] = figure.Line{Name: l.Name, XYs: axes.points(l), Style: figure.LineStyle(i)}
				if len(l.Low) > 0 {
					p.Add(figure.Band(axes.points(Line{X: l.X, Y: l.Low}), axes.points(Line{X: l.X, Y: l.High}), i))
				}
				p.Add(&plotter.Line{XYs: drawn[i].XYs, LineStyle: drawn[i].Style})
			}
			if axes.LogX {
				logarithmic(&p.X)
			}
			if axes.LogY {
				logarithmic(&p.Y)
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

// logarithmic scales an axis with positive ends, and widens it to whole powers of ten.
func logarithmic(axis *plot.Axis) {
	if !(axis.Min > 0) {
		return
	}
	low, high := int(math.Floor(math.Log10(axis.Min)+1e-9)), int(math.Ceil(math.Log10(axis.Max)-1e-9))
	var ticks []plot.Tick
	for power := low; power <= high; power++ {
		ticks = append(ticks, plot.Tick{Value: math.Pow10(power), Label: powerOfTen(power)})
		for digit := 2; digit < 10 && power < high; digit++ {
			ticks = append(ticks, plot.Tick{Value: float64(digit) * math.Pow10(power)})
		}
	}
	axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.ConstantTicks(ticks)
	axis.Min, axis.Max = math.Pow10(low), math.Pow10(high)
}

// powerOfTen is in full where that is short.
func powerOfTen(power int) string {
	if power < -4 || power > 6 {
		return fmt.Sprintf("1e%d", power)
	}
	return strconv.FormatFloat(math.Pow10(power), 'f', -1, 64)
}
