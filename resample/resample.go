// Package resample finds intervals for statistics of samples by drawing the samples again, the bootstrap (Efron 1979).
// It works on places in plain vectors and does not know their content. Run is for any statistic that resampling does
// not bias much; Norms is for sums of absolute values, such as calibration errors, which it does bias; Share is for
// shares.
//
// A Design says how a resample is drawn: one sample, or any number of paired ones; two independent ones; crossed
// levels, such as images and models. Levels of few members are left out one at a time instead, with Student's
// t. A Statistic gets the places that were drawn and sets any number of values, so the differences between them are
// paired. The result depends on the seed, not on the number of processors.
package resample

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// Normal95 is Φ⁻¹(0.975): an interval of 95 % by the normal distribution has so many standard errors on each side.
const Normal95 = 1.959963984540054

// Interval is a pair of bounds.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

func (i Interval) String() string { return fmt.Sprintf("[%.4f, %.4f]", i.Low, i.High) }

// Contains reports whether v lies in the interval.
func (i Interval) Contains(v float64) bool { return i.Low <= v && v <= i.High }

// Method makes an interval from the resampled values. θ is the statistic of the sample, and q are the quantiles of its
// values in resamples:
type Method string

const (
	// percentile is [q(α/2), q(1−α/2)], Efron 1979; for means and other statistics that resampling
	// does not bias
	percentile Method = "percentile"
	basic      Method = "basic" // [2θ−q(1−α/2), 2θ−q(α/2)], Davison and Hinkley 1997, (5.6)
	moved      Method = "moved" // percentiles less twice the bias, where sampling biases as resampling does
)

// Options says how intervals are found. The zero value has defaults for all.
type Options struct {
	Resamples  int     `json:"resamples"`        // 1 to 1,000,000; default 10,000
	Confidence float64 `json:"confidence"`       // in (0, 1); default 0.95
	Seed       uint64  `json:"seed"`             // equal seeds give equal intervals
	Method     Method  `json:"method,omitempty"` // default "percentile"; "basic", "moved"
}

// Defaults of Options.
const (
	defaultResamples  = 10_000
	DefaultConfidence = 0.95
	leastResamples    = 1
	mostResamples     = 1_000_000
)

// OptionError says which option is out of range, and what was expected.
type OptionError struct{ Reason string }

func (e *OptionError) Error() string { return "resample: " + e.Reason }

func optionErrorf(format string, args ...any) error {
	return &OptionError{fmt.Sprintf(format, args...)}
}

// Resolved has the defaults filled in.
//
// Errors: an option out of range, as *OptionError.
func (o Options) Resolved() (Options, error) {
	o.Resamples = cmp.Or(o.Resamples, defaultResamples)
	o.Confidence = cmp.Or(o.Confidence, DefaultConfidence)
	switch {
	case o.Resamples < leastResamples || o.Resamples > mostResamples:
		return o, optionErrorf("%d resamples, want %d to %d", o.Resamples, leastResamples, mostResamples)
	case !(o.Confidence > 0 && o.Confidence < 1):
		return o, optionErrorf("confidence %v, want a number in (0, 1)", o.Confidence)
	case !slices.Contains([]Method{"", percentile, basic, moved}, o.Method):
		return o, optionErrorf("method %q, want %q, %q or %q", o.Method, percentile, basic, moved)
	}
	return o, nil
}

// Draw is a resample: places in the vectors of the design. It is only good during the call. A level may
// hold fewer places than the sample has, since units are left out.
type Draw struct {
	First  []int  // places of the sample; of the images, in two levels; of the first of two samples
	Second []int  // places of the second sample, or of the models; nil in a design of one sample
	Third  []int  // places of the second set of models; else nil
	Seed   uint64 // of what the statistic draws itself, in a design WithSeed; 0 in the sample itself
}

// Statistic sets the values of a resample. It is called from several goroutines at once and keeps nothing that it gets.
// A value may be NaN where a model is left out and the rest has none: then its interval is the whole line.
type Statistic func(d Draw, values []float64) error

// Estimate is a statistic with its interval.
type Estimate struct {
	Value    float64  `json:"value"` // of the sample itself
	Interval Interval `json:"interval"`
	Error    float64  `json:"error"` // standard error of the statistic
	Bias     float64  `json:"bias"`  // mean of the resamples less Value
	// two-sided p-value of the hypothesis that the statistic is 0, for differences; see Holm
	P float64 `json:"p"`
}

