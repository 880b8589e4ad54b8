package study

import (
	"context"
	"fmt"
	"slices"

	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
)

// Row is a line of a table, with one network for each start.
type Row struct {
	Title  string
	Group  string // of rows that are compared as one method
	Recipe string
	Starts []Start // in the order of the seeds
}

// Start is one network of a row. Starts of equal seeds and roots are paired.
type Start struct {
	Network string
	Seed    uint64
	Root    string // the network that it goes back to: starts of one root are orders of the data, not starts
}

// Source gives values of cells: a folder of results, or what is printed.
type Source interface {
	// Mean is the value of a cell; there is whether it has one.
	Mean(c Cell) (value float64, there bool, err error)
	// Context says under which settings.
	Context(c Cell) Context
}

// sample is a start with what it has of a cell: values by image, or the columns of a statistic.
type sample struct {
	Start
	images  []int
	values  []float64 // of a mean: by image, in the mean over the sets
	columns []*Column // of a statistic
	q       Quantity
}

// samples are the starts of a cell's row that have it.
func (f *Folder) samples(c Cell) (all []sample, err error) {
	q, err := Find(c.What)
	if err != nil {
		return nil, err
	}
	row, err := f.Row(c.Row)
	if err != nil {
		return nil, err
	}
	sets, err := f.setsOf(q, c.Set)
	if err != nil {
		return nil, err
	}
	for _, start := range row.Starts {
		s, err := f.sample(start, q, sets)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", c.Row, c.Set, err)
		}
		if s != nil {
			all = append(all, *s)
		}
	}
	for _, s := range all {
		if !slices.Equal(s.images, all[0].images) {
			return nil, fmt.Errorf("study: %s, %s: %s and %s have other images", c.Row, c.Set, all[0].Network, s.Network)
		}
	}
	return all, nil
}

// setsOf are the sets of a name. A statistic is of one set, which need not be one of the
// corruptions.
func (f *Folder) setsOf(q Quantity, name string) ([]string, error) {
	if q.Of != nil {
		return []string{name}, nil
	}
	return f.Sets(name)
}

// sample is what a start has of some sets; nil where a column is not there.
func (f *Folder) sample(start Start, q Quantity, sets []string) (*sample, error) {
	s := &sample{Start: start, q: q}
	for k, set := range sets {
		var columns []*Column
		for _, name := range q.Columns {
			c, err := f.Column(Key{start.Network, set, name})
			if c == nil || err != nil {
				return nil, err
			}
			columns = append(columns, c)
		}
		images := columns[0].Images
		if k == 0 {
			s.images, s.columns, s.values = images, columns, make([]float64, len(images))
		}
		for _, c := range columns {
			if !slices.Equal(c.Images, s.images) {
				return nil, fmt.Errorf("study: %s: %s of %s is of other images than %s of %s", start.Network, c.Name, c.Set,
					s.columns[0].Name, s.columns[0].Set)
			}
		}
		for i := range images {
			if q.Each != nil {
				s.values[i] += q.Each(columns, i) / float64(len(sets))
			}
		}
	}
	return s, nil
}

// Mean is the value of a cell: the mean over its starts.
func (f *Folder) Mean(c Cell) (value float64, there bool, err error) {
	all, err := f.samples(c)
	if len(all) == 0 || err != nil {
		return 0, false, err
	}
	value, err = overStarts(all)
	return value, err == nil, err
}

// Estimate is the value of a mean over images with its interval, over images and, where there are two
// or more, starts. Of a cell that is not there it has no starts.
//
// Errors: a statistic; a file that is not in its form.
func (f *Folder) Estimate(ctx context.Context, c Cell, o resample.Options) (e resample.Estimate, starts int,
	err error) {
	all, err := f.samples(c)
	if err != nil || len(all) == 0 {
		return e, 0, err
	}
	if all[0].q.Each == nil {
		return e, 0, fmt.Errorf("study: %s is no mean over images; its difference from another row has an interval", c.What)
	}
	var values [][]float64
	for _, s := range all {
		values = append(values, s.values)
	}
	e, err = meanInterval(ctx, values, nil, o)
	return e, len(all), err
}

