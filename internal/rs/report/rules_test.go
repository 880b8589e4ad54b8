package report_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/rs/report"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

type memory struct{ *dataset.Images }

func (m memory) Load(context.Context) (*dataset.Images, error) { return m.Images, nil }

// Every rule is told in its own words, and the figures equal those of the run that wrote the ledger.
func TestEveryRule(t *testing.T) {
	shape := pixel.Shape{Height: 2, Width: 3, Channels: 1}
	im := &dataset.Images{Name: "greys", Shape: shape, Classes: []string{"a", "b"}, Digest: "sha256:greys"}
	for i := range 40 {
		im.IDs, im.Labels = append(im.IDs, i), append(im.Labels, 1)
		for range shape.Len() {
			im.Pixels = append(im.Pixels, uint8(6*i))
		}
	}
	model := classifier.Linear{Shape: shape, Weights: []float64{1, -2, .5, 3, 1, .25}, Bias: -1.9}
	for _, c := range []struct {
		options rs.Options
		want    []string
	}{
		{rs.Options{Rule: rs.Fixed, MaxSamples: 1000}, []string{"**Fixed.** Every image gets 1,000 noise samples"}},
		{rs.Options{Rule: rs.Staged, MaxSamples: 3200}, []string{"**Staged.** There are 6 planned looks, after 100, 200, 400, 800, 1,600, 3,200 noise samples", "α/6"}},
		{rs.Options{Rule: rs.ISS, MaxSamples: 5000}, []string{"**Input-specific.**", "at most 5,000", "first 1,000 noise samples, which enter no bound"}},
		{rs.Options{Rule: rs.Betting, MaxSamples: 3000, Radii: []float64{0, .1, .25}}, []string{"**Betting.** The radii 0, 0.1, 0.25", "Ville", "at level 0.001", "| 0.1 |"}},
	} {
		c.options.Sigma, c.options.Ledger = .25, filepath.Join(t.TempDir(), "a b.ledger")
		run, err := rs.Certify(t.Context(), model, memory{im}, c.options)
		if err != nil {
			t.Fatal(err)
		}
		for _, simultaneous := range []bool{false, true} {
			r := open(t, c.options.Ledger, report.Options{Simultaneous: simultaneous})
			text := r.Markdown()
			for _, want := range append(c.want, "format of the ledger | version 3", "derived from model, data and settings", "certcheck '"+c.options.Ledger+"'") {
				if !strings.Contains(text, want) {
					t.Errorf("%s has no %q:\n%s", c.options.Rule, want, text)
				}
			}
			if !simultaneous && (r.ACR.Value != run.ACR().Value || r.Abstained != run.Abstained() || r.Passes != run.Passes()) {
				t.Errorf("%s: %+v, %+v of %d passes", c.options.Rule, r, run.ACR(), run.Passes())
			}
			if simultaneous && !(r.ACR.Value > 0 && r.ACR.Value < run.ACR().Value) {
				t.Errorf("%s: ACR %v of all claims at once, %v of each", c.options.Rule, r.ACR.Value, run.ACR().Value)
			}
			balanced(t, r.LaTeX())
		}
	}
}
