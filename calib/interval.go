package calib

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/certspec/certspec/resample"
)

// Bounds are proven bounds on a value, wherever an image moves within a radius. The interval of a statistic is a
// resample.Interval.
type Bounds struct {
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// Intervals returns intervals for statistics of the population behind the samples, which are taken as drawn at random.
// The keys are "accuracy", "ece" over bins, "adaece" and "adaece_quantile" over as many bins, "debiased_ece", "brier",
// and "log_loss" where it is finite:
//
//	accuracy             exact, by Clopper and Pearson
//	Brier, log loss      percentiles of the bootstrap
//	ECE, both AdaECE     resample.Norms of the signed gaps of the bins: percentiles of a calibration error
//	                     are too high and may even exclude the error of the samples
//	debiased ECE         on the scale of its square, less the bootstrap bias of the squared error
//
// SmoothECE, MCE and ClasswiseECE have none: see docs/calibration.md. For errors over bins, the population's
// value is that over the same bins, or over bins that cut the population's confidences alike.
//
// Errors: those of CheckConfidences; options out of range, as *InputError; that of ctx.
func Intervals(ctx context.Context, correct []bool, confidence []float64, bins *Bins,
	o resample.Options) (map[string]resample.Interval, error) {
	if err := CheckConfidences(correct, confidence); err != nil {
		return nil, err
	}
	o, err := o.Resolved()
	if err != nil {
		return nil, inputOf(err)
	}
	n, hits := len(correct), 0
	brier, logLoss := make([]float64, n), make([]float64, n)
	finite := true
	for i, z := range confidence {
		hits += int(bit(correct[i]))
		brier[i] = (z - float64(bit(correct[i]))) * (z - float64(bit(correct[i])))
		right := z
		if !correct[i] {
			right = 1 - z
		}
		logLoss[i] = -math.Log(right)
		finite = finite && right > 0
	}
	out := map[string]resample.Interval{}
	share, err := resample.Share(hits, n, o.Confidence)
	if err != nil {
		return nil, inputOf(err)
	}
	out["accuracy"] = share
	means := [][]float64{brier}
	if finite {
		means = append(means, logLoss)
	}
	found, err := resample.Run(ctx, resample.Paired(n), len(means), func(d resample.Draw, values []float64) error {
		clear(values)
		for _, i := range d.First {
			for k, of := range means {
				values[k] += of[i]
			}
		}
		for k := range values {
			values[k] /= float64(len(d.First))
		}
		return nil
	}, o)
	if err != nil {
		return nil, err
	}
	for k, e := range found {
		out[[]string{"brier", "log_loss"}[k]] = e.Interval
	}
	found, err = resample.Norms(ctx, resample.Paired(n), []int{bins.Len(), bins.Len(), bins.Len()},
		[][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, func(d resample.Draw, gaps []float64) error {
			c, z := Drawn(correct, confidence, d.First)
			uniform, err := eceGaps(c, z, bins)
			if err != nil {
				return err
			}
			adaptive, err := AdaECEGaps(c, z, bins.Len())
			if err != nil {
				return err
			}
			quantiles, err := quantileGaps(c, z, bins.Len())
			rest := gaps[copy(gaps, uniform):]
			for m, g := range quantiles {
				rest[len(adaptive)+m] = g / float64(len(c))
			}
			copy(rest, adaptive)
			return err
		}, o)
	if err != nil {
		return nil, err
	}
	for k, e := range found {
		out[[]string{"ece", "adaece", "adaece_quantile"}[k]] = resample.Interval{Low: e.Interval.Low,
			High: min(1, e.Interval.High)}
	}
	out["debiased_ece"], err = debiasedInterval(ctx, correct, confidence, bins, o)
	return out, err
}

func debiasedInterval(ctx context.Context, correct []bool, confidence []float64, bins *Bins,
	o resample.Options) (resample.Interval, error) {
	bars, err := Reliability(correct, confidence, bins)
	if err != nil {
		return resample.Interval{}, err
	}
	plain := 0.0 // what the square would be if the samples were the population
	for _, b := range bars {
		plain += float64(b.Count) * b.Gap * b.Gap / float64(len(correct))
	}
	o.Method = "basic"
	found, err := resample.Run(ctx, resample.Paired(len(correct)), 1,
		func(d resample.Draw, values []float64) (err error) {
			c, z := Drawn(correct, confidence, d.First)
			values[0], err = debiasedSquare(c, z, bins)
			return err
		}, o)
	if err != nil {
		return resample.Interval{}, err
	}
	root := func(square float64) float64 { return math.Sqrt(min(1, max(0, square))) }
	shift := plain - found[0].Value
	return resample.Interval{Low: root(found[0].Interval.Low + shift), High: root(found[0].Interval.High + shift)}, nil
}

// Drawn are the samples at some places, in their order, since AdaECE breaks ties by place.
func Drawn(correct []bool, confidence []float64, at []int) ([]bool, []float64) {
	at = slices.Sorted(slices.Values(at))
	c, z := make([]bool, len(at)), make([]float64, len(at))
	for k, i := range at {
		c[k], z[k] = correct[i], confidence[i]
	}
	return c, z
}

func inputOf(err error) error {
	var option *resample.OptionError
	if errors.As(err, &option) {
		return inputError("options", option.Reason, "settings in range")
	}
	return err
}
