package figure

import (
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Panel is a scatter of points in series, each with a straight line whose opacity is its R².
// Coordinates are those in which the lines are straight; a probit axis is labelled in percent.
type Panel struct {
	Title            string
	X, Y             string
	ProbitX, ProbitY bool
	// of the places 0, 1, … of the x axis, which are no numbers; the series stand side by side
	// there
	Names  []string
	Series []Series
}

// Series is points of one colour and shape.
type Series struct {
	Name   string
	Points []Spot
	Lines  []Fit
}

// Spot is a point with its intervals; NaN: none, and with X none but them. Its name is seen by who points at it.
type Spot struct {
	X, Y, XLow, XHigh, YLow, YHigh float64
	Name                           string
}

// Fit is a straight line from one x to another.
type Fit struct{ Slope, Intercept, R2, From, To float64 }

var spotShapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.TriangleGlyph{}, draw.SquareGlyph{}, draw.CrossGlyph{},
	draw.RingGlyph{}, draw.PyramidGlyph{}, draw.PlusGlyph{}}

// plot is the panel with points of a radius.
func (p Panel) plot(radius vg.Length) *plot.Plot {
	out := NewPlot(p.Title, p.X, p.Y)
	for i, s := range p.Series {
		ink := Palette[i%len(Palette)]
		faint := color.NRGBA{ink.R, ink.G, ink.B, 90}
		points := slices.Clone(s.Points)
		var spots plotter.XYs
		var names []string
		for k := range points {
			if p.Names != nil {
				points[k].X += 0.6 * (float64(i) + 0.5 - float64(len(p.Series))/2) / float64(len(p.Series))
			}
			if !math.IsNaN(points[k].X) {
				spots, names = append(spots, plotter.XY{X: points[k].X, Y: points[k].Y}), append(names, points[k].Name)
			}
		}
		out.Add(bars{points, draw.LineStyle{Color: faint, Width: radius / 3}})
		for _, l := range s.Lines {
			style := draw.LineStyle{Color: color.NRGBA{ink.R, ink.G, ink.B,
				uint8(math.Round(255 * min(max(l.R2, 0), 1)))}, Dashes: dashes[i%len(dashes)], Width: radius * 0.6}
			out.Add(&plotter.Line{XYs: plotter.XYs{{X: l.From, Y: l.Slope*l.From + l.Intercept},
				{X: l.To, Y: l.Slope*l.To + l.Intercept}}, LineStyle: style})
		}
		out.Add(&plotter.Scatter{XYs: spots, GlyphStyle: spotStyle(i, radius)}, hints{spots, names})
	}
	pad(&out.X)
	pad(&out.Y)
	if p.ProbitX {
		out.X.Tick.Marker = probitTicks{}
	}
	if p.ProbitY {
		out.Y.Tick.Marker = probitTicks{}
	}
	if p.Names != nil {
		var ticks plot.ConstantTicks
		for i, name := range p.Names {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: name})
		}
		out.X.Tick.Marker, out.X.Min, out.X.Max = ticks, -0.4, float64(len(p.Names))-0.6
	}
	return out
}

func spotStyle(i int, radius vg.Length) draw.GlyphStyle {
	return draw.GlyphStyle{Color: Palette[i%len(Palette)], Radius: radius,
		Shape: spotShapes[(i+i/len(Palette))%len(spotShapes)]}
}

// pad leaves room around the points.
func pad(axis *plot.Axis) {
	room := (axis.Max - axis.Min) / 20
	if !(room > 0) || math.IsInf(room, 0) {
		room = 0.05
	}
	axis.Min, axis.Max = axis.Min-room, axis.Max+room
}

// probitTicks are round percentages at their probits.
type probitTicks struct{}

