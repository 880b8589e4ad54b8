package figure

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// bars are the intervals of points, stroked as one path, so that a picture of a thousand stays small.
type bars struct {
	of    []Spot
	style draw.LineStyle
}

// ends of the horizontal and vertical bar; NaN where there is none.
func (s Spot) ends() [2][2]Spot {
	return [2][2]Spot{{{X: s.XLow, Y: s.Y}, {X: s.XHigh, Y: s.Y}}, {{X: s.X, Y: s.YLow}, {X: s.X, Y: s.YHigh}}}
}

// Plot implements plot.Plotter.
func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var path vg.Path
	b.each(func(from, to Spot) {
		path.Move(vg.Point{X: x(from.X), Y: y(from.Y)})
		path.Line(vg.Point{X: x(to.X), Y: y(to.Y)})
	})
	c.SetLineStyle(b.style)
	c.Stroke(path)
}

// DataRange implements plot.DataRanger.
func (b bars) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax, ymin, ymax = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	b.each(func(from, to Spot) {
		xmin, xmax = min(xmin, from.X, to.X), max(xmax, from.X, to.X)
		ymin, ymax = min(ymin, from.Y, to.Y), max(ymax, from.Y, to.Y)
	})
	return xmin, xmax, ymin, ymax
}

func (b bars) each(do func(from, to Spot)) {
	for _, s := range b.of {
		for _, bar := range s.ends() {
			if !math.IsNaN(bar[0].X + bar[0].Y + bar[1].X + bar[1].Y) {
				do(bar[0], bar[1])
			}
		}
	}
}
