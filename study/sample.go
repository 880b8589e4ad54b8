package study

import (
	"context"
	"fmt"
	"slices"

	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
)

// Sample has a number for each image and each start of a row.
type Sample struct {
	Images   []int       // ids, ascending
	Values   [][]float64 // by start and image
	Networks []Start     // of the starts, in the order of their seeds
	Orders   int         // networks that go back to the start with fewest; see Folder.SampleOn
}

// Starts is their number.
func (s *Sample) Starts() int { return len(s.Values) }

// Mean is that over some images and starts, by their places. It sums over starts, then images: another
// order would change the last digit.
func (s *Sample) Mean(images, starts []int) float64 {
	sum := 0.
	for _, m := range starts {
		for _, i := range images {
			sum += s.Values[m][i]
		}
	}
	return sum / float64(len(starts)*len(images))
}

// Value is the mean over starts of their means over the images.
func (s *Sample) Value() (value float64) {
	for _, v := range s.Values {
		value += mean(v) / float64(len(s.Values))
	}
	return value
}

// Interval is the mean with its interval, over images and, where there are two or more, starts, as a
// network that is trained again comes out otherwise; see resample.Crossed.
//
// Errors: options out of range.
func (s *Sample) Interval(ctx context.Context, o resample.Options) (resample.Estimate, error) {
	return s.Apart(ctx, nil, o)
}

// Apart is the difference from a sample of the same images whose starts were trained apart, with its
// interval; from none it is the mean.
//
// Errors: options out of range.
func (s *Sample) Apart(ctx context.Context, from *Sample, o resample.Options) (e resample.Estimate, err error) {
	design := resample.Crossed(len(s.Values[0]), len(s.Values))
	if from != nil {
		design = resample.CrossedApart(len(s.Values[0]), len(s.Values), len(from.Values))
	}
	found, err := resample.Run(ctx, design, 1, func(d resample.Draw, v []float64) error {
		if v[0] = s.Mean(d.First, d.Second); from != nil {
			v[0] -= from.Mean(d.First, d.Third)
		}
		return nil
	}, o)
	if err != nil {
		return e, fmt.Errorf("study: %w", err)
	}
	return found[0], nil
}

// Minus is s − other, paired by image: of two rows, or of one on two sets. It is over the starts of the
// seeds that both have, or over all where they have none in common; all of both, too, where each has
// two or more that go back to other networks. Of fewer than three starts Given says, too, what holds
// for these alone.
//
// Errors: no image in common; options out of range.
func (s *Sample) Minus(ctx context.Context, other *Sample, o resample.Options) (*compare.Difference, error) {
	starts := min(len(s.Values), len(other.Values))
	left, right, oneRoot := s.sameSeeds(other)
	paired := len(left.Values) > 0 && (oneRoot || starts == 1)
	if !paired {
		left, right = s, other
	} else {
		starts = len(left.Values)
	}
	common, err := OnCommonImages(left, right)
	if err != nil {
		return nil, err
	}
	left, right = common[0], common[1]
	d := &compare.Difference{A: mean(right.overStarts()), B: mean(left.overStarts()), Starts: starts}
	d.Difference = d.B - d.A
	given, err := (&Sample{Values: [][]float64{minus(left.overStarts(), right.overStarts())}}).Interval(ctx, o)
	if err != nil || starts == 1 {
		d.Interval, d.P = given.Interval, given.P
		return d, err
	}
	if paired {
		for m := range left.Values {
			left.Values[m] = minus(left.Values[m], right.Values[m])
		}
		right = nil
	}
	found, err := left.Apart(ctx, right, o)
	d.Interval, d.P = found.Interval, found.P
	if starts < fewStarts {
		d.Given = &compare.Difference{A: d.A, B: d.B, Difference: d.Difference, Interval: given.Interval, P: given.P}
	}
	return d, err
}

// fewStarts is the number of starts from which a comparison speaks of methods alone; of fewer it says,
// too, what holds for these starts.
const fewStarts = 3

// sameSeeds are the starts whose seeds both have; oneRoot is whether those of each seed go back to one
// network.
func (s *Sample) sameSeeds(other *Sample) (mine, theirs *Sample, oneRoot bool) {
	mine, theirs, oneRoot = &Sample{Images: s.Images}, &Sample{Images: other.Images}, true
	for m, x := range s.Networks {
		k := slices.IndexFunc(other.Networks, func(y Start) bool { return y.Seed == x.Seed })
		if k >= 0 {
			mine.Values, theirs.Values = append(mine.Values, s.Values[m]), append(theirs.Values, other.Values[k])
			oneRoot = oneRoot && x.Root != "" && x.Root == other.Networks[k].Root
		}
	}
	return mine, theirs, oneRoot
}

// OnCommonImages are samples on the images that all of them have.
//
// Errors: no image in common.
func OnCommonImages(all ...*Sample) ([]*Sample, error) {
	common := slices.Clone(all[0].Images)
	for _, s := range all[1:] {
		common = slices.DeleteFunc(common, func(image int) bool {
			_, ok := slices.BinarySearch(s.Images, image)
			return !ok
		})
	}
	if len(common) == 0 {
		return nil, fmt.Errorf("study: the samples have no image in common")
	}
	var out []*Sample
	for _, s := range all {
		o := &Sample{Images: common, Values: make([][]float64, len(s.Values)), Networks: s.Networks, Orders: s.Orders}
		for i, image := range s.Images {
			if _, ok := slices.BinarySearch(common, image); ok {
				for m, v := range s.Values {
					o.Values[m] = append(o.Values[m], v[i])
				}
			}
		}
		out = append(out, o)
	}
	return out, nil
}

// Joined has the mean over the starts as one.
func (s *Sample) Joined() *Sample {
	return &Sample{Images: s.Images, Values: [][]float64{s.overStarts()}}
}

// overStarts is the mean over the starts, by image.
func (s *Sample) overStarts() []float64 {
	m := make([]float64, len(s.Values[0]))
	for _, v := range s.Values {
		for i := range v {
			m[i] += v[i] / float64(len(s.Values))
		}
	}
	return m
}

func minus(a, b []float64) []float64 {
	d := slices.Clone(a)
	for i, v := range b {
		d[i] -= v
	}
	return d
}

func mean(values []float64) float64 {
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