// Run gives the statistics of a design their intervals.
//
// Levels of ten members or more are drawn with replacement; the method makes an interval of the resamples. Percentiles
// over fewer members are too short, and so they are over models, whatever their number. The members of such a level are
// left out in turn. With θ₍ᵢ₎ the statistic without member i of n, its variance is (n−1)/n Σ(θ₍ᵢ₎−θ)². It has n − 1
// degrees of freedom (Tukey 1958; see Fitted). Two such levels of equal size are joined by Satterthwaite's rule. A
// level of one member is given.
//
// The interval adds the distances d of the resamples and those of Student's t in squares,
//
//	[θ − √(d₋² + Σ t²V), θ + √(d₊² + Σ t²V)],
//
// which holds the truth at least as often as each part does (Banerjee 1960). The part of a model on an image is in
// V. It is taken out of d: d² is multiplied by the share of the variance over images that all models have in
// common, but for d alone being wider.
//
// Errors: options and designs out of range, as *OptionError; the first one of the statistic; a
// value that is not finite; that of ctx.
func Run(ctx context.Context, design Design, statistics int, of Statistic, o Options) ([]Estimate, error) {
	o, err := o.Resolved()
	if err != nil {
		return nil, err
	}
	if err := design.check(); err != nil {
		return nil, err
	}
	if statistics < 1 {
		return nil, optionErrorf("%d statistics, want at least 1", statistics)
	}
	own := make([]float64, statistics)
	if err := evaluate(of, design.all().expand(), own, "the sample itself"); err != nil {
		return nil, err
	}
	small, err := leaveOut(ctx, design, of, statistics)
	if err != nil {
		return nil, err
	}
	drawn, err := draw(ctx, design, of, statistics, crossings, o)
	if err != nil {
		return nil, err
	}
	estimates := make([]Estimate, statistics)
	for k, value := range own {
		values := drawn.values[k]
		mean, deviation := moments(values)
		common := drawn.common(design, small, k, deviation*deviation)
		slices.Sort(values)
		parts := variances(design, small, k, value)
		at := func(confidence float64) Interval {
			in, center := Interval{}, value
			switch p := percentiles(values, confidence); o.Method {
			default:
				in = p
			case basic:
				in, center = Interval{2*value - p.High, 2*value - p.Low}, 2*value-mean
			case moved:
				in, center = Interval{p.Low - 2*(mean-value), p.High - 2*(mean-value)}, 2*value-mean
			}
			return widened(in, center, math.Sqrt(common), parts, confidence)
		}
		e := &estimates[k]
		e.Value, e.Bias, e.Interval = value, mean-value, at(o.Confidence)
		e.Error = math.Sqrt(common*deviation*deviation + total(parts))
		switch {
		case len(parts) == 0 && o.Method == basic:
			e.P = pValue(values, 2*value)
		case len(parts) == 0 && (o.Method == "" || o.Method == percentile):
			e.P = pValue(values, 0)
		default:
			e.P = smallestLevel(at)
			if design.anyDrawn() {
				e.P = max(e.P, 2/float64(len(values)+1))
			}
		}
	}
	return estimates, nil
}

func evaluate(of Statistic, d Draw, values []float64, what string) error {
	if err := of(d, values); err != nil {
		return fmt.Errorf("resample: %s: %w", what, err)
	}
	for k, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("resample: %s: statistic %d is %v, want a finite number", what, k, v)
		}
	}
	return nil
}

// resamples are what was drawn.
type resamples struct {
	values [][]float64 // by statistic and resample
	// By model, statistic and resample: the statistic of the first resamples without the model.
	without [][][]float64
}

// crossings is about how often a model is left out of a resample, over all models.
const crossings = 1000

// draw gives the values of each statistic in all resamples. Places are drawn in the order of the resamples,
// whichever goroutine evaluates them. Where nothing is drawn there is one resample, the sample itself. Without
// crossings no model is left out.
func draw(ctx context.Context, design Design, of Statistic, statistics, crossings int, o Options) (*resamples, error) {
	if !design.anyDrawn() {
		o.Resamples = 1
	}
	all := &resamples{values: table(statistics, o.Resamples)}
	type unit struct{ level, at int }
	var models []unit
	for _, level := range design.leftOut() {
		for at := range design.units[level] {
			if crossings > 0 && design.anyDrawn() && design.isModels(level) {
				models = append(models, unit{level, at})
			}
		}
	}
	first := min(o.Resamples, max(20, crossings/max(1, len(models))))
	for range models {
		all.without = append(all.without, table(statistics, first))
	}
	var (
		mu     sync.Mutex
		next   int
		failed error
		at     = o.Resamples // where failed
		random = rand.NewPCG(o.Seed, 0)
	)
	one := func(d *drawing, mine []float64, r int) error {
		if err := evaluate(of, d.expand(), mine, fmt.Sprintf("resample %d", r)); err != nil {
			return err
		}
		for k, v := range mine {
			all.values[k][r] = v
		}
		for m, u := range models {
			if r >= first {
				break
			}
			if err := of(d.without(u.level, u.at), mine); err != nil {
				return fmt.Errorf("resample: resample %d without model %d: %w", r, u.at, err)
			}
			for k, v := range mine {
				all.without[m][k][r] = v
			}
		}
		return nil
	}
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), o.Resamples) {
		workers.Go(func() {
			d, mine := design.newDraw(), make([]float64, statistics)
			for {
				mu.Lock()
				r := next
				next++
				if r >= o.Resamples || failed != nil || ctx.Err() != nil {
					mu.Unlock()
					return
				}
				d.draw(random)
				mu.Unlock()
				if err := one(d, mine, r); err != nil {
					mu.Lock()
					if r < at {
						failed, at = err, r
					}
					mu.Unlock()
					return
				}
			}
		})
	}
	workers.Wait()
	if failed != nil {
		return nil, failed
	}
	return all, ctx.Err()
}

func table(rows, columns int) [][]float64 {
	t := make([][]float64, rows)
	for k := range t {
		t[k] = make([]float64, columns)
	}
	return t
}

// smallestLevel is the level below which an interval holds 0.
func smallestLevel(interval func(confidence float64) Interval) float64 {
	low, high := 0., 1.
	for range 30 {
		if level := (low + high) / 2; interval(1 - level).Contains(0) {
			low = level
		} else {
			high = level
		}
	}
	return high
}

// below is uniform in 0 … n−1 but for 2⁻⁶⁴ n: the upper half of a product.
func below(random *rand.PCG, n int) int {
	at, _ := bits.Mul64(random.Uint64(), uint64(n))
	return int(at)
}

func moments(values []float64) (mean, deviation float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean) / float64(max(1, len(values)-1))
	}
	return mean, math.Sqrt(deviation)
}

// percentiles are the order statistics next outside the two quantiles.
func percentiles(sorted []float64, confidence float64) Interval {
	last := len(sorted) - 1
	low := int(math.Floor((1 - confidence) / 2 * float64(last)))
	return Interval{sorted[low], sorted[last-low]}
}
