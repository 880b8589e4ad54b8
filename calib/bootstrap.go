package calib

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/stat"
)

// Interval is a pair of bounds.
type Interval struct {
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// BootstrapOptions are the settings of Bootstrap; the zero value makes 1000 resamples at level 0.95.
type BootstrapOptions struct {
	Resamples int     // at least 20; 0 means 1000
	Level     float64 // in (0, 1); 0 means 0.95
	Seed      uint64
}

// Bootstrap returns percentile intervals of statistics of a set of samples (Efron 1979): each resample draws N
// samples with replacement, and the interval of a statistic lies between the (1−level)/2 and (1+level)/2
// quantiles of its values. The statistics must be safe to call at the same time, and keep nothing of what
// they are given. The result depends on the seed but not on the number of cores.
//
// The ECE of a resample is larger than that of the samples on average, so its interval is one of the
// estimate's spread, and lies high where the ECE is small.
//
// Errors: options out of range and those of CheckConfidences, as *InputError; the first one of a statistic;
// that of ctx.
func Bootstrap(ctx context.Context, correct []bool, confidence []float64, o BootstrapOptions, statistics ...func(correct []bool, confidence []float64) (float64, error)) ([]Interval, error) {
	if err := CheckConfidences(correct, confidence); err != nil {
		return nil, err
	}
	if o.Resamples == 0 {
		o.Resamples = 1000
	}
	if o.Level == 0 {
		o.Level = 0.95
	}
	if o.Resamples < 20 {
		return nil, inputError("Resamples", o.Resamples, "at least 20")
	}
	if !(o.Level > 0 && o.Level < 1) {
		return nil, inputError("Level", o.Level, "a level in (0, 1)")
	}
	values := make([][]float64, len(statistics))
	for k := range values {
		values[k] = make([]float64, o.Resamples)
	}
	errs := make([]error, o.Resamples)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), o.Resamples) {
		wg.Go(func() {
			c, z := make([]bool, len(correct)), make([]float64, len(correct))
			for r := int(next.Add(1)) - 1; r < o.Resamples; r = int(next.Add(1)) - 1 {
				if errs[r] = ctx.Err(); errs[r] != nil {
					return
				}
				random := rand.New(rand.NewPCG(o.Seed, uint64(r)))
				for i := range c {
					j := random.IntN(len(correct))
					c[i], z[i] = correct[j], confidence[j]
				}
				for k, statistic := range statistics {
					if values[k][r], errs[r] = statistic(c, z); errs[r] != nil {
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for r, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("calib: resample %d: %w", r, err)
		}
	}
	intervals := make([]Interval, len(statistics))
	for k, v := range values {
		slices.Sort(v)
		intervals[k] = Interval{
			stat.Quantile((1-o.Level)/2, stat.LinInterp, v, nil),
			stat.Quantile((1+o.Level)/2, stat.LinInterp, v, nil),
		}
	}
	return intervals, nil
}
