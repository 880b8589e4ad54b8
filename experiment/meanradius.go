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

func (f *Filler) line(l tableLine, list []Metric) (FilledLine, error) {
	line := FilledLine{Title: l.Title, Group: l.Group, Models: l.Models, Values: make([]*Value, len(list)), Found: map[string]any{}}
	radii := map[uint64]*Radii{} // by seed
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
		radii[m.Seed], shares = k.radii, append(shares, k.shares)
		f.origins[name] = k.origin
	}
	for k, metric := range list {
		var err error
		if line.Values[k], err = f.value(radii, metric); err != nil {
			return line, fmt.Errorf("experiment: %s: %s: %w", l.Title, metric.Name, err)
		}
		if d := distributionOf(metric.Name, shares, metric.Cells); metric.Main && d != nil {
			line.Shares = append(line.Shares, *d)
		}
	}
	return line, nil
}

// value is the mean over the seeds that have all cells; nil where none has.
func (f *Filler) value(radii map[uint64]*Radii, m Metric) (*Value, error) {
	v := &Value{seeds: map[uint64]vector{}}
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
	v.Interval = found.Interval
	return v, err
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

// meanInterval is the mean of values by seed and image, with its bootstrap interval. Where there are two seeds or more, both images and
// seeds are drawn, as a model that is trained again comes out otherwise.
func meanInterval(ctx context.Context, values [][]float64, b resample.Options) (resample.Estimate, error) {
	found, err := resample.Run(ctx, levels(len(values[0]), len(values)), 1, func(d resample.Draw, mean []float64) error {
		seeds := d.Second
		if seeds == nil {
			seeds = []int{0}
		}
		sum := 0.0
		for _, m := range seeds {
			for _, i := range d.First {
				sum += values[m][i]
			}
		}
		mean[0] = sum / float64(len(seeds)*len(d.First))
		return nil
	}, b)
	if err != nil {
		return resample.Estimate{}, fmt.Errorf("experiment: %w", err)
	}
	return found[0], nil
}

// meanRadii are the radii of a model, image by image, in the mean over cells; without values where one is not there. What is not certified, or wrong,
// has the radius 0.
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
				return m, fmt.Errorf("image %d is in some of its cells and seeds only: the ledgers are of different images", image)
			}
			m.values[i] += v.values[i] / float64(len(all))
		}
	}
	return m, nil
}

// Minus is v − other, paired by image: of two models, or of one under two corruptions. It is that of the seeds that both have; of all
// where they have none in common.
//
// Errors: no image in common; options out of range.
func (v *Value) Minus(ctx context.Context, other *Value, b resample.Options) (*compare.Difference, error) {
	var of, from []vector
	for _, seed := range slices.Sorted(maps.Keys(v.seeds)) {
		if there, ok := other.seeds[seed]; ok {
			of, from = append(of, v.seeds[seed]), append(from, there)
		}
	}
	if len(of) == 0 {
		of, from = bySeed(v.seeds), bySeed(other.seeds)
	}
	minuend, err := meanVector(of)
	if err != nil {
		return nil, err
	}
	subtrahend, err := meanVector(from)
	if err != nil {
		return nil, err
	}
	var left, right, both []float64
	for i, image := range minuend.images {
		if k, ok := slices.BinarySearch(subtrahend.images, image); ok {
			left, right = append(left, subtrahend.values[k]), append(right, minuend.values[i])
			both = append(both, minuend.values[i]-subtrahend.values[k])
		}
	}
	if len(both) == 0 {
		return nil, fmt.Errorf("experiment: the two have no image in common")
	}
	each := [][]float64{both}
	if len(of) > 1 && len(of) == len(from) {
		each = nil
		for m := range of {
			var differences []float64
			for i, image := range of[m].images {
				if k, ok := slices.BinarySearch(from[m].images, image); ok {
					differences = append(differences, of[m].values[i]-from[m].values[k])
				}
			}
			each = append(each, differences)
		}
	}
	d := &compare.Difference{A: mean(left), B: mean(right)}
	d.Difference = d.B - d.A
	found, err := meanInterval(ctx, each, b)
	d.Interval, d.P = found.Interval, found.P
	return d, err
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
func (f *Filler) differences(t *Filled) error {
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
