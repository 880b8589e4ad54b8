package experiment

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/rs"
)

// sharesSuffix is that of the files with the share of each image's noise samples in the class that
// is certified, in the form of files of radii: the estimate K/N of p_A, which, unlike a radius, has
// no largest value that depends on the number of samples.
const sharesSuffix = ".shares.csv"

// share of the noise samples of the last look that are in the certified class.
func share(row rs.Row) float64 {
	if row.N == 0 {
		return 0
	}
	return float64(row.K) / float64(row.N)
}

// shareLevels are those at which the distribution of p_A is shown.
var shareLevels = []float64{0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999}

// distribution is how p_A is distributed over images, in the mean over cells and seeds: the part of
// all images whose class is right, and that whose class is right with p_A of at least each of the
// levels.
type distribution struct {
	Figure string    `json:"figure"`
	Right  float64   `json:"right"`
	Above  []float64 `json:"above"` // by shareLevels
}

// distributionOf is that of some cells of the models that have all of them; nil where none has.
func distributionOf(figure string, shares []*Radii, cells []string) *distribution {
	d := &distribution{Figure: figure, Above: make([]float64, len(shareLevels))}
	n := 0.0
	for _, s := range shares {
		if slices.ContainsFunc(cells, func(cell string) bool { return s.Outcomes(cell) == nil }) {
			continue
		}
		for _, cell := range cells {
			for _, one := range s.Outcomes(cell) {
				n++
				if one.Verdict != Right {
					continue
				}
				d.Right++
				for k, level := range shareLevels {
					if one.Radius >= level {
						d.Above[k]++
					}
				}
			}
		}
	}
	if n == 0 {
		return nil
	}
	d.Right /= n
	for k := range d.Above {
		d.Above[k] /= n
	}
	return d
}

// shares is the table of the distributions; nil where there is none.
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
				row := append(head(l), d.Figure, rounded(d.Right, 3))
				for _, v := range d.Above {
					row = append(row, rounded(v, 3))
				}
				t.Rows = append(t.Rows, row)
			}
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	t.Notes = []string{"p: share of an image's noise samples in the class that is certified, without a bound, of " +
		"the samples that its rule took; wrong classes and abstentions are not counted as right. In the mean over " +
		"images, cells and seeds."}
	return t
}
