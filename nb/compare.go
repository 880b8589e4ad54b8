package nb

import (
	"fmt"
	"sync"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/table"
)

// drawnWith are figures that Show puts above a result, by the result: they are of more than it holds.
var drawnWith sync.Map

// Compare compares two runs on the same images: the average certified radius, and the certified accuracy at some radii,
// by default at the multiples of ¼ up to the smaller cap. Shown, it says first which settings differ. Then come both
// curves, the difference b − a at each radius, and a table with intervals, p-values and verdicts: higher, lower or
// open. Radii are cut at the smaller cap; where more than the model differs, nothing is claimed. An error ends the
// cell.
func Compare(a, b *rs.Run, radii ...float64) *compare.Comparison {
	c, err := compared(a, b, radii)
	end(err)
	return c
}

func compared(a, b *rs.Run, radii []float64) (*compare.Comparison, error) {
	most := min(a.RadiusCap(), b.RadiusCap())
	if len(radii) == 0 {
		for i := 0; float64(i)/4 <= most; i++ {
			radii = append(radii, float64(i)/4)
		}
	}
	c, err := compare.Runs(Context(), compare.OfRun(a), compare.OfRun(b), radii, resample.Options{})
	if err != nil {
		return nil, err
	}
	var all []float64
	for i := range 41 {
		all = append(all, most*float64(i)/40)
	}
	along, err := compare.Runs(Context(), compare.OfRun(a), compare.OfRun(b), all, resample.Options{Resamples: 2000})
	if err != nil {
		return nil, err
	}
	names := runNames([]*rs.Run{a, b}, false)
	difference := Line{}
	for _, at := range along.CertifiedAccuracy {
		difference.X, difference.Y = append(difference.X, at.Radius), append(difference.Y, at.Difference.Difference)
		difference.Low = append(difference.Low, at.Interval.Low)
		difference.High = append(difference.High, at.Interval.High)
	}
	below := Lines(Axes{X: "radius r (ℓ₂; full range of a pixel value = 1)", Y: "b − a", Stairs: true,
		Title: fmt.Sprintf("b − a on %s images, with 95 %% intervals at each radius alone", printable.Count(c.Images)),
		Caption: fmt.Sprintf("certified accuracy of %s less that of %s against the radius, up to the smaller cap",
			names[1], names[0])},
		difference, Line{X: []float64{0, 1.02 * most}, Y: []float64{0, 0}})
	drawnWith.Store(c, []any{Curve(a, b), below})
	return c, nil
}

func comparison(c *compare.Comparison) []any {
	t := Columns("metric", "a", "b", "b − a", "95 %", "p (Holm)", "verdict")
	add := func(name string, d compare.Difference) {
		t.Add(name, d.A, d.B, d.Difference, span(d.Interval.Low, d.Interval.High),
			table.Rounded{Value: d.Corrected(), Decimals: 4}, c.Verdicts[len(t.Rows)].Verdict)
	}
	add("average certified radius", c.ACR)
	for _, at := range c.CertifiedAccuracy {
		add(fmt.Sprintf("certified accuracy at %g", at.Radius), at.Difference)
	}
	t.Notes = []string{fmt.Sprintf("%d images in both, paired; intervals of %s. p is corrected by Holm for this table; "+
		"open: nothing is shown.", c.Images, compare.MethodOf(c.Images, c.Bootstrap))}
	if c.Cap > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("Radii are cut at the smaller cap, %.4f.", c.Cap))
	}
	drawn, _ := drawnWith.Load(c)
	figures, _ := drawn.([]any)
	return append(append([]any{compare.Heading(c.Differ)}, figures...), t)
}
