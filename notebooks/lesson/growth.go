package lesson

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/rs"
)

// Growth certifies images under the rule anytime with one budget of noise samples after the other,
// as a run that is stopped and goes on, on the ledger out/anytime-NAME.ledger, which it begins
// anew. The widget has for each budget the certified accuracy with its band and, since the model is
// a toy, the true one; below it stand the mean radius by budget, beside the rule fixed with as many
// samples for every image, and a table. The bands hold at all budgets together with probability 1 −
// delta. The last value says whether all of them hold the true mean radius.
func Growth(model classifier.Toy, data nb.Points, opt rs.Options, name string, delta float64,
	budgets ...int) (*nb.Widget, bool) {
	truth := trueRadii(model, data, opt.Sigma)
	most := 0.0
	for _, r := range truth {
		most = max(most, r)
	}
	var radii []float64
	for r := 0.0; r <= most*1.05; r += most / 60 {
		radii = append(radii, r)
	}
	opt.Rule, opt.Ledger = rs.Anytime, fmt.Sprintf("out/anytime-%s.ledger", name)
	if err := os.Remove(opt.Ledger); !errors.Is(err, fs.ErrNotExist) {
		nb.Check(err)
	}
	trueLine := nb.Line{Name: "true", X: radii}
	for _, r := range radii {
		trueLine.Y = append(trueLine.Y, shareFrom(truth, r))
	}
	growing, fixed, level := nb.Line{Name: "anytime"}, nb.Line{Name: "fixed"}, nb.Line{Name: "true"}
	rows := nb.Columns("budget", "noise samples", "mean radius", "band", "fixed: mean radius")
	slider := nb.Slider{Name: "noise samples", Start: len(budgets) / 2}
	var figures []*nb.Figure
	held := true
	mean := 0.0
	for _, r := range truth {
		mean += max(0, r) / float64(len(truth))
	}
	for _, budget := range budgets {
		opt.Until = rs.Until{Samples: budget}
		run := nb.Must(rs.Certify(nb.Context(), model, data, opt))
		plain := opt
		plain.Rule, plain.Ledger, plain.Until, plain.MaxSamples = rs.Fixed, "", rs.Until{},
			budget/len(run.Rows)-stopping.DefaultSelection
		same := nb.Must(rs.Certify(nb.Context(), model, data, plain))
		bands := nb.Must(run.Bands(delta, radii...))
		held = held && bands.Radius.Lower <= mean && mean <= bands.Radius.Upper

		certified := nb.Line{Name: "certified", X: radii}
		for i, a := range run.CertifiedAccuracy(radii...) {
			certified.Y = append(certified.Y, a.Value)
			certified.Low, certified.High = append(certified.Low, bands.Accuracy[i].Lower), append(certified.High,
				bands.Accuracy[i].Upper)
		}
		figures = append(figures, nb.Lines(nb.Axes{
			Title: fmt.Sprintf("The band holds the true curve\n%d images, %s noise samples in all, σ = %g, α = %g",
				len(run.Rows), printable.Count(run.Passes()), opt.Sigma, opt.Alpha),
			X: "radius", Y: "share of the images", Stairs: true,
			Caption: fmt.Sprintf("certified accuracy against the radius after %s noise samples, with the band of "+
				"the true one, and the true one", printable.Count(run.Passes())),
		}, certified, trueLine))
		slider.Values = append(slider.Values, printable.Count(budget))
		rows.Add(budget, run.Passes(), run.ACR().Value, fmt.Sprintf("%.3f to %.3f", bands.Radius.Lower,
			bands.Radius.Upper), same.ACR().Value)
		spent := float64(run.Passes())
		growing.X, growing.Y = append(growing.X, spent), append(growing.Y, run.ACR().Value)
		growing.Low, growing.High = append(growing.Low, bands.Radius.Lower), append(growing.High, bands.Radius.Upper)
		fixed.X, fixed.Y = append(fixed.X, float64(same.Passes())), append(fixed.Y, same.ACR().Value)
		level.X, level.Y = append(level.X, spent), append(level.Y, mean)
	}
	rows.Notes = []string{fmt.Sprintf("%d points, σ = %g, α = %g for each at all times together. Bands: of the "+
		"mean true radius, all of them together with probability %g; the true mean is %.3f.", len(truth), opt.Sigma,
		opt.Alpha, 1-delta, mean)}
	w := nb.Frames("certified accuracy by budget, rule anytime", slider, func(at int) *nb.Figure { return figures[at] },
		len(budgets)/2)
	w.Static = append(w.Static, nb.Lines(nb.Axes{
		Title: fmt.Sprintf("%d images, σ = %g, α = %g", len(truth), opt.Sigma, opt.Alpha), X: "noise samples in all",
		Y: "mean certified radius", LogX: true,
		Caption: "mean certified radius against the noise samples, with the band of the true one",
	}, growing, fixed, level), rows)
	return w, held
}

// trueRadii are the radii of the smoothed classifier by image, σ·Φ⁻¹ of the probability of the label,
// and −1 where it has another class.
func trueRadii(model classifier.Toy, data nb.Points, sigma float64) (radii []float64) {
	images := nb.Must(data.Load(nb.Context()))
	for i := range images.Len() {
		p := model.Probabilities(images.Image(i), sigma)[images.Labels[i]]
		radius := min(4*sigma, sigma*math.Sqrt2*math.Erfinv(2*p-1)) // as bands cut it
		if p <= 0.5 {
			radius = -1
		}
		radii = append(radii, radius)
	}
	return radii
}

// shareFrom is the share of values that reach one.
func shareFrom(values []float64, from float64) float64 {
	n := 0
	for _, v := range values {
		if v >= from {
			n++
		}
	}
	return float64(n) / float64(len(values))
}
