package compare

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/resample"
)

// LeastImages is the number of images from which intervals are of the bootstrap. Over fewer its percentiles are too
// short, the more so where most images are at the cap: they are Student's then.
const LeastImages = 100

// fewest is the number of images that differ below which even Student's t with all images counts too much.
const fewest = 10

// MethodOf says in words how intervals over so many images are made.
func MethodOf(images int, o resample.Options) string {
	if images < LeastImages && percentiles(o) {
		return fmt.Sprintf("Student's t, as of fewer than %d images; it holds rare large differences less often",
			LeastImages)
	}
	return printable.Sprintf("the bootstrap over images, %d resamples, seed %d", o.Resamples, o.Seed)
}

// percentiles reports whether intervals are those that few images replace.
func percentiles(o resample.Options) bool { return o.Method == "" || o.Method == "percentile" }

// meanDifferences is resample.Means for differences. Of n < LeastImages images an interval is Student's with n − 1
// degrees of freedom. Where m < 10 images differ at all it has m − 1, at least 1, as the others say
// nothing of how large a difference is.
func meanDifferences(ctx context.Context, values []float64, each int, o resample.Options) ([]resample.Estimate,
	error) {
	n := len(values) / each
	few := n >= 2 && n < LeastImages && percentiles(o)
	found, err := means(ctx, values, each, few, o)
	if err != nil || !few {
		return found, err
	}
	for k := range found {
		differ := 0
		for i := k; i < len(values); i += each {
			if values[i] != 0 {
				differ++
			}
		}
		freedom := n - 1
		if differ < fewest {
			freedom = max(1, differ-1)
		}
		student(&found[k], values, each, k, freedom, o.Confidence)
	}
	return found, nil
}

// averages is resample.Means for radii. Of fewer than LeastImages images an interval is Student's. Where more than half
// of the images, and all but m < 10, are at the largest radius c, the lower end is at most the mean less c(q − m/n):
// q is the upper Clopper-Pearson bound on the share of images that are not, any of which may have the radius 0.
func averages(ctx context.Context, values []float64, each int, o resample.Options) ([]resample.Estimate, error) {
	n := len(values) / each
	few := n >= 2 && n < LeastImages && percentiles(o)
	found, err := means(ctx, values, each, few, o)
	if err != nil || n < 2 || !percentiles(o) {
		return found, err
	}
	for k := range found {
		if few {
			student(&found[k], values, each, k, n-1, o.Confidence)
		}
		most, below := 0., 0
		for i := k; i < len(values); i += each {
			most = max(most, values[i])
		}
		for i := k; i < len(values); i += each {
			if values[i] < most {
				below++
			}
		}
		if below < fewest && 2*below < n {
			share, err := resample.Share(below, n, o.Confidence)
			if err != nil {
				return nil, err
			}
			e := &found[k]
			e.Interval.Low = min(e.Interval.Low, e.Value-most*(share.High-float64(below)/float64(n)))
		}
	}
	return found, nil
}

// means is resample.Means. Of few images nothing but the values themselves is used.
func means(ctx context.Context, values []float64, each int, few bool, o resample.Options) ([]resample.Estimate,
	error) {
	if few {
		o.Resamples = 1
	}
	return resample.Means(ctx, values, each, o)
}

// student gives an estimate, the mean of every each-th value from the k-th on, Student's interval and p-value.
func student(e *resample.Estimate, values []float64, each, k, freedom int, confidence float64) {
	n, square := float64(len(values)/each), 0.
	for i := k; i < len(values); i += each {
		square += (values[i] - e.Value) * (values[i] - e.Value)
	}
	e.Error = math.Sqrt(square / (n - 1) / n)
	t := distuv.StudentsT{Sigma: 1, Nu: float64(freedom)}
	half := t.Quantile((1+confidence)/2) * e.Error
	e.Interval = resample.Interval{Low: e.Value - half, High: e.Value + half}
	e.P = 1
	if e.Value != 0 {
		e.P = min(1, 2*t.CDF(-math.Abs(e.Value)/e.Error))
	}
}
