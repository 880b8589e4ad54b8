package results

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/study"
	"github.com/certspec/certspec/table"
)

func (f *TableBuilder) line(l recipe.Line, list []Metric) (FilledLine, error) {
	line := FilledLine{Title: l.Title, Group: l.Group, Models: l.Models, Values: make([]*Value, len(list)),
		Found: map[string]any{}}
	radii := map[uint64]*store.Radii{} // by seed
	roots := map[uint64]string{}
	var shares []*store.Radii
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
		radii[m.Seed], roots[m.Seed], shares = k.Radii, f.Manifest.Root(m), append(shares, k.Shares)
		f.origins[name] = k.Origin
	}
	for k, metric := range list {
		var err error
		if line.Values[k], err = f.value(radii, roots, metric); err != nil {
			return line, fmt.Errorf("experiment: %s: %s: %w", l.Title, metric.Name, err)
		}
		if d := distributionOf(metric.Name, shares, metric.Cells); metric.Main && d != nil {
			line.Shares = append(line.Shares, *d)
		}
	}
	return line, nil
}

// value is the mean over the seeds that have all cells; nil where none has.
func (f *TableBuilder) value(radii map[uint64]*store.Radii, roots map[uint64]string, m Metric) (*Value, error) {
	v := &Value{sample: &study.Sample{}}
	var of []float64
	for _, seed := range slices.Sorted(maps.Keys(radii)) {
		cells, err := meanRadii(radii[seed], m.Cells)
		if err != nil {
			return nil, err
		}
		if cells.Values != nil {
			if err := v.add(cells, seed, roots[seed]); err != nil {
				return nil, err
			}
			of = append(of, store.Mean(cells.Values))
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	v.OverSeeds, v.Images = meanOver(of), len(v.sample.Images)
	found, err := v.sample.Interval(f.ctx, f.bootstrap)
	v.Interval = resample.Interval{Low: max(0, found.Interval.Low), High: found.Interval.High}
	return v, err
}

// add adds a start.
func (v *Value) add(cells store.Vector, seed uint64, root string) error {
	s := v.sample
	if s.Images != nil && !slices.Equal(s.Images, cells.Images) {
		return errOtherImages
	}
	s.Images, s.Values = cells.Images, append(s.Values, cells.Values)
	s.Networks = append(s.Networks, study.Start{Seed: seed, Root: root})
	return nil
}

var errOtherImages = errors.New("experiment: its cells and seeds are of different images")

// Minus is v − other, paired by image: of two models, or of one under two corruptions; see study.Sample.
func (v *Value) Minus(ctx context.Context, other *Value, b resample.Options) (*compare.Difference, error) {
	return v.sample.Minus(ctx, other.sample, b)
}

// meanRadii are the radii of a model, image by image, in the mean over cells; without values where
// one is not there. What is not certified, or wrong, has the radius 0.
func meanRadii(r *store.Radii, cells []string) (store.Vector, error) {
	var all []store.Vector
	for _, c := range cells {
		of := r.Outcomes(c)
		if of == nil {
			return store.Vector{}, nil
		}
		all = append(all, of.Vector())
	}
	if len(all) == 0 {
		return store.Vector{}, nil
	}
	return meanVector(all)
}

// meanVector is the mean of numbers of the same images.
func meanVector(all []store.Vector) (store.Vector, error) {
	m := store.Vector{Images: all[0].Images, Values: make([]float64, len(all[0].Values))}
	for _, v := range all {
		for i, image := range m.Images {
			if len(v.Images) != len(m.Images) || v.Images[i] != image {
				return m, fmt.Errorf("image %d is in some of its cells and seeds only: the ledgers are of different "+
					"images", image)
			}
			m.Values[i] += v.Values[i] / float64(len(all))
		}
	}
	return m, nil
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
			d, err := l.Values[k].Minus(f.ctx, t.Lines[at].Values[k], f.bootstrap)
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
