package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/study"
	"github.com/certspec/certspec/table"
)

// line is the i-th of the table, with its radii.
func (f *TableBuilder) line(i int, list []Metric) (FilledLine, error) {
	l, row := f.Table.Lines[i], f.columns.Rows[i]
	line := FilledLine{Title: l.Title, Group: l.Group, Models: l.Models, Values: make([]*Value, len(list)),
		Found: map[string]any{}}
	for _, name := range l.Models {
		m := f.Manifest.Model(name)
		line.Data, line.start, line.sigma = m.Data, m.Start, m.Noise()
		if recipe, _, ok := strings.Cut(name, "@"); ok {
			line.recipe = recipe
		}
		k, err := f.Manifest.ResultsOf(f.Folder, m)
		if err != nil {
			return line, err
		}
		f.columns.Add(append(k.Radii, k.Shares...)...)
		for _, c := range k.Radii {
			f.sets[name] = append(f.sets[name], c.Set)
		}
		f.origins[name] = k.Origin
	}
	for k, metric := range list {
		var err error
		if line.Values[k], err = f.value(row, metric.Cells); err != nil {
			return line, fmt.Errorf("experiment: %s: %s: %w", l.Title, metric.Name, err)
		}
		if !metric.Main {
			continue
		}
		d, err := f.distribution(row, metric)
		if err != nil {
			return line, fmt.Errorf("experiment: %s: %s: %w", l.Title, metric.Name, err)
		}
		if d != nil {
			line.Shares = append(line.Shares, *d)
		}
	}
	return line, nil
}

// value is the average certified radius over the starts that have all cells; nil where none has.
func (f *TableBuilder) value(row study.Row, cells []string) (*Value, error) {
	s, err := f.columns.SampleOn(row, "acr", cells...)
	if s == nil || err != nil {
		return nil, err
	}
	var of []float64
	for _, start := range s.Values {
		of = append(of, store.Mean(start))
	}
	v := &Value{OverSeeds: meanOver(of), Images: len(s.Images), sample: s}
	if s.Orders > 1 {
		v.Orders = s.Orders
	}
	found, err := s.Interval(f.ctx, f.bootstrap)
	v.Interval = resample.Interval{Low: max(0, found.Interval.Low), High: found.Interval.High}
	return v, err
}

func meanOver(of []float64) OverSeeds {
	m := OverSeeds{Low: of[0], High: of[0], Seeds: len(of)}
	for _, v := range of {
		m.Mean += v / float64(len(of))
		m.Low, m.High = min(m.Low, v), max(m.High, v)
	}
	return m
}

// differences compares the main metrics with the line that the table says, of the same data. Lines of another σ are not
// compared, as the difference may be that of σ; a note names them. A network of a file is certified at its own σ
// where the manifest says none.
func (f *TableBuilder) differences(t *Filled) (notes []string, err error) {
	for k, metric := range t.Metrics {
		if !metric.Main {
			continue
		}
		for i := range t.Lines {
			l := &t.Lines[i]
			at := slices.IndexFunc(t.Lines, func(o FilledLine) bool { return o.Title == t.Compare && o.Data == l.Data })
			if at < 0 || at == i || l.Values[k] == nil || t.Lines[at].Values[k] == nil {
				continue
			}
			if of := t.Lines[at].sigma; l.sigma != of && l.sigma > 0 && of > 0 {
				notes = append(notes, fmt.Sprintf("%s, %s: not compared with %s, as settings differ: σ %g, %g.",
					metric.Name, l.Title, t.Compare, of, l.sigma))
				continue
			}
			if _, err := study.OnCommonImages(l.Values[k].sample, t.Lines[at].Values[k].sample); err != nil {
				notes = append(notes, fmt.Sprintf("%s, %s: not compared with %s, as they have no image in common.",
					metric.Name, l.Title, t.Compare))
				continue
			}
			d, err := l.Values[k].sample.Minus(f.ctx, t.Lines[at].Values[k].sample, f.bootstrap)
			if err != nil {
				return notes, err
			}
			l.Values[k].Difference = d
		}
	}
	return notes, nil
}

// holmCorrection corrects the p-values of the differences that a table shows by Holm's method, keeps them
// in the differences, and gives a note for its caption; none where there are fewer than two. A nil
// stands for a difference that is not there.
func holmCorrection(confidence float64, shown []*compare.Difference) (corrected map[*compare.Difference]float64,
	notes []string) {
	var p []float64
	var of []*compare.Difference
	for _, d := range shown {
		if d != nil {
			p, of = append(p, d.P), append(of, d)
		}
	}
	holm, err := resample.Holm(p)
	if err != nil {
		panic("experiment: " + err.Error()) // shares of resamples
	}
	corrected = map[*compare.Difference]float64{}
	for i, d := range of {
		corrected[d], d.Holm = holm[i], &holm[i]
	}
	if len(of) < 2 {
		return corrected, nil
	}
	level := 1 - confidence
	return corrected, []string{printable.Sprintf("p: of no difference, two-sided, corrected by Holm for the %d "+
		"differences of this table: all those of at most %.3g may be claimed together, and one of them is false "+
		"with a probability of at most %.3g; the adjusted level of the smallest is %.3g. The intervals stand for "+
		"one difference alone.",
		len(of), level, level, level/float64(len(of)))}
}

// differenceCells are a difference, the ends of its interval and its corrected p-value; nil: not there.
func differenceCells(d *compare.Difference, corrected map[*compare.Difference]float64) []any {
	if d == nil {
		return []any{table.None, table.None, table.None, table.None}
	}
	return []any{Rounded(d.Difference, 4), Rounded(d.Interval.Low, 4), Rounded(d.Interval.High, 4),
		Rounded(corrected[d], 4)}
}
