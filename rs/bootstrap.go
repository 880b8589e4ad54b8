package rs

import (
	"context"
	"errors"

	"github.com/certspec/certspec/resample"
)

// Bootstrap says how intervals are found by resampling images. The zero value has defaults for all.
type Bootstrap struct {
	Resamples  int     `json:"resamples"`  // default 10,000
	Confidence float64 `json:"confidence"` // default 0.95
	Seed       uint64  `json:"seed"`       // equal seeds give equal intervals
}

func (b Bootstrap) options() resample.Options {
	return resample.Options{Resamples: b.Resamples, Confidence: b.Confidence, Seed: b.Seed}
}

func (b Bootstrap) withDefaults() (Bootstrap, error) {
	o, err := b.options().Resolved()
	return Bootstrap{o.Resamples, o.Confidence, o.Seed}, optionError(err)
}

// optionError makes an option that resample refuses one of this package.
func optionError(err error) error {
	var option *resample.OptionError
	if errors.As(err, &option) {
		return optionErrorf("%s", option.Reason)
	}
	return err
}

// Resolved has the defaults filled in.
func (b Bootstrap) Resolved() Bootstrap {
	b, _ = b.withDefaults()
	return b
}

// ACRInterval is the bootstrap interval (Efron 1979, percentile form) for the average certified radius of
// the population of which the labelled images are a random sample. Of no images it is [0, 0].
//
// Errors: options out of range, as *OptionError.
func (r Rows) ACRInterval(b Bootstrap) (Interval, error) {
	b, err := b.withDefaults()
	if err != nil {
		return Interval{}, err
	}
	var radii []float64
	for i := range r {
		if r[i].Label >= 0 {
			radii = append(radii, r[i].correctRadius())
		}
	}
	if len(radii) == 0 {
		return Interval{}, nil
	}
	intervals, err := b.intervals(radii, 1)
	if err != nil {
		return Interval{}, err
	}
	return intervals[0], nil
}

// intervals are those of the means of several metrics: values has those of an image side by side, so that a resample takes the same
// images for all of them.
func (b Bootstrap) intervals(values []float64, metrics int) ([]Interval, error) {
	images := len(values) / metrics
	return b.Intervals(images, metrics, func(drawn []int, means []float64) error {
		clear(means)
		for _, at := range drawn {
			for m, v := range values[at*metrics : (at+1)*metrics] {
				means[m] += v
			}
		}
		for m := range means {
			means[m] /= float64(images)
		}
		return nil
	})
}

// Intervals are the percentile intervals of any statistics of a number of images, of which a resample draws as many with replacement: of
// gets their places, and sets the value of each statistic, for several resamples at once. The same images in all statistics make differences paired.
//
// Errors: options out of range, fewer than 1 image, as *OptionError; the first one of a resample; a statistic that is NaN.
func (b Bootstrap) Intervals(images, statistics int, of func(drawn []int, values []float64) error) ([]Interval, error) {
	estimates, err := resample.Run(context.Background(), resample.Paired(images), statistics, func(d resample.Draw, values []float64) error {
		return of(d.First, values)
	}, b.options())
	if err != nil {
		return nil, optionError(err)
	}
	out := make([]Interval, len(estimates))
	for k, e := range estimates {
		out[k] = e.Interval
	}
	return out, nil
}
