package figure

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Line is a line of a figure with the name that tells it apart; "": none.
type Line struct {
	Name      string
	XYs       plotter.XYs
	Style     draw.LineStyle
	Low, High plotter.XYs // ends of an interval at each place, drawn as a band; nil: none
	mark      *draw.GlyphStyle
}

// plotter is the line, or its points where it has a mark, in a plot and in its legend.
func (l Line) plotter() interface {
	plot.Plotter
	plot.Thumbnailer
} {
	if l.mark != nil {
		return &plotter.Scatter{XYs: l.XYs, GlyphStyle: *l.mark}
	}
	return &plotter.Line{XYs: l.XYs, LineStyle: l.Style}
}

// intervals are the ends at each place, as bars.
func (l Line) intervals() bars {
	b := bars{style: draw.LineStyle{Color: l.Style.Color, Width: 1}}
	for i := range l.Low {
		none := math.NaN()
		b.of = append(b.of, Spot{X: l.Low[i].X, Y: none, XLow: none, XHigh: none, YLow: l.Low[i].Y, YHigh: l.High[i].Y})
	}
	return b
}

// DrawLines draws a plot to which the lines were added. Each name is written at the right end of
// its line, where all find room there; else they stand in a legend.
func DrawLines(p *plot.Plot, c draw.Canvas, lines []Line) {
	c = labelled(p, c)
	if !drawNamed(p, c, lines) {
		drawLegend(p, c, lines)
	}
}

// labelled draws the title over the whole canvas, and the label of each logarithmic axis at the
// middle of its side, takes them from the plot, and returns the rest of the canvas: gonum v0.17
// seeks the middle of such an axis at the mean of its ends, near its upper one, and leaves half the
// label's length free beyond it.
func labelled(p *plot.Plot, c draw.Canvas) draw.Canvas {
	if p.Title.Text != "" {
		FitTitle(p, c)
		style := p.Title.TextStyle
		style.XAlign, style.YAlign = draw.XCenter, draw.YTop
		c.FillText(style, vg.Point{X: c.Center().X, Y: c.Max.Y}, p.Title.Text)
		c = draw.Crop(c, 0, 0, 0, -style.Height(p.Title.Text)-p.Title.Padding)
		p.Title.Text = ""
	}
	if _, log := p.Y.Scale.(plot.LogScale); log && p.Y.Label.Text != "" {
		style := p.Y.Label.TextStyle
		style.Rotation, style.XAlign, style.YAlign = math.Pi/2, draw.XCenter, draw.YTop
		c.FillText(style, vg.Point{X: c.Min.X, Y: (c.Min.Y + p.X.Tick.Label.Height("0") + c.Max.Y) / 2}, p.Y.Label.Text)
		c = draw.Crop(c, style.Height(p.Y.Label.Text)+p.Y.Label.Padding, 0, 0, 0)
		p.Y.Label.Text = ""
	}
	if _, log := p.X.Scale.(plot.LogScale); log && p.X.Label.Text != "" {
		style := p.X.Label.TextStyle
		style.XAlign, style.YAlign = draw.XCenter, draw.YBottom
		c.FillText(style, vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: c.Min.Y}, p.X.Label.Text)
		c = draw.Crop(c, 0, 0, style.Height(p.X.Label.Text)+p.X.Label.Padding, 0)
		p.X.Label.Text = ""
	}
	return c
}

// Measures of names beside lines.
const (
	thumb    = 16   // length of the stroke that leads from a line to its name
	nameGap  = 3    // between the stroke and the name
	maxShare = 0.34 // of the width, for the names
	maxShift = 2.2  // of a name's height: how far it may be moved from the end of its line
)

// drawNamed draws the plot with names beside the ends of the lines. It draws nothing and returns
// false where a line ends before the others, where the names would take much of the width, or would
// stand far from their lines.
func drawNamed(p *plot.Plot, c draw.Canvas, lines []Line) bool {
	style := p.Legend.TextStyle
	style.XAlign, style.YAlign = draw.XLeft, draw.YCenter
	height := 1.15 * style.Height("Ag")
	var named []Line
	var width vg.Length
	last := math.Inf(-1)
	for _, l := range lines {
		for _, at := range l.XYs {
			last = max(last, at.X)
		}
		if l.Name != "" {
			named = append(named, l)
			width = max(width, thumb+nameGap+style.Width(l.Name))
		}
	}
	if len(named) == 0 || width > maxShare*(c.Max.X-c.Min.X) {
		return false
	}
	main := draw.Crop(c, 0, -width, 0, 0)
	inside := p.DataCanvas(main)
	x, y := p.Transforms(&inside)
	ends := make([]vg.Point, len(named))
	for i, l := range named {
		k := len(l.XYs) - 1
		if k < 0 || l.XYs[k].X < last {
			return false
		}
		ends[i] = vg.Point{X: x(l.XYs[k].X), Y: y(l.XYs[k].Y)}
	}
	heights, ok := spread(ends, height, inside.Min.Y, inside.Max.Y)
	if !ok {
		return false
	}
	p.Draw(main)
	for i, l := range named {
		leader := l.Style
		leader.Width = max(1, leader.Width/2)
		leader.Dashes = nil
		at := vg.Point{X: inside.Max.X + thumb, Y: heights[i]}
		c.StrokeLines(leader, []vg.Point{ends[i], at})
		style.Color = color.Black
		c.FillText(style, vg.Point{X: at.X + nameGap, Y: at.Y + height/8}, l.Name)
	}
	return true
}

