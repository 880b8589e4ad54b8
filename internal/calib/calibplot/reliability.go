// Package calibplot draws reliability diagrams.
package calibplot

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/internal/figure"
)

// Width and Height are the size of a diagram.
const (
	Width  = figure.Width
	Height = 1.4 * figure.Height
)

// Reliability paints a reliability diagram under a title that names the data: above, the accuracy
// of each bin with its mean confidence as a stroke, against the diagonal; below, the share of
// samples in it. Empty bins have no bar. With a band, of calib.ConsistencyBand, a grey area shows
// for each bin where the accuracy of calibrated confidences lies.
//
// Errors: no samples; a band of another length.
func Reliability(title string, bins []calib.Bin, band []calib.Bounds) (func(draw.Canvas), error) {
	total := 0
	for _, b := range bins {
		total += b.Count
	}
	if total == 0 {
		return nil, fmt.Errorf("reliability diagram: no samples to draw")
	}
	if band != nil && len(band) != len(bins) {
		return nil, fmt.Errorf("reliability diagram: a band of %d bins for %d", len(band), len(bins))
	}
	above, below := figure.NewPlot(title, "", "accuracy"), figure.NewPlot("", "confidence", "share")
	below.Y.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.5, Label: "0.5"}, {Value: 1, Label: "1"}}
	// Bands of small bins reach up to where the legend stands without them.
	legend := &above.Legend
	if band != nil {
		legend = &below.Legend
	}
	named := false
	for m, b := range bins {
		if b.Count == 0 {
			continue
		}
		accuracy := bar(b, 0, b.Accuracy, figure.Palette[5])
		mean := &plotter.Line{XYs: plotter.XYs{{X: b.Lower, Y: b.Confidence}, {X: b.Upper, Y: b.Confidence}},
			LineStyle: figure.LineStyle(1)}
		mean.Dashes = nil
		above.Add(accuracy)
		var within *plotter.Polygon
		if band != nil {
			within = bar(b, band[m].Lower, band[m].Upper, color.NRGBA{A: 64})
			within.LineStyle.Width = vg.Points(1)
			above.Add(within)
		}
		above.Add(mean)
		below.Add(bar(b, 0, float64(b.Count)/float64(total), figure.Palette[4]))
		if !named {
			named = true
			legend.Add("accuracy", accuracy)
			legend.Add("mean confidence", mean)
			if band != nil {
				legend.Add("where calibrated ones lie", within)
			}
		}
	}
	diagonal := &plotter.Line{XYs: plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, LineStyle: figure.LineStyle(6)}
	above.Add(diagonal)
	legend.Left = true
	legend.Add("calibrated", diagonal)
	for _, p := range []*plot.Plot{above, below} {
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	}
	return func(c draw.Canvas) {
		c = figure.Inset(c)
		height := c.Max.Y - c.Min.Y
		top := draw.Crop(c, 0, 0, 0.42*height, 0)
		figure.FitTitle(above, top)
		above.Draw(top)
		below.Draw(draw.Crop(c, 0, 0, 0, -0.6*height))
	}, nil
}

// bar is a rectangle over a bin. Its points are finite, so that plotter has no error.
func bar(b calib.Bin, low, high float64, fill color.Color) *plotter.Polygon {
	p := &plotter.Polygon{XYs: []plotter.XYs{{{X: b.Lower, Y: low}, {X: b.Upper, Y: low}, {X: b.Upper, Y: high},
		{X: b.Lower, Y: high}}}}
	p.Color, p.LineStyle.Color, p.LineStyle.Width = fill, figure.Grey, 0.5
	return p
}
