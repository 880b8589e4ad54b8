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
	orders  int       // networks that go back to it
	q       Quantity
}

// SampleOn has the values of a mean over images of a row, in the mean over sets, by start; nil where no network of the
// row has all of them. Networks that go back to one start are orders of it: their mean is one start.
//
// Errors: a quantity that is no mean over images; a file that is not in its form; networks of different images.
func (f *Folder) SampleOn(row Row, what string, sets ...string) (*Sample, error) {
	q, err := Find(what)
	if err != nil {
		return nil, err
	}
	if q.Each == nil {
		return nil, fmt.Errorf("study: %s is no mean over images", what)
	}
	if len(sets) == 0 {
		return nil, nil
	}
	all, err := f.starts(row, q, sets)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return sampleOf(all), nil
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
	if all, err = f.starts(row, q, sets); err != nil {
		err = fmt.Errorf("%s, %s: %w", c.Row, c.Set, err)
	}
	return all, err
}

// starts are the starts of a row that have some sets: of a mean over images, each with the mean over its orders.
func (f *Folder) starts(row Row, q Quantity, sets []string) (all []sample, err error) {
	for _, start := range row.Starts {
		s, err := f.sample(start, q, sets)
		if err != nil {
			return nil, err
		}
		if s == nil {
			continue
		}
		if len(all) > 0 && q.Columns[0] == kept {
			if s.onCommon(all); len(s.images) == 0 {
				return nil, fmt.Errorf("study: %s and %s certify no clean image in common", all[0].Network, s.Network)
			}
		}
		if len(all) > 0 && !slices.Equal(s.images, all[0].images) {
			return nil, fmt.Errorf("study: %s and %s have other images", all[0].Network, s.Network)
		}
		k := slices.IndexFunc(all, func(o sample) bool { return o.Root != "" && o.Root == s.Root })
		if k < 0 || q.Each == nil {
			all = append(all, *s)
			continue
		}
		all[k].orders++
		for i, v := range s.values {
			all[k].values[i] += (v - all[k].values[i]) / float64(all[k].orders)
		}
	}
	return all, nil
}

// onCommon leaves the images that a start has in common with others: those certified as they are differ.
func (s *sample) onCommon(others []sample) {
	only := func(s *sample, images []int) {
		var values []float64
		for i, image := range s.images {
			if _, ok := slices.BinarySearch(images, image); ok {
				values = append(values, s.values[i])
			}
		}
		s.images, s.values = images, values
	}
	common := slices.DeleteFunc(slices.Clone(s.images), func(image int) bool {
		_, ok := slices.BinarySearch(others[0].images, image)
		return !ok
	})
	only(s, common)
	for i := range others {
		only(&others[i], common)
	}
}

// setsOf are the sets of a name. A statistic is of one set, which need not be one of the
// corruptions.
func (f *Folder) setsOf(q Quantity, name string) ([]string, error) {
	if q.Of != nil {
		return []string{name}, nil
	}
	return f.Sets(name)
}

// sample of a start on some sets; nil where a column is not there.
func (f *Folder) sample(start Start, q Quantity, sets []string) (*sample, error) {
	s := &sample{Start: start, orders: 1, q: q}
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
	e, err = sampleOf(all).Interval(ctx, o)
	return e, len(all), err
}

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
	return sampleOf(left).Minus(ctx, sampleOf(right), o)
}

// sampleOf are the values of a mean over images.
func sampleOf(all []sample) *Sample {
	out := &Sample{Images: all[0].images, Orders: all[0].orders}
	for _, s := range all {
		out.Values, out.Networks = append(out.Values, s.values), append(out.Networks, s.Start)
		out.Orders = min(out.Orders, s.orders)
	}
	return out
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
	o.Method = "basic"
	found, err := resample.Run(ctx, design, 1, func(d resample.Draw, v []float64) error {
		x, err := of(left, d.Second, d.First)
		if err != nil {
			return err
		}
		y, err := of(right, d.Second, d.First)
		v[0] = x - y
		return err
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