// spread moves heights apart until they are at least gap from each other and within low and high,
// keeping their order. It fails where one moves too far.
func spread(ends []vg.Point, gap, low, high vg.Length) (heights []vg.Length, ok bool) {
	order := make([]int, len(ends))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case ends[a].Y < ends[b].Y:
			return -1
		case ends[a].Y > ends[b].Y:
			return 1
		}
		return 0
	})
	heights = make([]vg.Length, len(ends))
	for i, k := range order {
		heights[k] = max(low, ends[k].Y)
		// A group that touches is centred on its ends.
		for first := i; first >= 0; first-- {
			var middle vg.Length
			for _, m := range order[first : i+1] {
				middle += ends[m].Y / vg.Length(i+1-first)
			}
			bottom := min(max(middle-gap*vg.Length(i-first)/2, low), high-gap*vg.Length(i-first))
			if first > 0 && heights[order[first-1]]+gap > bottom {
				continue
			}
			for j, m := range order[first : i+1] {
				heights[m] = bottom + gap*vg.Length(j)
			}
			break
		}
	}
	for i, h := range heights {
		if h < low-0.01 || h > high+0.01 || math.Abs(float64(h-ends[i].Y)) > float64(maxShift*gap) {
			return nil, false
		}
	}
	return heights, true
}

// drawLegend draws the plot with its legend in a corner that no line crosses, else beside the plot,
// or below it where it is wide.
func drawLegend(p *plot.Plot, c draw.Canvas, lines []Line) {
	named := false
	for _, l := range lines {
		if l.Name != "" {
			named = true
			p.Legend.Add(l.Name, l.plotter())
		}
	}
	if !named {
		p.Draw(c)
		return
	}
	inside := p.DataCanvas(c)
	x, y := p.Transforms(&inside)
	size := p.Legend.Rectangle(inside).Size() // its place is on the wrong side in gonum v0.17
	const gap = 6                             // from the axis
	size.X += 2 * gap
	for _, corner := range []struct{ top, left bool }{{true, false}, {true, true}, {false, false}, {false, true}} {
		p.Legend.Top, p.Legend.Left = corner.top, corner.left
		box := inside
		if corner.left {
			box.Max.X = box.Min.X + size.X
			p.Legend.XOffs = gap
		} else {
			box.Min.X = box.Max.X - size.X
			p.Legend.XOffs = 0
		}
		if corner.top {
			box.Min.Y = box.Max.Y - size.Y
		} else {
			box.Max.Y = box.Min.Y + size.Y
		}
		free := true
		for _, line := range lines {
			points := make([]vg.Point, len(line.XYs))
			for i, at := range line.XYs {
				points[i] = vg.Point{X: x(at.X), Y: y(at.Y)}
			}
			free = free && len(box.ClipLinesXY(points)) == 0
		}
		if free {
			p.Draw(c)
			return
		}
	}
	outside := p.Legend
	outside.Top, outside.Left, outside.XOffs = true, true, gap
	p.Legend = plot.NewLegend()
	if size.X > maxShare*(c.Max.X-c.Min.X) {
		p.Draw(draw.Crop(c, 0, 0, size.Y+gap, 0))
		outside.Draw(draw.Crop(c, 0, 0, 0, size.Y+c.Min.Y-c.Max.Y))
		return
	}
	p.Draw(draw.Crop(c, 0, -size.X, 0, 0))
	outside.Draw(draw.Crop(c, c.Max.X-c.Min.X-size.X, 0, 0, 0))
}

// Lines is a picture of lines over common axes.
type Lines struct {
	Title, X, Y    string
	LogX, LogY     bool
	Stairs, Points bool // what holds between two places: see Paint
	Lines          []Line
}

// Paint draws the lines, each in the style of its place, with its band. Between two places the
// values are joined. With Stairs each value holds from the place before up to its own, as what is
// proven at a radius does, and nothing beyond the last. With Points nothing is said between places.
func (l Lines) Paint(c draw.Canvas) {
	p := NewPlot(l.Title, l.X, l.Y)
	lines := slices.Clone(l.Lines)
	for i, line := range lines {
		line.Style = LineStyle(i)
		if l.Stairs {
			line.XYs = stairs(line.XYs)
			if len(line.Low) > 0 {
				line.Low, line.High = stairs(line.Low), stairs(line.High)
			}
		}
		if l.Points {
			mark := spotStyle(i, 3)
			line.mark = &mark
			p.Add(line.intervals())
		} else if len(line.Low) > 0 {
			p.Add(band(line.Low, line.High, i))
		}
		lines[i] = line
		p.Add(line.plotter())
	}
	if l.Points {
		pad(&p.X)
		pad(&p.Y)
	}
	if l.LogX {
		LogTicks(&p.X)
	}
	if l.LogY {
		LogTicks(&p.Y)
	}
	c = Inset(c)
	if l.Points || l.Stairs { // stairs end below their names, and points have no end
		drawLegend(p, labelled(p, c), lines)
		return
	}
	DrawLines(p, c, lines)
}

// stairs are the corners of values that hold from the place before up to their own: level up to and
// including a place, then straight down or up, at last to zero.
func stairs(at plotter.XYs) (corners plotter.XYs) {
	from := 0.0
	for _, place := range at {
		corners = append(corners, plotter.XY{X: from, Y: place.Y}, place)
		from = place.X
	}
	return append(corners, plotter.XY{X: from})
}
