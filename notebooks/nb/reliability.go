package nb

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/internal/figure"
)

// Reliability draws a reliability diagram under a title that names the data: above, the accuracy of each bin with its mean confidence as a stroke, against the
// diagonal; below, the share of samples in it. Empty bins have no bar.
func Reliability(title string, bins []calib.Bin) *Figure {
	total := 0
	for _, b := range bins {
		total += b.Count
	}
	if total == 0 {
		end(fmt.Errorf("nb.Reliability: no samples to draw"))
		return nil
	}
	return &Figure{Caption: "reliability diagram, accuracy against confidence: " + title, Width: figure.Width, Height: 1.4 * figure.Height, paint: func(c draw.Canvas) {
		above, below := figure.NewPlot(title, "", "accuracy"), figure.NewPlot("", "confidence", "share of samples")
		diagonal := &plotter.Line{XYs: plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, LineStyle: figure.LineStyle(6)}
		named := false
		for _, b := range bins {
			if b.Count == 0 {
				continue
			}
			accuracy, share := bar(b, b.Accuracy, figure.Palette[5]), bar(b, float64(b.Count)/float64(total), figure.Palette[4])
			mean := &plotter.Line{XYs: plotter.XYs{{X: b.Lower, Y: b.Confidence}, {X: b.Upper, Y: b.Confidence}}, LineStyle: figure.LineStyle(1)}
			mean.Dashes = nil
			above.Add(accuracy, mean)
			below.Add(share)
			if !named {
				named = true
				above.Legend.Add("accuracy", accuracy)
				above.Legend.Add("mean confidence", mean)
			}
		}
		above.Add(diagonal)
		above.Legend.Left = true
		above.Legend.Add("calibrated", diagonal)
		for _, p := range []*plot.Plot{above, below} {
			p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
		}
		c = figure.Inset(c)
		height := c.Max.Y - c.Min.Y
		above.Draw(draw.Crop(c, 0, 0, 0.36*height, 0))
		below.Draw(draw.Crop(c, 0, 0, 0, -0.66*height))
	}}
}

// bar is a rectangle over a bin.
func bar(b calib.Bin, height float64, fill color.Color) *plotter.Polygon {
	p, err := plotter.NewPolygon(plotter.XYs{{X: b.Lower, Y: 0}, {X: b.Upper, Y: 0}, {X: b.Upper, Y: height}, {X: b.Lower, Y: height}})
	end(err)
	p.Color, p.LineStyle.Color, p.LineStyle.Width = fill, figure.Grey, 0.5
	return p
}