// value is that of a start alone.
func (s *sample) value() (float64, error) {
	if s.q.Each != nil {
		return mean(s.values), nil
	}
	places := make([]int, len(s.images))
	for i := range places {
		places[i] = i
	}
	return s.q.Of(s.columns, places)
}

// Difference is cell a − cell b, paired by image: over the starts of the seeds that both have, or
// over all where they have none in common; all of both, too, where each has two or more that go
// back to other networks. Of fewer than three starts Given says, too, what holds for these alone.
// It is nil where a cell is not there.
//
// Errors: quantities of two units; no image in common; a file that is not in its form.
func (f *Folder) Difference(ctx context.Context, a, b Cell, o resample.Options) (*compare.Difference, error) {
	left, err := f.samples(a)
	if err != nil {
		return nil, err
	}
	right, err := f.samples(b)
	if err != nil || len(left) == 0 || len(right) == 0 {
		return nil, err
	}
	switch p, q := left[0].q, right[0].q; {
	case p.Unit != q.Unit:
		return nil, fmt.Errorf("study: %s is in another unit than %s: %s, %s", a.What, b.What, p.Unit, q.Unit)
	case p.Of != nil && q.Of != nil:
		return statisticsApart(ctx, left, right, o)
	case p.Of != nil || q.Of != nil:
		return nil, fmt.Errorf("study: %s and %s are not compared: one is a mean over images, one a statistic", a.What,
			b.What)
	}
	return meansApart(ctx, left, right, o)
}

func meansApart(ctx context.Context, left, right []sample, o resample.Options) (*compare.Difference, error) {
	starts := min(len(left), len(right))
	mine, theirs, oneRoot := sameSeeds(left, right)
	paired := len(mine) > 0 && (oneRoot || starts == 1)
	if paired {
		left, right, starts = mine, theirs, len(mine)
	}
	x, y, err := onCommonImages(left, right)
	if err != nil {
		return nil, err
	}
	d := &compare.Difference{A: mean(meanOf(y)), B: mean(meanOf(x)), Starts: starts}
	d.Difference = d.B - d.A
	given, err := meanInterval(ctx, [][]float64{minus(meanOf(x), meanOf(y))}, nil, o)
	if err != nil || starts == 1 {
		d.Interval, d.P = given.Interval, given.P
		return d, err
	}
	var found resample.Estimate
	if paired {
		for m := range x {
			x[m] = minus(x[m], y[m])
		}
		found, err = meanInterval(ctx, x, nil, o)
	} else {
		found, err = meanInterval(ctx, x, y, o)
	}
	d.Interval, d.P = found.Interval, found.P
	if starts < fewStarts {
		d.Given = &compare.Difference{A: d.A, B: d.B, Difference: d.Difference, Interval: given.Interval, P: given.P}
	}
	return d, err
}

// fewStarts is the number of starts from which a comparison speaks of methods alone; of fewer it
// says, too, what holds for these starts.
const fewStarts = 3

// sameSeeds are the starts whose seeds both have; oneRoot is whether those of each seed go back to
// one network.
func sameSeeds(left, right []sample) (mine, theirs []sample, oneRoot bool) {
	oneRoot = true
	for _, x := range left {
		if k := slices.IndexFunc(right, func(y sample) bool { return y.Seed == x.Seed }); k >= 0 {
			mine, theirs = append(mine, x), append(theirs, right[k])
			oneRoot = oneRoot && x.Root != "" && x.Root == right[k].Root
		}
	}
	return mine, theirs, oneRoot
}

