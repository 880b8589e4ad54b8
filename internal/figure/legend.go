package figure

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// DrawLines draws a plot of lines, with its legend in a corner that none of them crosses, else beside the plot.
func DrawLines(p *plot.Plot, c draw.Canvas, lines []plotter.XYs) {
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
			points := make([]vg.Point, len(line))
			for i, at := range line {
				points[i] = vg.Point{X: x(at.X), Y: y(at.Y)}
			}
			free = free && len(box.ClipLinesXY(points)) == 0
		}
		if free {
			p.Draw(c)
			return
		}
	}
	beside := p.Legend
	beside.Top, beside.Left = true, true
	p.Legend = plot.NewLegend()
	p.Draw(draw.Crop(c, 0, -size.X, 0, 0))
	beside.XOffs = gap
	beside.Draw(draw.Crop(c, c.Max.X-c.Min.X-size.X, 0, 0, 0))
}
