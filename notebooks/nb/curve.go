package nb

import (
	"fmt"

	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/rs"
)

// Curve draws certified accuracy against the radius, one step line per run.
func Curve(runs ...*rs.Run) *Figure {
	if len(runs) == 0 {
		end(fmt.Errorf("nb.Curve: no run to draw"))
	}
	names := runNames(runs)
	return &Figure{
		Caption: "certified accuracy against the radius: " + listed(names),
		Width:   figure.Width, Height: figure.Height,
		paint: func(c draw.Canvas, plain func(string) string) {
			curves := make([]figure.Curve, len(runs))
			for i, run := range runs {
				curve := run.Curve()
				curves[i] = figure.Curve{Name: plain(names[i]), Radii: curve.Radii, Accuracy: curve.Accuracy, Cap: run.RadiusCap()}
			}
			figure.CertifiedAccuracy(curves...).Draw(figure.Inset(c))
		},
	}
}

// runNames are what tells the runs apart: σ always, model, data and rule where they differ.
func runNames(runs []*rs.Run) []string {
	models, sets, rules := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, run := range runs {
		models[run.Header.Model.Name], sets[run.Header.Data.Name], rules[run.Header.Rule.Name] = true, true, true
	}
	names := make([]string, len(runs))
	for i, run := range runs {
		names[i] = fmt.Sprintf("σ = %g", run.Header.Sigma)
		if len(models) > 1 {
			names[i] = run.Header.Model.Name + ", " + names[i]
		}
		if len(sets) > 1 {
			names[i] += ", " + run.Header.Data.Name
		}
		if len(rules) > 1 {
			names[i] += ", " + run.Header.Rule.Name
		}
	}
	return names
}