// onCommonImages are the values of two sets of starts on the images that both have.
func onCommonImages(left, right []sample) (x, y [][]float64, err error) {
	x, y = make([][]float64, len(left)), make([][]float64, len(right))
	for i, image := range left[0].images {
		if k, ok := slices.BinarySearch(right[0].images, image); ok {
			for m, s := range left {
				x[m] = append(x[m], s.values[i])
			}
			for m, s := range right {
				y[m] = append(y[m], s.values[k])
			}
		}
	}
	if len(x[0]) == 0 {
		return nil, nil, fmt.Errorf("study: %s and %s have no image in common", left[0].Network, right[0].Network)
	}
	return x, y, nil
}

// meanInterval is the mean of values by start and image with its interval, or its difference from
// those of other starts of the same images, which were trained apart; see resample.Crossed.
func meanInterval(ctx context.Context, values, from [][]float64, o resample.Options) (resample.Estimate, error) {
	design := resample.Crossed(len(values[0]), len(values))
	if from != nil {
		design = resample.CrossedApart(len(values[0]), len(values), len(from))
	}
	found, err := resample.Run(ctx, design, 1, func(d resample.Draw, v []float64) error {
		if v[0] = meanAt(values, d.Second, d.First); from != nil {
			v[0] -= meanAt(from, d.Third, d.First)
		}
		return nil
	}, o)
	if err != nil {
		return resample.Estimate{}, fmt.Errorf("study: %w", err)
	}
	return found[0], nil
}

// statisticsApart is the difference of a statistic, which drawing may raise a little: its interval
// is the basic one of the bootstrap over the images, and over starts where both have two or more.
func statisticsApart(ctx context.Context, left, right []sample, o resample.Options) (*compare.Difference, error) {
	if !slices.Equal(left[0].images, right[0].images) {
		return nil, fmt.Errorf("study: %s and %s have other images", left[0].Network, right[0].Network)
	}
	of := func(all []sample, starts, drawn []int) (sum float64, err error) {
		there := slices.DeleteFunc(slices.Clone(starts), func(m int) bool { return m >= len(all) })
		if len(all) == 1 {
			there = []int{0} // one start is given
		}
		for _, m := range there {
			v, err := all[m].q.Of(all[m].columns, drawn)
			if err != nil {
				return 0, err
			}
			sum += v / float64(len(there))
		}
		return sum, nil
	}
	least, most := min(len(left), len(right)), max(len(left), len(right))
	design := resample.Crossed(len(left[0].images), most).Fitted(func(int) (models, parameters int) {
		return most, most - max(1, least-1)
	})
	o.Method = resample.Basic
	values := [2]float64{}
	found, err := resample.Run(ctx, design, 1, func(d resample.Draw, v []float64) (err error) {
		for k, side := range [][]sample{left, right} {
			if values[k], err = of(side, d.Second, d.First); err != nil {
				return err
			}
		}
		v[0] = values[0] - values[1]
		return nil
	}, o)
	if err != nil {
		return nil, fmt.Errorf("study: %w", err)
	}
	b, err := overStarts(left)
	if err != nil {
		return nil, err
	}
	a, err := overStarts(right)
	return &compare.Difference{A: a, B: b, Difference: b - a, Interval: found[0].Interval, P: found[0].P, Starts: least},
		err
}

// overStarts is the mean of starts' values.
func overStarts(all []sample) (value float64, err error) {
	for _, s := range all {
		v, err := s.value()
		if err != nil {
			return 0, err
		}
		value += v / float64(len(all))
	}
	return value, nil
}

func minus(a, b []float64) []float64 {
	d := slices.Clone(a)
	for i, v := range b {
		d[i] -= v
	}
	return d
}

// meanAt sums over starts, then images: another order would change the last digit.
func meanAt(values [][]float64, starts, images []int) float64 {
	sum := 0.
	for _, m := range starts {
		for _, i := range images {
			sum += values[m][i]
		}
	}
	return sum / float64(len(starts)*len(images))
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

func mean(values []float64) float64 {
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
