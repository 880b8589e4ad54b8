package nb

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/rs"
)

// Curve draws certified accuracy against the radius, one step line per run, with its 95 % interval for the population
// behind the images and the largest radius that its noise samples can certify. Settings that all runs share stand above
// the figure.
func Curve(runs ...*rs.Run) *Figure {
	if len(runs) == 0 {
		end(fmt.Errorf("nb.Curve: no run to draw"))
	}
	names, title := runNames(runs, false), headline(runs)
	curves := make([]figure.Curve, len(runs))
	for i, run := range runs {
		curve, cap := run.Curve(), run.RadiusCap()
		curves[i] = figure.Curve{Name: names[i], Radii: curve.Radii, Accuracy: curve.Accuracy,
			Behind: behind(run.Rows, curve.Radii), Images: run.ACR().Images, Cap: cap, Samples: run.Header.MaxSamples()}
	}
	numbers := curveNumbers(names, slices.Clone(curves))
	if len(runs) == 1 {
		curves[0].Name = "" // the title says it
	}
	return &Figure{
		Caption: "certified accuracy of the smoothed classifier against the radius, with 95 % intervals: " +
			curveTitle(runs) + caption(names, curves),
		Width: figure.Width, Height: figure.Height, numbers: numbers,
		paint: func(f *Figure, c draw.Canvas) {
			figure.CertifiedAccuracy(figure.Inset(c), f.words(title, "", ""), curves...)
		},
	}
}

// behind names the images of each radius of a curve.
func behind(rows rs.Rows, radii []float64) []string {
	images := map[float64][]string{}
	for _, row := range rows {
		if row.Correct() {
			images[row.Radius] = append(images[row.Radius], fmt.Sprint(row.Image))
		}
	}
	names := make([]string, len(radii))
	for i, radius := range radii {
		of := images[radius]
		names[i] = fmt.Sprintf("image %s: radius %.3f", strings.Join(of[:min(len(of), 5)], ", "), down(radius))
		if more := len(of) - 5; more > 0 {
			names[i] = strings.Replace(names[i], ":", fmt.Sprintf(" and %d more:", more), 1)
		}
	}
	return names
}

// curveNumbers are the steps of curves, with their intervals.
func curveNumbers(names []string, curves []figure.Curve) func() *Tabular {
	return func() *Tabular {
		t := Columns("run", "radius", "certified accuracy", "low", "high", "images")
		for i, c := range curves {
			low, high := c.Interval()
			for k, radius := range c.Radii {
				images, _, _ := strings.Cut(c.Behind[k], ":")
				t.Add(names[i], radius, c.Accuracy[k], low[k], high[k], strings.TrimPrefix(images, "image "))
			}
		}
		return t
	}
}

// headline says what a curve shows: of a single one the certified accuracy at the largest multiple of ¼ below its
// cap; then what all share.
func headline(runs []*rs.Run) string {
	radius := math.Floor(4*runs[0].RadiusCap()) / 4
	if len(runs) > 1 || runs[0].ACR().Images == 0 || radius == 0 {
		return "Certified accuracy by radius\n" + curveTitle(runs)
	}
	share := runs[0].CertifiedAccuracy(radius)[0].Value
	return fmt.Sprintf("%.1f %% of the images are certified within radius %g\n%s", math.Floor(1000*share+1e-9)/10,
		radius, curveTitle(runs))
}

// curveTitle names what all runs share: data, images, model, σ, noise samples and α.
func curveTitle(runs []*rs.Run) string {
	var parts []string
	for _, of := range []func(*rs.Run) string{
		dataName,
		func(r *rs.Run) string { return r.Header.Model.Name },
		func(r *rs.Run) string { return fmt.Sprintf("σ = %g", r.Header.Sigma) },
		func(r *rs.Run) string { return "n ≤ " + printable.Count(r.Header.MaxSamples()) },
		func(r *rs.Run) string { return fmt.Sprintf("α = %g", r.Header.Alpha) },
	} {
		words := of(runs[0])
		if !slices.ContainsFunc(runs, func(r *rs.Run) bool { return of(r) != words }) {
			parts = append(parts, words)
		}
	}
	return strings.Join(parts, ", ")
}

// dataName is the data set without what chose its images, and their number.
func dataName(run *rs.Run) string {
	return fmt.Sprintf("%s (%d images)", printable.DataName(run.Header.Data.Name), len(run.Rows))
}

// caption tells the first value of each curve and its cap.
func caption(names []string, curves []figure.Curve) string {
	var b strings.Builder
	for i, c := range curves {
		at := 0.0
		if len(c.Accuracy) > 0 {
			at = c.Accuracy[0]
		}
		fmt.Fprintf(&b, "; %s: %.3f at radius 0, no radius above %.3f", names[i], at, math.Ceil(1000*c.Cap)/1000)
	}
	return b.String()
}

// runNames are what tells the runs apart: model, σ, data and rule where they differ, and σ where
// nothing does or it is asked for.
func runNames(runs []*rs.Run, sigma bool) []string {
	models, sets, rules, sigmas := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[float64]bool{}
	for _, run := range runs {
		h := run.Header
		models[h.Model.Name], sets[h.Data.Name], rules[string(h.Rule.Name)], sigmas[h.Sigma] = true, true, true, true
	}
	names := make([]string, len(runs))
	for i, run := range runs {
		var parts []string
		if len(models) > 1 {
			parts = append(parts, run.Header.Model.Name)
		}
		if sigma || len(sigmas) > 1 || len(models)+len(sets)+len(rules) == 3 {
			parts = append(parts, fmt.Sprintf("σ = %g", run.Header.Sigma))
		}
		if len(sets) > 1 {
			parts = append(parts, printable.DataTitle(run.Header.Data.Name))
		}
		if len(rules) > 1 {
			parts = append(parts, string(run.Header.Rule.Name))
		}
		names[i] = strings.Join(parts, ", ")
	}
	return names
}
