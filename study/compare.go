package study

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/resample"
)

// Compare is cell a less cell b, or cell a alone where b is nil, paired by image, and by start where both rows go back
// to the same ones. Orders of the data from one start are joined first, so that they are one start. It is nil where a
// row has no network with the columns, and without estimates where the two are certified at other σ.
//
// Errors: a row or set that the table does not have; a quantity that is no mean over images, of one row alone, less a
// number or of orders of one start; no image in common; those of resample.
func (f *Folder) Compare(ctx context.Context, a Cell, b *Cell, by float64, o resample.Options) (*Comparison, error) {
	if q, err := Find(a.What); err == nil && q.Of != nil && b != nil && by == 0 {
		return f.statistics(ctx, a, *b, o)
	}
	left, err := f.means(a)
	if err != nil || len(left) == 0 {
		return nil, err
	}
	if b == nil {
		x := sampleOf(left)
		d := &Comparison{A: mean(x.overStarts()), Of: x.Starts(), Orders: x.Orders}
		return d, d.estimate(ctx, x.overStarts(), x, nil, by, o)
	}
	right, err := f.means(*b)
	if err != nil || len(right) == 0 {
		return nil, err
	}
	if x, y := f.networks[left[0].Network].noise(), f.networks[right[0].Network].noise(); x != y && x > 0 && y > 0 {
		x := &Comparison{A: mean(sampleOf(left).overStarts()), B: mean(sampleOf(right).overStarts()),
			Note: fmt.Sprintf("not compared, as settings differ: σ %g, %g", x, y)}
		return x, nil
	}
	orders := min(sampleOf(left).Orders, sampleOf(right).Orders)
	paired := sameStarts(&left, &right)
	common, err := OnCommonImages(sampleOf(left), sampleOf(right))
	if err != nil {
		return nil, err
	}
	x, y := common[0], common[1]
	d := &Comparison{A: mean(x.overStarts()), B: mean(y.overStarts()), Of: min(x.Starts(), y.Starts()),
		Orders: orders}
	given := minus(x.overStarts(), y.overStarts())
	if paired {
		for i := range x.Values {
			x.Values[i] = minus(x.Values[i], y.Values[i])
		}
		y = nil
	}
	return d, d.estimate(ctx, given, x, y, by, o)
}

// statistics compares two cells whose quantity is no mean over images.
func (f *Folder) statistics(ctx context.Context, a, b Cell, o resample.Options) (*Comparison, error) {
	for _, c := range []Cell{a, b} {
		all, err := f.samples(c)
		if err != nil {
			return nil, err
		}
		for i, s := range all {
			if slices.ContainsFunc(all[:i], func(before sample) bool { return before.Root == s.Root && s.Root != "" }) {
				return nil, fmt.Errorf("study: %s has several orders of one start; of them %s is not judged here", c.Row, c.What)
			}
		}
	}
	o, err := o.Resolved()
	if err != nil {
		return nil, fmt.Errorf("study: %w", err)
	}
	if least := 2 / (1 - o.Confidence); float64(o.Resamples) < least*(1-1e-9) {
		return nil, fmt.Errorf("study: %s: an interval of %.10g by %d resamples; expected at least %.0f", a.What,
			o.Confidence, o.Resamples, math.Ceil(least))
	}
	d, err := f.Difference(ctx, a, b, o)
	if d == nil || err != nil {
		return nil, err
	}
	out, found := &Comparison{A: d.B, B: d.A, Of: d.Starts, Orders: 1}, &Estimate{d.Interval, d.P}
	if out.Networks = found; d.Starts > 1 {
		out.Networks, out.Starts = nil, found
		out.Note = fmt.Sprintf("%d starts", d.Starts)
	}
	return out, nil
}

// estimate fills in what the values by image are for these networks, and over starts where there are several.
func (d *Comparison) estimate(ctx context.Context, given []float64, values, from *Sample, by float64,
	o resample.Options) error {
	above := func(values, from *Sample) (*Estimate, error) {
		moved := &Sample{}
		for _, v := range values.Values {
			v = slices.Clone(v)
			for i := range v {
				v[i] -= by
			}
			moved.Values = append(moved.Values, v)
		}
		e, err := moved.Apart(ctx, from, o)
		return &Estimate{resample.Interval{Low: e.Interval.Low + by, High: e.Interval.High + by}, e.P}, err
	}
	var err error
	if d.Networks, err = above(&Sample{Values: [][]float64{given}}, nil); err == nil && d.Of > 1 {
		d.Starts, err = above(values, from)
	}
	return err
}

// means are the starts of a cell that is a mean over images.
func (f *Folder) means(c Cell) ([]sample, error) {
	all, err := f.samples(c)
	if err == nil && len(all) > 0 && all[0].q.Each == nil {
		err = fmt.Errorf("study: %s is no mean over images: its claims are not judged here", c.What)
	}
	return all, err
}

// sameStarts leaves the starts that both have, where they have some: by the network that they go back to; by seed where
// one of the two has one start alone.
func sameStarts(left, right *[]sample) bool {
	keep := func(same func(a, b sample) bool) bool {
		var mine, theirs []sample
		for _, x := range *left {
			if k := slices.IndexFunc(*right, func(y sample) bool { return same(x, y) }); k >= 0 {
				mine, theirs = append(mine, x), append(theirs, (*right)[k])
			}
		}
		if mine == nil {
			return false
		}
		*left, *right = mine, theirs
		return true
	}
	return keep(func(a, b sample) bool { return a.Root != "" && a.Root == b.Root }) ||
		min(len(*left), len(*right)) == 1 && keep(func(a, b sample) bool { return a.Seed == b.Seed })
}
