package resample

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// many is the number of members above which Means computes percentiles instead of drawing.
const many = 20_000

// Means gives the means of several paired values their intervals. values has those of a member side by side, so a
// resample takes the same members for all.
//
// Up to 20,000 members it is Run. For more, the percentiles of all resamples are computed by the expansion of Cornish
// and Fisher (Hall 1992, section 2.5). With skewness γ and excess kurtosis κ of n values, and z = Φ⁻¹(α),
//
//	q(α) = θ + s/√n (z + γ/√n (z²−1)/6 + κ/n (z³−3z)/24 − γ²/n (2z³−5z)/36).
//
// Their error is of the order of 1/n, below that of any number of resamples here. Where γ/√n or κ/n are above 0.05,
// as few members differ from all others, and for methods other than "percentile", Means draws.
//
// Errors: those of Run.
func Means(ctx context.Context, values []float64, each int, o Options) ([]Estimate, error) {
	n := len(values) / each
	if n > many && (o.Method == "" || o.Method == percentile) {
		if all := expanded(values, each, o); all != nil {
			return all, nil
		}
	}
	return Run(ctx, Paired(n), each, func(d Draw, means []float64) error {
		clear(means)
		for _, at := range d.First {
			for m, v := range values[at*each : (at+1)*each] {
				means[m] += v
			}
		}
		for m := range means {
			means[m] /= float64(len(d.First))
		}
		return nil
	}, o)
}

// expanded is Means without resamples; nil: the expansion does not hold, or a value is not finite.
func expanded(values []float64, each int, o Options) []Estimate {
	o, err := o.Resolved()
	if err != nil {
		return nil
	}
	n := float64(len(values) / each)
	all := make([]Estimate, each)
	for m := range all {
		var mean, second, third, fourth float64
		for i := m; i < len(values); i += each {
			mean += values[i] / n
		}
		for i := m; i < len(values); i += each {
			d := values[i] - mean
			second, third, fourth = second+d*d/n, third+d*d*d/n, fourth+d*d*d*d/n
		}
		deviation := math.Sqrt(second)
		skew, kurtosis := third/(second*deviation)/math.Sqrt(n), (fourth/(second*second)-3)/n
		switch {
		case second == 0:
			skew, kurtosis = 0, 0
		case !(math.Abs(skew) <= 0.05 && math.Abs(kurtosis) <= 0.05):
			return nil
		}
		deviation /= math.Sqrt(n)
		quantile := func(level float64) float64 {
			z := mathext.NormalQuantile(level)
			return mean + deviation*(z+skew*(z*z-1)/6+kurtosis*(z*z*z-3*z)/24-skew*skew*(2*z*z*z-5*z)/36)
		}
		at := func(confidence float64) Interval {
			return Interval{quantile((1 - confidence) / 2), quantile((1 + confidence) / 2)}
		}
		e := &all[m]
		e.Value, e.Error, e.Interval = mean, deviation, at(o.Confidence)
		e.P = max(smallestLevel(at), 2/float64(o.Resamples+1))
		if math.IsNaN(e.Interval.Low) || math.IsInf(mean, 0) {
			return nil
		}
	}
	return all
}
