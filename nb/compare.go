package nb

import (
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/compare"
)

// Compare draws two runs on the same images: above, both curves of certified accuracy; below, the difference b − a at
// each radius up to the smaller cap, with its 95 % interval of the paired bootstrap over the images. The caption says
// first what differs between the runs, and has the difference of the average certified radii.
func Compare(a, b *rs.Run) *Figure {
	var radii []float64
	most := min(a.RadiusCap(), b.RadiusCap())
	for i := range 41 {
		radii = append(radii, most*float64(i)/40)
	}
	c, err := compare.Runs(Context(), compare.OfRun(a), compare.OfRun(b), radii, resample.Options{Resamples: 2000})
	end(err)
	if err != nil {
		return nil
	}
	names := runNames([]*rs.Run{a, b}, false)
	var difference Line
	for _, at := range c.CertifiedAccuracy {
		difference.X, difference.Y = append(difference.X, at.Radius), append(difference.Y, at.Difference.Difference)
		difference.Low = append(difference.Low, at.Interval.Low)
		difference.High = append(difference.High, at.Interval.High)
	}
	curves := Curve(a, b)
	below := Lines(Axes{X: "radius r (ℓ₂; full range of a pixel value = 1)", Y: "b − a",
		Stairs: true}, difference,
		Line{X: []float64{0, 1.02 * most}, Y: []float64{0, 0}})
	return &Figure{
		Caption: fmt.Sprintf("%s Certified accuracy of %s and %s, and the second less the first, on %d images, up to "+
			"the smaller cap; average certified radius %s", compare.Heading(c.Differ), names[0], names[1], c.Images,
			differs(c.ACR)),
		Width: figure.Width, Height: 1.6 * figure.Height, numbers: below.numbers,
		paint: func(f *Figure, canvas draw.Canvas) {
			height := canvas.Max.Y - canvas.Min.Y
			curves.Title, curves.X, curves.Y, below.X = f.Title, f.X, f.Y, f.X
			curves.paint(curves, draw.Crop(canvas, 0, 0, vg.Length(0.38)*height, 0))
			below.paint(below, draw.Crop(canvas, 0, 0, 0, -vg.Length(0.62)*height))
		},
	}
}

// differs says a difference with its interval.
func differs(d compare.Difference) string {
	return fmt.Sprintf("%.3f and %.3f: %+.3f (%.3f to %.3f)", d.A, d.B, d.Difference, d.Interval.Low, d.Interval.High)
}
