package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/study"
	"github.com/certspec/certspec/table"
)

func (m radiusReader) fill(f *TableBuilder, out *Filled) (notes []string, err error) {
	if !m.Clean && len(m.Sweeps) == 0 {
		return nil, nil
	}
	note := func(format string, args ...any) { notes = append(notes, printable.Sprintf(format, args...)) }
	tier := f.Manifest.Tier
	c := tier.Certify
	note("Certified by the %s rule with at most %d noise samples of an image, α = %g, on the images %s.", c.Rule, c.N,
		cmp.Or(c.Alpha, 0.001), tier.CleanImages(f.kind(out)))
	for k, m := range out.Metrics {
		if m.Name != "clean" && m.Main {
			for _, l := range out.Lines {
				if l.Values[k] != nil {
					note("%s: %d images in each of %d cells.", m.Name, l.Values[k].Images, len(m.Cells))
					break
				}
			}
		}
	}
	if len(m.Sweeps) > 0 {
		frost := slices.ContainsFunc(out.Metrics, func(m Metric) bool {
			return slices.ContainsFunc(m.Cells, func(cell string) bool { return strings.HasPrefix(cell, "frost-") })
		})
		note("%s", f.corruptions(frost))
		if few := tier.Corrupted.Corruptions; len(few) > 0 {
			note("Of C and C-bar there are %s alone, at severity %v.", strings.Join(few, ", "),
				tier.Corrupted.Severities)
		}
	}
	b := f.bootstrap
	note("Low and high: %g %% intervals of the mean over the seeds. Images are drawn again (%d resamples, seed "+
		"%d); seeds, where there are two or more, are left out in turn and add Student's t. Of one seed they are "+
		"for this network. Differences are paired by image. Least and largest are over the seeds.",
		100*b.Confidence, b.Resamples, b.Seed)
	apart, err := f.differences(out)
	return append(notes, apart...), err
}

func (radiusReader) tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table, string)) {
	if len(f.Metrics) > 0 {
		add(f.radii(columns, head), "")
		add(f.differences(columns, head), "main figures, with differences from "+f.Compare)
		add(f.shares(columns, head), "images by the share of noise samples in the certified class")
	}
}

func (f *Filled) radii(columns []string, head func(FilledLine) []any) *table.Table {
	t := &table.Table{Columns: columns}
	for _, m := range f.Metrics {
		t.Columns = append(t.Columns, m.Name)
	}
	for _, l := range f.Lines {
		row := head(l)
		for _, v := range l.Values {
			if v == nil {
				row = append(row, table.None)
			} else {
				row = append(row, Rounded(v.Mean, 3))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// differences has a line for each model and main figure.
func (f *Filled) differences(columns []string, head func(FilledLine) []any) *table.Table {
	t := &table.Table{Columns: append(slices.Clone(columns), "figure", "seeds", "mean", "least", "largest", "low",
		"high", "difference", "its low", "its high", "p")}
	var shown []*compare.Difference
	for k, m := range f.Metrics {
		for _, l := range f.Lines {
			if v := l.Values[k]; m.Main && v != nil {
				shown = append(shown, v.Difference)
			}
		}
	}
	corrected, notes := holmCorrection(f.confidence, shown)
	t.Notes = notes
	for k, m := range f.Metrics {
		if !m.Main {
			continue
		}
		for _, l := range f.Lines {
			row := append(head(l), m.Name)
			v := l.Values[k]
			if v == nil {
				row = append(row, 0)
				for range 9 {
					row = append(row, table.None)
				}
				t.Rows = append(t.Rows, row)
				continue
			}
			row = append(row, v.seeds(), Rounded(v.Mean, 4), Rounded(v.Low, 4), Rounded(v.High, 4),
				Rounded(v.Interval.Low, 4), Rounded(v.Interval.High, 4))
			t.Rows = append(t.Rows, append(row, differenceCells(v.Difference, corrected)...))
		}
	}
	return t
}

// seeds says how many starts a value has, and of orders of the data, which are no starts, how many.
func (v *Value) seeds() any {
	if v.Orders < 2 {
		return v.Seeds
	}
	return fmt.Sprintf("%d, of %d orders", v.Seeds, v.Orders)
}

// shareLevels at which the distribution of p_A is shown.
var shareLevels = []float64{0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999}

// distribution is how p_A is distributed over images, in the mean over cells and seeds: the part of
// all images whose class is right, and that whose class is right with p_A of at least each of the
// levels.
type distribution struct {
	Figure string    `json:"figure"`
	Right  float64   `json:"right"`
	Above  []float64 `json:"above"` // by shareLevels
}

// distribution is that of some cells of the models that have all of them; nil where none has.
func (f *TableBuilder) distribution(row study.Row, m Metric) (*distribution, error) {
	d := &distribution{Figure: m.Name}
	for _, level := range append([]float64{0}, shareLevels...) {
		s, err := f.columns.SampleOn(row, fmt.Sprintf("share %g", level), m.Cells...)
		if s == nil || err != nil {
			return nil, err
		}
		d.Above = append(d.Above, s.Value())
	}
	d.Right, d.Above = d.Above[0], d.Above[1:]
	return d, nil
}

// shares is the table of the distributions.
func (f *Filled) shares(columns []string, head func(FilledLine) []any) *table.Table {
	t := &table.Table{Columns: append(slices.Clone(columns), "figure", "right")}
	for _, level := range shareLevels {
		t.Columns = append(t.Columns, fmt.Sprintf("p ≥ %g", level))
	}
	for k := range f.Metrics {
		for _, l := range f.Lines {
			for _, d := range l.Shares {
				if d.Figure != f.Metrics[k].Name {
					continue
				}
				row := append(head(l), d.Figure, Rounded(d.Right, 3))
				for _, v := range d.Above {
					row = append(row, Rounded(v, 3))
				}
				t.Rows = append(t.Rows, row)
			}
		}
	}
	t.Notes = []string{"p: share of an image's noise samples in the class that is certified, without a bound, of " +
		"the samples that its rule took; wrong classes and abstentions are not counted as right. In the mean over " +
		"images, cells and seeds."}
	return t
}
