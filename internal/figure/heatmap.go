package figure

import (
	"cmp"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// HeatMap is a matrix of values in colours from black (Low) over red to white (High), which keep
// their order in grey print and for colour-blind people, beside its scale. From −π to π values are angles, in
// colours that end where they begin. It is square. Numbers of rows and columns stand at their place: one that is
// missing has the colour of the nearest.
type HeatMap struct {
	Title     string
	X, Y      string    // names of the axes
	Columns   []int     // number of each column, ascending to the right
	Rows      []int     // number of each row, ascending upwards
	Values    []float64 // row by row
	Low, High float64   // values at the ends of the scale; those beyond have their colours
}

// Paint draws the map and its scale.
func (m HeatMap) Paint(c draw.Canvas) {
	m.paintMap(draw.Crop(c, 0, -barWidth, 0, 0))
	m.paintBar(draw.Crop(c, c.Max.X-c.Min.X-barWidth, 0, 0, 0))
}

func (m HeatMap) paintMap(c draw.Canvas) {
	p := NewPlot(m.Title, m.X, m.Y)
	places := int((c.Max.X-c.Min.X)/(0.4*vg.Inch) + 0.5)
	p.X.Tick.Marker, p.Y.Tick.Marker = placeTicks(m.Columns, places), placeTicks(m.Rows, places)
	cells := m.colours(m.filled())
	below := *cells
	below.Rasterized = true // no white seams between the cells
	p.Add(&below, cells)
	c = draw.Crop(c, 4, 0, 2, -4)
	FitTitle(p, c)
	p.Draw(square(p, c))
}

// square makes the data of a plot as high as wide. A name of the axis that is wider than the data takes more from its
// width than what is cut off.
func square(p *plot.Plot, c draw.Canvas) draw.Canvas {
	size := p.DataCanvas(c).Size()
	if size.Y > size.X {
		return draw.Crop(c, 0, 0, size.Y-size.X, 0)
	}
	least, most := vg.Length(0), size.X-size.Y
	for range 20 {
		cut := (least + most) / 2
		if p.DataCanvas(draw.Crop(c, 0, -cut, 0, 0)).Size().X > size.Y {
			least = cut
		} else {
			most = cut
		}
	}
	return draw.Crop(c, 0, -most, 0, 0)
}

// filled is the matrix with all whole numbers between those of its rows and columns.
func (m HeatMap) filled() plane {
	columns, rows := nearest(m.Columns), nearest(m.Rows)
	p := plane{columns: len(columns)}
	for _, r := range rows {
		for _, c := range columns {
			p.values = append(p.values, m.Values[r*len(m.Columns)+c])
		}
	}
	return p
}

// nearest has the place of the nearest of some ascending numbers for each whole number between the first and the last;
// of two the one that is nearer to 0.
func nearest(numbers []int) (places []int) {
	if len(numbers) == 0 {
		return nil
	}
	at := 0
	for n := numbers[0]; n <= numbers[len(numbers)-1]; n++ {
		for at+1 < len(numbers) {
			past, next := n-numbers[at], numbers[at+1]-n
			if next > past || next == past && n > 0 {
				break
			}
			at++
		}
		places = append(places, at)
	}
	return places
}

// paintBar draws the scale.
func (m HeatMap) paintBar(c draw.Canvas) {
	bar := NewPlot(" ", " ", "")
	const steps = 64
	shades := make([]float64, steps)
	for i := range shades {
		shades[i] = m.Low + (m.High-m.Low)*float64(i)/(steps-1)
	}
	colours := m.colours(plane{1, shades})
	colours.Rasterized = true // no seams between the shades
	bar.Add(colours)
	var ticks plot.ConstantTicks
	for _, t := range (roundTicks{}).Ticks(m.Low, m.High) {
		ticks = append(ticks, plot.Tick{Value: (t.Value - m.Low) / (m.High - m.Low) * (steps - 1), Label: t.Label})
	}
	// the blank keeps the axes of both level
	bar.X.Tick.Marker, bar.Y.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: " "}}, ticks
	bar.X.LineStyle.Width, bar.X.Tick.LineStyle.Width = 0, 0
	bar.Draw(draw.Crop(c, 8, -4, 2, -4))
}