// Ticks implements plot.Ticker: the coarsest of some lists of percentages of which at least four
// lie in the range, thinned to at most seven.
func (probitTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	every := func(step float64) (all []float64) {
		for share := step; share < 100; share += step {
			all = append(all, share)
		}
		return all
	}
	for _, list := range [][]float64{{0.1, 1, 10, 50, 90, 99, 99.9}, {0.1, 1, 5, 20, 50, 80, 95, 99, 99.9},
		{0.1, 1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.9},
		every(5), every(2), every(1), every(0.5), every(0.1)} {
		ticks = ticks[:0]
		for _, share := range list {
			if at := -math.Sqrt2 * math.Erfcinv(share/50); at >= low && at <= high {
				ticks = append(ticks, plot.Tick{Value: at, Label: strconv.FormatFloat(math.Round(10*share)/10, 'g', -1,
					64)})
			}
		}
		if len(ticks) >= 4 {
			break
		}
	}
	if step := (len(ticks) + 6) / 7; step > 1 {
		for i := range ticks {
			if i%step != 0 {
				ticks[i].Label = ""
			}
		}
	}
	return ticks
}

// Grid is panels in rows, with one legend of their series below.
type Grid struct {
	Title   string
	Columns int
	Panels  []Panel
}

// Size is the size of the picture.
func (g Grid) Size() (width, height vg.Length) {
	if len(g.Panels) == 1 {
		return Width, Height
	}
	return vg.Length(g.Columns) * panelWidth, vg.Length((len(g.Panels)+g.Columns-1)/g.Columns)*panelHeight +
		2*legendHeight
}

const (
	panelWidth   = 2.5 * vg.Inch
	panelHeight  = 2 * vg.Inch
	legendHeight = 20
	rowHeight    = 13 // of each further row of the legend
)

// Paint draws the panels, row by row, the title above them and the legend below.
func (g Grid) Paint(c draw.Canvas) {
	c = Inset(c)
	radius := vg.Length(2)
	if len(g.Panels) == 1 {
		radius = 3
	}
	if g.Title != "" {
		style := Label(10, color.Black)
		c.FillText(style, vg.Point{X: c.Center().X, Y: c.Max.Y}, g.Title)
		c = draw.Crop(c, 0, 0, 0, -legendHeight-12*vg.Length(strings.Count(g.Title, "\n")))
	}
	c = g.legend(c, radius)
	rows := (len(g.Panels) + g.Columns - 1) / g.Columns
	w, h := (c.Max.X-c.Min.X)/vg.Length(g.Columns), (c.Max.Y-c.Min.Y)/vg.Length(rows)
	for i, panel := range g.Panels {
		column, row := vg.Length(i%g.Columns), vg.Length(i/g.Columns)
		p := panel.plot(radius)
		if len(g.Panels) > 1 {
			for _, style := range []*draw.TextStyle{&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.Title.TextStyle} {
				style.Font.Size = 8
			}
			p.X.Tick.Label.Font.Size, p.Y.Tick.Label.Font.Size = 7, 7
		}
		at := draw.Crop(c, column*w, (column+1-vg.Length(g.Columns))*w-12, (vg.Length(rows)-1-row)*h+10, -row*h)
		FitTitle(p, at)
		p.Draw(at)
	}
}

// legend draws the names of the series below the panels, in as many rows as they need, and gives the canvas above.
func (g Grid) legend(c draw.Canvas, radius vg.Length) draw.Canvas {
	var names []string
	for _, p := range g.Panels {
		for i, s := range p.Series {
			if i >= len(names) && s.Name != "" {
				names = append(names, s.Name)
			}
		}
	}
	if len(names) < 2 {
		return c
	}
	style := Label(9, color.Black)
	style.XAlign, style.YAlign = draw.XLeft, draw.YCenter
	type row struct {
		from, to int
		width    vg.Length
	}
	rows := []row{{}}
	for i, name := range names {
		last, width := &rows[len(rows)-1], style.Width(name)+24
		if i > last.from && last.width+width > c.Max.X-c.Min.X {
			rows = append(rows, row{from: i})
			last = &rows[len(rows)-1]
		}
		last.to, last.width = i+1, last.width+width
	}
	for k, r := range rows {
		x, y := c.Min.X+max(0, (c.Max.X-c.Min.X-r.width)/2), c.Min.Y+vg.Length(len(rows)-1-k)*rowHeight+legendHeight/2-4
		for i := r.from; i < r.to; i++ {
			c.DrawGlyph(spotStyle(i, radius+0.5), vg.Point{X: x, Y: y})
			c.FillText(style, vg.Point{X: x + 8, Y: y + 1}, names[i])
			x += style.Width(names[i]) + 24
		}
	}
	return draw.Crop(c, 0, 0, legendHeight+vg.Length(len(rows)-1)*rowHeight, 0)
}
