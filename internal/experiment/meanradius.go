package experiment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
)

func (f *TableBuilder) line(l tableLine, list []Metric) (FilledLine, error) {
	line := FilledLine{Title: l.Title, Group: l.Group, Models: l.Models, Values: make([]*Value, len(list)),
		Found: map[string]any{}}
	radii := map[uint64]*Radii{} // by seed
	roots := map[uint64]string{}
	var shares []*Radii
	for _, name := range l.Models {
		m := f.Manifest.Model(name)
		line.Data, line.start = m.Data, m.Start
		if recipe, _, ok := strings.Cut(name, "@"); ok {
			line.recipe = recipe
		}
		k, err := f.Manifest.keptOf(f.Folder, m)
		if err != nil {
			return line, err
		}
		radii[m.Seed], roots[m.Seed], shares = k.radii, f.Manifest.root(m), append(shares, k.shares)
		f.origins[name] = k.origin
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
func (f *TableBuilder) value(radii map[uint64]*Radii, roots map[uint64]string, m Metric) (*Value, error) {
	v := &Value{seeds: map[uint64]vector{}, roots: roots}
	var of []float64
	for _, seed := range slices.Sorted(maps.Keys(radii)) {
		cells, err := meanRadii(radii[seed], m.Cells)
		if err != nil {
			return nil, err
		}
		if cells.values != nil {
			v.seeds[seed] = cells
			of = append(of, mean(cells.values))
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	seeds, err := meanVector(bySeed(v.seeds))
	if err != nil {
		return nil, err
	}
	v.meanOverSeeds, v.Images = meanOver(of), len(seeds.values)
	var each [][]float64
	for _, seed := range bySeed(v.seeds) {
		each = append(each, seed.values)
	}
	found, err := meanInterval(f.ctx, each, f.bootstrap)
	v.Interval = resample.Interval{Low: max(0, found.Interval.Low), High: found.Interval.High}
	return v, err
}

// root is the network that a model goes back to, over what it began with; itself where that was random, or is no
// model of the experiment.
func (m *Manifest) root(model *Model) string {
	for range m.Models { // starts that go in a circle end here
		start := m.Model(model.Start)
		if start == nil {
			break
		}
		model = start
	}
	return model.Name
}

// vector is a number for each of some images, whose ids ascend.
type vector struct {
	images []int
	values []float64
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	if len(values) == 0 {
		return 0
	}
	return sum / float64(len(values))
}

// meanInterval is the mean of values by start and image, with its interval over images and, where there are two or
// more, starts, as a model that is trained again comes out otherwise; see resample.Crossed.
func meanInterval(ctx context.Context, values [][]float64, b resample.Options) (resample.Estimate, error) {
	return startsInterval(ctx, values, nil, b)
}

// startsInterval is meanInterval of the difference from values of other starts, where there are some, of the same
// images. These starts were trained apart, those of values with a number in common or not.
func startsInterval(ctx context.Context, values, from [][]float64, b resample.Options) (resample.Estimate, error) {
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
func meanRadii(r *Radii, cells []string) (vector, error) {
	var all []vector
	for _, c := range cells {
		of := r.Outcomes(c)
		if of == nil {
			return vector{}, nil
		}
		all = append(all, of.vector())
	}
	if len(all) == 0 {
		return vector{}, nil
	}
	return meanVector(all)
}

// bySeed lists them in the order of the seeds, so that sums come out the same again.
func bySeed(seeds map[uint64]vector) (all []vector) {
	for _, seed := range slices.Sorted(maps.Keys(seeds)) {
		all = append(all, seeds[seed])
	}
	return all
}

// meanVector is the mean of numbers of the same images.
func meanVector(all []vector) (vector, error) {
	m := vector{all[0].images, make([]float64, len(all[0].values))}
	for _, v := range all {
		for i, image := range m.images {
			if len(v.images) != len(m.images) || v.images[i] != image {
				return m, fmt.Errorf("image %d is in some of its cells and seeds only: the ledgers are of different "+
					"images", image)
			}
			m.values[i] += v.values[i] / float64(len(all))
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
	d := &compare.Difference{A: mean(meanOf(right)), B: mean(meanOf(left)), Starts: starts}
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
		found, err = startsInterval(ctx, left, right, b)
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
func onCommonImages(of, from []vector) (left, right [][]float64, err error) {
	for _, side := range [][]vector{of, from} {
		for _, v := range side {
			if !slices.Equal(v.images, side[0].images) {
				return nil, nil, fmt.Errorf("experiment: the ledgers of its seeds are of different images")
			}
		}
	}
	left, right = make([][]float64, len(of)), make([][]float64, len(from))
	for i, image := range of[0].images {
		if k, ok := slices.BinarySearch(from[0].images, image); ok {
			for m, v := range of {
				left[m] = append(left[m], v.values[i])
			}
			for m, v := range from {
				right[m] = append(right[m], v.values[k])
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

func meanOver(of []float64) meanOverSeeds {
	m := meanOverSeeds{Low: of[0], High: of[0], Seeds: len(of)}
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
