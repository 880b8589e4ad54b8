package rs

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Bootstrap says how intervals are found by resampling images. The zero value has defaults for all.
type Bootstrap struct {
	Resamples  int     `json:"resamples"`  // default 10,000
	Confidence float64 `json:"confidence"` // default 0.95
	Seed       uint64  `json:"seed"`       // equal seeds give equal intervals
}

const (
	defaultResamples = 10_000
	mostResamples    = 1_000_000
)

func (b Bootstrap) withDefaults() (Bootstrap, error) {
	if b.Resamples == 0 {
		b.Resamples = defaultResamples
	}
	if b.Resamples < 1 || b.Resamples > mostResamples {
		return b, optionErrorf("%d resamples, want 1 to %d", b.Resamples, mostResamples)
	}
	if b.Confidence == 0 {
		b.Confidence = DefaultConfidence
	}
	return b, checkConfidence(b.Confidence)
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
	return b.intervals(radii, 1)[0], nil
}

// intervals are those of the means of several metrics: values has those of an image side by side, so that a resample takes the same
// images for all of them.
func (b Bootstrap) intervals(values []float64, metrics int) []Interval {
	images := len(values) / metrics
	out, _ := b.resample(images, metrics, func(drawn []int, means []float64) error {
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
	return out
}

// Intervals are the percentile intervals of any statistics of a number of images, of which a resample draws as many with replacement: of
// gets their places, and sets the value of each statistic. The same images in all statistics make differences paired.
//
// Errors: options out of range, fewer than 1 image, as *OptionError; the first one of a resample; a statistic that is NaN.
func (b Bootstrap) Intervals(images, statistics int, of func(drawn []int, values []float64) error) ([]Interval, error) {
	b, err := b.withDefaults()
	if err != nil {
		return nil, err
	}
	if images < 1 || statistics < 1 {
		return nil, optionErrorf("%d statistics of %d images, want at least 1 of 1", statistics, images)
	}
	return b.resample(images, statistics, of)
}

// resample returns the order statistics of the resampled values next outside the two percentiles.
func (b Bootstrap) resample(images, statistics int, of func(drawn []int, values []float64) error) ([]Interval, error) {
	all := make([][]float64, statistics)
	for k := range all {
		all[k] = make([]float64, b.Resamples)
	}
	random := rand.NewPCG(b.Seed, 0)
	drawn, values := make([]int, images), make([]float64, statistics)
	for s := range b.Resamples {
		for i := range drawn {
			// The upper half of the product is uniform but for 2⁻⁶⁴ of the number of images.
			at, _ := bits.Mul64(random.Uint64(), uint64(images))
			drawn[i] = int(at)
		}
		if err := of(drawn, values); err != nil {
			return nil, fmt.Errorf("rs: resample %d: %w", s, err)
		}
		for k, v := range values {
			if math.IsNaN(v) {
				return nil, fmt.Errorf("rs: resample %d: statistic %d is NaN", s, k)
			}
			all[k][s] = v
		}
	}
	side := (1 - b.Confidence) / 2 * float64(b.Resamples-1)
	low := int(math.Floor(side))
	out := make([]Interval, statistics)
	for k := range out {
		slices.Sort(all[k])
		out[k] = Interval{all[k][low], all[k][b.Resamples-1-low]}
	}
	return out, nil
}
