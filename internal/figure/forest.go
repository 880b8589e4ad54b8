package figure

import (
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Forest is a dot plot of numbers with intervals, a line for each, its name at the left.
type Forest struct {
	Title, X string
	Rows     []ForestRow // from the top
}

// ForestRow is a number with its interval, the number that it is compared with, and a published one, if there is.
type ForestRow struct {
	Name                    string
	Value, Low, High, Bound float64
	Published               *float64
	Ink                     color.Color
}

// Size of the drawing.
func (f Forest) Size() (width, height vg.Length) {
	return 600, 14*vg.Length(len(f.Rows)) + 42 + f.heading()
}

// heading is the height of the title.
func (f Forest) heading() vg.Length { return 18 + 12*vg.Length(strings.Count(f.Title, "\n")) }

// Paint draws the rows.
func (f Forest) Paint(c draw.Canvas) {
	p := NewPlot("", f.X, "")
	p.Y.Min, p.Y.Max = -0.6, float64(len(f.Rows))-0.4
	p.Y.Tick.Marker, p.Y.LineStyle.Width = plot.ConstantTicks(nil), 0
	names := Label(9, color.Black)
	names.XAlign, names.YAlign = text.XLeft, text.YCenter
	longest := vg.Length(0)
	for i, r := range f.Rows {
		y := float64(len(f.Rows) - 1 - i)
		segment := func(from, to plotter.XY, ink color.Color, width vg.Length) {
			p.Add(&plotter.Line{XYs: plotter.XYs{from, to}, LineStyle: draw.LineStyle{Color: ink, Width: width}})
		}
		mark := func(x float64, ink color.Color, shape draw.GlyphDrawer) {
			style := draw.GlyphStyle{Color: ink, Radius: 3.2, Shape: shape}
			p.Add(&plotter.Scatter{XYs: plotter.XYs{{X: x, Y: y}}, GlyphStyle: style})
		}
		segment(plotter.XY{X: r.Bound, Y: y - 0.5}, plotter.XY{X: r.Bound, Y: y + 0.5}, Grey, 1)
		segment(plotter.XY{X: r.Low, Y: y}, plotter.XY{X: r.High, Y: y}, r.Ink, 2)
		mark(r.Value, r.Ink, draw.CircleGlyph{})
		if r.Published != nil {
			mark(*r.Published, color.Black, draw.RingGlyph{})
		}
		longest = max(longest, names.Width(r.Name))
	}
	pad := (p.X.Max - p.X.Min) / 25
	p.X.Min, p.X.Max = p.X.Min-pad, p.X.Max+pad
	inset := Inset(c)
	title := Label(10, color.Black)
	title.XAlign = text.XLeft
	inset.FillText(title, vg.Point{X: inset.Min.X, Y: inset.Max.Y}, f.Title)
	inner := draw.Crop(inset, longest+10, 0, 0, -f.heading())
	p.Draw(inner)
	data := p.DataCanvas(inner)
	for i, r := range f.Rows {
		share := (float64(len(f.Rows)-1-i) - p.Y.Min) / (p.Y.Max - p.Y.Min)
		at := vg.Point{X: inset.Min.X, Y: data.Min.Y + (data.Max.Y-data.Min.Y)*vg.Length(share)}
		inset.FillText(names, at, r.Name)
	}
}
