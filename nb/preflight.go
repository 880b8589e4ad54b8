package nb

import (
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/table"
)

// Preflight looks a model over before hours of certification: common mistakes with its data and their noise, and how
// long the run will take. It classifies about a hundred images as they are, in a few changed forms, and in noisy
// samples. The noise has a seed of its own, so that a later run draws nothing that was seen here. An error ends the
// cell: the model cannot take the images, or does not answer. Whatever else is wrong stands in the table.
func Preflight(m classifier.Classifier, data *dataset.Dataset, s Smoothing) *table.Table {
	o := preflight.Options{Run: s.options()}
	if named, ok := m.(interface{ ClassNames() ([]string, error) }); ok {
		var err error
		o.ClassNames, err = named.ClassNames()
		end(err)
	}
	r, err := preflight.Run(Context(), m, data, o)
	end(err)
	if err != nil {
		return nil
	}
	t := Columns("check", "verdict", "found", "what to do")
	for _, c := range r.Checks {
		t.Add(c.Name, string(c.Verdict), c.Found, c.Advice)
	}
	t.Notes = []string{fmt.Sprintf("%d images, %d noise samples of each, σ = %g; %s noise samples a second.", r.Images,
		r.Samples, r.Sigma, printable.Count(int(r.Rate)))}
	for _, p := range r.Plans[:min(len(r.Plans), 1)] {
		t.Notes = append(t.Notes, fmt.Sprintf("The run, %s rule, up to %s noise samples an image: about %s, mean radius "+
			"about %.3f, none above %.3f.", p.Rule, printable.Count(p.MaxSamples), p.Duration(), p.MeanRadius, p.RadiusCap))
	}
	return t
}
