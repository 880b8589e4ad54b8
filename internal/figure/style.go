// Package figure holds the style of all figures (colours, lines, letters, margins), the curve of
// certified accuracy, and the writers of SVG and PDF.
package figure

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Palette of Okabe and Ito (2008), which colour-blind people can tell apart, without
// yellow, which is too light for a line.
var Palette = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{230, 159, 0, 255}, {86, 180, 233, 255}, {0, 0, 0, 255},
}

// dashes differ as well as colours, for grey print.
var dashes = [][]vg.Length{nil, {6, 2}, {2, 2}, {8, 2, 2, 2}, {4, 4}, {1, 3}, {10, 3}}

// Colours of axes and words, and of the grid.
var (
	Grey  = color.Gray{110}
	Faint = color.Gray{225}
)

// Words stand above a plot and at its axes.
type Words struct{ Title, X, Y string }

// NewPlot is an empty plot in our style: sans-serif, a light grid, axis labels with units.
func NewPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	for _, style := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle,
		&p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Variant = "Sans"
	}
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle.Font.Size = 10
	p.Title.Padding, p.X.Label.Padding, p.Y.Label.Padding = 6, 4, 4
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font.Size = 11
		axis.Tick.Label.Font.Size = 9
		axis.Tick.Color, axis.LineStyle.Color = Grey, Grey
		axis.Padding = 0
		axis.Tick.Marker = roundTicks{}
	}
	p.Legend.TextStyle.Font.Size = 10
	p.Legend.Top = true
	p.Legend.ThumbnailWidth = 26
	p.Legend.Padding = 2
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = Faint, Faint
	p.Add(grid)
	return p
}

// FitTitle makes the title of a plot as small as its canvas is narrow.
func FitTitle(p *plot.Plot, c draw.Canvas) {
	style := &p.Title.TextStyle
	if room, width := c.Max.X-c.Min.X, style.Width(p.Title.Text); width > room {
		style.Font.Size *= room / width
	}
}

// LineStyle of the i-th line of a figure.
func LineStyle(i int) draw.LineStyle {
	return draw.LineStyle{Color: Palette[i%len(Palette)], Dashes: dashes[i%len(dashes)], Width: 1.6}
}

// Label is the style for words outside a plot.
func Label(size vg.Length, c color.Color) text.Style {
	style := plot.New().X.Label.TextStyle
	style.Font.Variant, style.Font.Size, style.Color = "Sans", size, c
	style.XAlign, style.YAlign = text.XCenter, text.YTop
	return style
}
