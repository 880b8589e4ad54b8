package rs

import (
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

// intervals are the percentile intervals of the means of several metrics: values has those of an image side by
// side, so that a resample takes the same images for all of them.
//
// The ends are the order statistics of the resampled means next outside the two percentiles.
func (b Bootstrap) intervals(values []float64, metrics int) []Interval {
	images := len(values) / metrics
	means := make([][]float64, metrics)
	for m := range means {
		means[m] = make([]float64, b.Resamples)
	}
	random := rand.NewPCG(b.Seed, 0)
	sums := make([]float64, metrics)
	for s := range b.Resamples {
		clear(sums)
		for range images {
			// The upper half of the product is uniform but for 2⁻⁶⁴ of the number of images.
			at, _ := bits.Mul64(random.Uint64(), uint64(images))
			for m, v := range values[int(at)*metrics : (int(at)+1)*metrics] {
				sums[m] += v
			}
		}
		for m := range sums {
			means[m][s] = sums[m] / float64(images)
		}
	}
	side := (1 - b.Confidence) / 2 * float64(b.Resamples-1)
	low := int(math.Floor(side))
	out := make([]Interval, metrics)
	for m := range out {
		slices.Sort(means[m])
		out[m] = Interval{means[m][low], means[m][b.Resamples-1-low]}
	}
	return out
}