func (m HeatMap) colours(p plane) *plotter.HeatMap {
	var colours palette.Palette = circle{}
	if m.Low != -math.Pi || m.High != math.Pi {
		scale := moreland.BlackBody()
		scale.SetMin(0)
		scale.SetMax(1)
		colours = scale.Palette(255)
	}
	h := plotter.NewHeatMap(p, colours)
	h.Min, h.Max = m.Low, m.High
	if !(h.Max > h.Min) {
		h.Max = math.Nextafter(h.Min, math.Inf(1))
	}
	h.Underflow, h.Overflow = colours.Colors()[0], colours.Colors()[254]
	return h
}

// circle has the colours of angles from −π to π: white at ±π, black at 0, blue below and red above, as dark as each
// other at the same distance from 0, so that colour-blind people see that distance.
type circle struct{}

func (circle) Colors() []color.Color {
	at := []color.RGBA{{240, 240, 240, 255}, {60, 120, 190, 255}, {20, 10, 30, 255}, {205, 80, 60, 255},
		{240, 240, 240, 255}}
	colours := make([]color.Color, 255)
	for i := range colours {
		part, along := math.Modf(float64(i) * 4 / 255)
		a, b := at[int(part)], at[int(part)+1]
		mix := func(a, b uint8) uint8 { return uint8(float64(a) + along*(float64(b)-float64(a)) + 0.5) }
		colours[i] = color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
	}
	return colours
}

// plane is a matrix whose cells stand at whole numbers from 0 on.
type plane struct {
	columns int
	values  []float64
}

func (p plane) Dims() (c, r int)   { return p.columns, len(p.values) / p.columns }
func (p plane) Z(c, r int) float64 { return p.values[r*p.columns+c] }
func (p plane) X(c int) float64    { return float64(c) }
func (p plane) Y(r int) float64    { return float64(r) }

// placeTicks names at most so many of the whole numbers between the first and the last, zero among them.
func placeTicks(numbers []int, most int) plot.ConstantTicks {
	if len(numbers) == 0 {
		return nil
	}
	first, last := numbers[0], numbers[len(numbers)-1]
	step := (last - first + most) / most
	var ticks plot.ConstantTicks
	for n := first; n <= last; n++ {
		if n%step == 0 {
			ticks = append(ticks, plot.Tick{Value: float64(n - first), Label: minus(fmt.Sprint(n))})
		}
	}
	return ticks
}

// HeatMaps are maps side by side, in rows, on one scale, whose bar stands at the right of the first row.
type HeatMaps struct {
	Title     string    // above all of them
	Columns   int       // at most
	Side      vg.Length // of a map; 0 is mapSide
	Low, High float64
	Maps      []HeatMap
}

// Measures of maps and their scale.
const (
	mapSide  = 2.4 * vg.Inch
	barWidth = 0.75 * vg.Inch
	heading  = 18 // points above the maps
)

func (m HeatMaps) lines() (columns, lines int) {
	return min(len(m.Maps), m.Columns), (len(m.Maps) + m.Columns - 1) / m.Columns
}

// Size is the size of the picture.
func (m HeatMaps) Size() (width, height vg.Length) {
	columns, lines := m.lines()
	side := cmp.Or(m.Side, mapSide)
	return vg.Length(columns)*side + barWidth, vg.Length(lines)*side + m.heading()
}

func (m HeatMaps) heading() vg.Length {
	if m.Title == "" {
		return 0
	}
	return heading
}

// Paint draws the maps.
func (m HeatMaps) Paint(c draw.Canvas) {
	width, height := m.Size()
	side := cmp.Or(m.Side, mapSide)
	above := Label(10, color.Black)
	above.XAlign = text.XLeft
	c.FillText(above, vg.Point{X: c.Min.X + Margin, Y: c.Max.Y - 4}, m.Title)
	for i, one := range m.Maps {
		left, top := vg.Length(i%m.Columns)*side, m.heading()+vg.Length(i/m.Columns)*side
		one.Low, one.High = m.Low, m.High
		row := draw.Crop(c, 0, 0, height-side-top, -top)
		one.paintMap(draw.Crop(row, left, left+side-width, 0, 0))
		if i == 0 {
			one.paintBar(draw.Crop(row, width-barWidth, 0, 0, 0))
		}
	}
}
