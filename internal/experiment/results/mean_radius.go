package results

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
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
		line.Data, line.start = m.Data, m.Start
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
	v := &Value{seeds: map[uint64]store.Vector{}, roots: roots}
	var of []float64
	for _, seed := range slices.Sorted(maps.Keys(radii)) {
		cells, err := meanRadii(radii[seed], m.Cells)
		if err != nil {
			return nil, err
		}
		if cells.Values != nil {
			v.seeds[seed] = cells
			of = append(of, store.Mean(cells.Values))
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	seeds, err := meanVector(bySeed(v.seeds))
	if err != nil {
		return nil, err
	}
	v.OverSeeds, v.Images = meanOver(of), len(seeds.Values)
	var each [][]float64
	for _, seed := range bySeed(v.seeds) {
		each = append(each, seed.Values)
	}
	found, err := meanInterval(f.ctx, each, f.bootstrap)
	v.Interval = resample.Interval{Low: max(0, found.Interval.Low), High: found.Interval.High}
	return v, err
}

// meanInterval is the mean of values by start and image, with its interval over images and, where there are two or
// more, starts, as a model that is trained again comes out otherwise; see resample.Crossed.
func meanInterval(ctx context.Context, values [][]float64, b resample.Options) (resample.Estimate, error) {
	return StartsInterval(ctx, values, nil, b)
}

// StartsInterval is meanInterval of the difference from values of other starts, where there are some, of the same
// images. These starts were trained apart, those of values with a number in common or not.
func StartsInterval(ctx context.Context, values, from [][]float64, b resample.Options) (resample.Estimate, error) {
	images := len(values[0])
	design := resample.Crossed(images, len(values))
	if from != nil {
		design = resample.CrossedApart(images, len(values), len(from))
	}
	found, err := resample.Run(ctx, design, 1, func(d resample.Draw, difference []float64) error {
		difference[0] = meanAt(values, d.Second, d.First)
		if from != nil {
			difference[0] -= meanAt(from, d.Third, d.First)
		}
		return nil
	}, b)
	if err != nil {
		return resample.Estimate{}, fmt.Errorf("experiment: %w", err)
	}
	return found[0], nil
}

func meanAt(values [][]float64, starts, images []int) float64 {
	sum := 0.
	for _, m := range starts {
		for _, i := range images {
			sum += values[m][i]
		}
	}
	return sum / float64(len(starts)*len(images))
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

// bySeed lists them in the order of the seeds, so that sums come out the same again.
func bySeed(seeds map[uint64]store.Vector) (all []store.Vector) {
	for _, seed := range slices.Sorted(maps.Keys(seeds)) {
		all = append(all, seeds[seed])
	}
	return all
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

// Minus is v − other, paired by image: of two models, or of one under two corruptions. It is over the starts of the
// seeds that both have, or over all where they have none in common; all of both, too, where each has two or more
// that were trained apart. Starts of equal seeds are paired where both go back to one network.
//
// Errors: no image in common; options out of range.
func (v *Value) Minus(ctx context.Context, other *Value, b resample.Options) (*compare.Difference, error) {
	var common []uint64
	paired := true
	for _, seed := range slices.Sorted(maps.Keys(v.seeds)) {
		if _, ok := other.seeds[seed]; ok {
			common, paired = append(common, seed), paired && v.roots[seed] != "" && v.roots[seed] == other.roots[seed]
		}
	}
	of, from := bySeed(v.seeds), bySeed(other.seeds)
	starts := min(len(of), len(from))
	if len(common) > 0 && (paired || starts == 1) {
		of, from, starts = nil, nil, len(common)
		for _, seed := range common {
			of, from = append(of, v.seeds[seed]), append(from, other.seeds[seed])
		}
	} else {
		paired = false
	}
	left, right, err := onCommonImages(of, from)
	if err != nil {
		return nil, err
	}
	given := [][]float64{meanOf(left)}
	for i, v := range meanOf(right) {
		given[0][i] -= v
	}
	d := &compare.Difference{A: store.Mean(meanOf(right)), B: store.Mean(meanOf(left)), Starts: starts}
	d.Difference = d.B - d.A
	alone, err := meanInterval(ctx, given, b)
	if err != nil || starts == 1 {
		d.Interval, d.P = alone.Interval, alone.P
		return d, err
	}
	var found resample.Estimate
	if paired {
		for m := range left {
			for i := range left[m] {
				left[m][i] -= right[m][i]
			}
		}
		found, err = meanInterval(ctx, left, b)
	} else {
		found, err = StartsInterval(ctx, left, right, b)
	}
	d.Interval, d.P = found.Interval, found.P
	if starts < fewStarts {
		d.Given = &compare.Difference{A: d.A, B: d.B, Difference: d.Difference, Interval: alone.Interval, P: alone.P}
	}
	return d, err
}

// fewStarts is the number of starts from which a comparison speaks of methods alone; of fewer it says, too, what it
// is for these starts.
const fewStarts = 3

// onCommonImages are the values of two sets of starts on the images that they share.
func onCommonImages(of, from []store.Vector) (left, right [][]float64, err error) {
	for _, side := range [][]store.Vector{of, from} {
		for _, v := range side {
			if !slices.Equal(v.Images, side[0].Images) {
				return nil, nil, fmt.Errorf("experiment: the ledgers of its seeds are of different images")
			}
		}
	}
	left, right = make([][]float64, len(of)), make([][]float64, len(from))
	for i, image := range of[0].Images {
		if k, ok := slices.BinarySearch(from[0].Images, image); ok {
			for m, v := range of {
				left[m] = append(left[m], v.Values[i])
			}
			for m, v := range from {
				right[m] = append(right[m], v.Values[k])
			}
		}
	}
	if len(left[0]) == 0 {
		return nil, nil, fmt.Errorf("experiment: the two have no image in common")
	}
	return left, right, nil
}

// meanOf is the mean of vectors of one length.
func meanOf(all [][]float64) []float64 {
	m := make([]float64, len(all[0]))
	for _, v := range all {
		for i := range v {
			m[i] += v[i] / float64(len(all))
		}
	}
	return m
}

func meanOver(of []float64) OverSeeds {
	m := OverSeeds{Low: of[0], High: of[0], Seeds: len(of)}
	for _, v := range of {
		m.Mean += v / float64(len(of))
		m.Low, m.High = min(m.Low, v), max(m.High, v)
	}
	return m
}

// differences compares the main metrics with the line that the table says, of the same data.
func (f *TableBuilder) differences(t *Filled) error {
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
			d, err := l.Values[k].Minus(f.ctx, t.Lines[at].Values[k], f.bootstrap)
			if err != nil {
				return err
			}
			l.Values[k].Difference = d
		}
	}
	return nil
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
