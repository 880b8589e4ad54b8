package rs

import (
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/bound"
)

// ExactInterval returns the two-sided interval of Clopper and Pearson (1934) for the probability behind count hits in n
// independent trials. Each side misses with probability at most (1−confidence)/2, whatever the probability is. Both
// ends are rounded outwards.
//
// Errors: a confidence outside (0, 1), as *rule.OptionError; n < 1 or a count outside [0, n], as *bound.InputError.
func ExactInterval(count, n int, confidence float64) (resample.Interval, error) {
	if err := checkConfidence(confidence); err != nil {
		return resample.Interval{}, err
	}
	side := (1 - confidence) / 2
	low, err := bound.Lower(count, n, side)
	if err != nil {
		return resample.Interval{}, err
	}
	high, err := bound.Upper(count, n, side)
	return resample.Interval{Low: low.P, High: high.P}, err
}

// Interval returns the exact interval for the certified accuracy of the population of which the images are a random
// sample. Without images it is [0, 1]. The error is that of ExactInterval.
//
// The interval covers the probability that this procedure certifies the right class of a random image at the radius. A
// certificate is false with probability at most α. So the probability that the smoothed classifier is right on the
// whole ball is at least the lower end minus α, with the same confidence.
func (a Accuracy) Interval(confidence float64) (resample.Interval, error) {
	if a.Images == 0 {
		return resample.Interval{Low: 0, High: 1}, checkConfidence(confidence)
	}
	return ExactInterval(a.Count, a.Images, confidence)
}

func checkConfidence(confidence float64) error {
	if !(confidence > 0 && confidence < 1) {
		return optionErrorf("the confidence is %v, want a number between 0 and 1", confidence)
	}
	return nil
}
