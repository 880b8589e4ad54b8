package resample_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/certspec/certspec/resample"
)

// mean is the mean of the places that were drawn.
func mean(of []float64) resample.Statistic {
	return func(d resample.Draw, values []float64) error {
		values[0] = 0
		for _, i := range d.First {
			values[0] += of[i] / float64(len(d.First))
		}
		return nil
	}
}

func run(t *testing.T, d resample.Design, statistics int, of resample.Statistic, o resample.Options) []resample.Estimate {
	t.Helper()
	got, err := resample.Run(t.Context(), d, statistics, of, o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// The resampled mean of ten values has a known distribution, by convolution. The ends are read from it, at a level
// where the mass jumps by far more than the error of 100,000 draws.
func TestAgainstAllResamples(t *testing.T) {
	of := []float64{0, 0, 0, 0, 0, 0, 1, 1, 1, 4}
	mass := map[int]float64{0: 1} // by sum
	for range of {
		next := map[int]float64{}
		for sum, p := range mass {
			for _, v := range of {
				next[sum+int(v)] += p / 10
			}
		}
		mass = next
	}
	end := func(level float64) float64 {
		below := 0.
		for sum := range 41 {
			if below += mass[sum]; below > level {
				if below-level < .01 || level-below+mass[sum] < .01 {
					t.Fatalf("the level %v is at a jump", level)
				}
				return float64(sum) / 10
			}
		}
		return 4
	}
	low, high, own := end(.15), end(.85), .7
	for method, want := range map[resample.Method]resample.Interval{
		"percentile": {Low: low, High: high}, "basic": {Low: 2*own - high, High: 2*own - low},
	} {
		for seed := range uint64(3) {
			e := run(t, resample.Paired(10), 1, mean(of), resample.Options{Resamples: 100_000, Confidence: .7,
				Seed: seed, Method: method})[0]
			if math.Abs(e.Interval.Low-want.Low)+math.Abs(e.Interval.High-want.High) > 1e-12 ||
				math.Abs(e.Value-own) > 1e-12 || math.Abs(e.Bias) > .01 || math.Abs(e.Error-math.Sqrt(1.41/10)) > .01 {
				t.Errorf("%s, seed %d: %+v; want %v", method, seed, e, want)
			}
		}
	}
}

// Of few members the interval is Student's, whose quantiles at 97.5 % are 12.706205, 4.302653 and 3.182446 for 1, 2
// and 3 degrees of freedom.
func TestFewMembers(t *testing.T) {
	near := func(name string, e resample.Estimate, half float64) {
		t.Helper()
		if math.Abs(e.Value-half-e.Interval.Low) > 1e-5 || math.Abs(e.Value+half-e.Interval.High) > 1e-5 {
			t.Errorf("%s: %v ± %v in %v", name, e.Value, half, e.Interval)
		}
	}
	second := func(of []float64) resample.Statistic { // mean of the second level
		return func(d resample.Draw, values []float64) error {
			return mean(of)(resample.Draw{First: d.Second}, values)
		}
	}
	o := resample.Options{Resamples: 50}
	near("three values", run(t, resample.Paired(3), 1, mean([]float64{1, 2, 6}), o)[0], 4.302653*math.Sqrt(7./3))
	near("two starts", run(t, resample.Crossed(50, 2), 1, second([]float64{.2, .6}), o)[0], 12.706205*.2)
	near("one start", run(t, resample.Crossed(50, 1), 1, second([]float64{.2}), o)[0], 0)
	near("four starts", run(t, resample.Crossed(1, 4), 1, second([]float64{0, 0, 0, 4}), o)[0], 3.182446)
	// p of 0 is .05 where the interval ends there
	h := 4.302653 * math.Sqrt(7./3)
	e := run(t, resample.Paired(3), 1, mean([]float64{h - 2, h - 1, h + 3}), o)[0]
	if math.Abs(e.P-.05) > 1e-4 {
		t.Errorf("p of a mean at the end of its interval: %+v", e)
	}
	// Two sets of two starts, whose differences have variances ½ and ½ of 1: two degrees of freedom, by Satterthwaite.
	apart := func(d resample.Draw, values []float64) error {
		a, b := make([]float64, 1), make([]float64, 1)
		mean([]float64{0, 1})(resample.Draw{First: d.Second}, a)
		mean([]float64{4, 5})(resample.Draw{First: d.Third}, b)
		values[0] = b[0] - a[0]
		return nil
	}
	in := resample.Members(resample.Interval{Low: 3.97, High: 4.04}, 4, .95, []float64{.1, .5}, []float64{4.2})
	if math.Abs(in.Low-4+math.Hypot(.03, 12.706205*.2)) > 1e-5 || math.Abs(in.High-4-math.Hypot(.04,
		12.706205*.2)) > 1e-5 {
		t.Errorf("two members and one: %v", in)
	}
	near("two by two starts", run(t, resample.CrossedApart(50, 2, 2), 1, apart, o)[0], 4.302653*math.Sqrt(.5))
}

// The variance of 26 spatial tests: Efron and Tibshirani 1993, tables 14.1 and 14.2, print θ = 171.5 and the 90 % interval (100.8, 233.9) by
// percentiles of 2,000 resamples. The tolerance is some four standard errors of a 5 % point of theirs.
func TestPercentilesAgainstTheBook(t *testing.T) {
	a := []float64{48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41}
	variance := func(d resample.Draw, values []float64) error {
		m, n := 0., float64(len(d.First))
		for _, i := range d.First {
			m += a[i] / n
		}
		values[0] = 0
		for _, i := range d.First {
			values[0] += (a[i] - m) * (a[i] - m) / n
		}
		return nil
	}
	e := run(t, resample.Paired(len(a)), 1, variance, resample.Options{Resamples: 50_000, Confidence: .9})[0]
	if math.Abs(e.Value-171.5) > .05 || math.Abs(e.Interval.Low-100.8) > 6 || math.Abs(e.Interval.High-233.9) > 6 {
		t.Errorf("%+v, want [100.8, 233.9]", e)
	}
}

// Statistics share the resamples, so that a difference is paired; equal seeds give equal bytes on any number of processors.
func TestPairedAndDeterministic(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var a, b []float64
	for range 200 {
		v := random.NormFloat64()
		a, b = append(a, v), append(b, v+.1)
	}
	both := func(d resample.Draw, values []float64) error {
		one := make([]float64, 1)
		for k, of := range [][]float64{a, b} {
			mean(of)(d, one)
			values[k] = one[0]
		}
		values[2] = values[1] - values[0]
		return nil
	}
	o := resample.Options{Resamples: 2000, Seed: 7}
	first := run(t, resample.Paired(200), 3, both, o)
	if e := first[2]; math.Abs(e.Interval.Low-.1) > 1e-12 || math.Abs(e.Interval.High-.1) > 1e-12 || e.P > .001 {
		t.Errorf("paired difference of .1: %+v", e)
	}
	before := runtime.GOMAXPROCS(1)
	again := run(t, resample.Paired(200), 3, both, o)
	runtime.GOMAXPROCS(before)
	o.Seed++
	if other := run(t, resample.Paired(200), 3, both, o); !reflect.DeepEqual(first, again) || reflect.DeepEqual(first, other) {
		t.Errorf("%v, again %v, another seed %v", first, again, other)
	}
}

// Two independent samples are drawn apart. Ten members or more are drawn, fewer left
// out in turn, and models always.
func TestDesigns(t *testing.T) {
	sizes := func(d resample.Design, resamples int) (map[[3]int]int, map[uint64]int) {
		var mu sync.Mutex
		seen, seeds := map[[3]int]int{}, map[uint64]int{}
		run(t, d, 1, func(d resample.Draw, _ []float64) error {
			mu.Lock()
			defer mu.Unlock()
			seen[[3]int{len(d.First), len(d.Second), len(d.Third)}]++
			seeds[d.Seed]++
			return nil
		}, resample.Options{Resamples: resamples})
		return seen, seeds
	}
	if got, _ := sizes(resample.Independent(13, 15), 20); !maps.Equal(got, map[[3]int]int{{13, 15, 0}: 21}) {
		t.Errorf("two samples: %v", got)
	}
	if got, _ := sizes(resample.Independent(13, 5), 20); !maps.Equal(got, map[[3]int]int{{13, 5, 0}: 21, {13, 4,
		0}: 5}) {
		t.Errorf("two samples, one of few members: %v", got)
	}
	if got, _ := sizes(resample.Paired(5), 20); !maps.Equal(got, map[[3]int]int{{5, 0, 0}: 2, {4, 0, 0}: 5}) {
		t.Errorf("few members: %v", got)
	}
	// The sample, its resamples, and each model left out of all 21 of them.
	if got, _ := sizes(resample.Crossed(14, 3), 20); !maps.Equal(got, map[[3]int]int{{14, 3, 0}: 21, {14, 2, 0}: 63}) {
		t.Errorf("images and models: %v", got)
	}
	if got, _ := sizes(resample.CrossedApart(14, 1, 2), 20); !maps.Equal(got, map[[3]int]int{{14, 1, 2}: 21, {14,
		1, 1}: 42}) {
		t.Errorf("images and two sets of models: %v", got)
	}
	if got, seeds := sizes(resample.Crossed(14, 3).WithSeed(), 20); !maps.Equal(got, map[[3]int]int{{14, 3, 0}: 21,
		{14, 2, 0}: 63}) || len(seeds) != 21 || seeds[0] != 4 {
		t.Errorf("images and models with seeds: %v, seeds %v", got, seeds)
	}
}

// coverage is how often an interval holds the truth in so many trials.
func coverage(t *testing.T, trials int, truth float64, interval func(trial int) resample.Interval) float64 {
	t.Helper()
	held := 0
	for trial := range trials {
		if interval(trial).Contains(truth) {
			held++
		}
	}
	return float64(held) / float64(trials)
}

// within tests a coverage against 95 %. With 600 trials its standard error is .009; a right 95 % is below .91 with probability 10⁻⁵ and, where a
// statistic is skewed, the interval may fall to the floor that is stated.
func within(t *testing.T, name string, got, floor, ceiling float64) {
	t.Helper()
	t.Logf("%s: coverage %.3f", name, got)
	if got < floor || got > ceiling {
		t.Errorf("%s: coverage %.3f, want %v to %v", name, got, floor, ceiling)
	}
}

func TestCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a simulation of coverage")
	}
	const trials = 600
	random := rand.New(rand.NewPCG(11, 12))
	draw := func(n int, of func() float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = of()
		}
		return v
	}
	// Radii: 0 for a third, else uniform to 1.
	radius := func() float64 { return max(0, 1.5*random.Float64()-.5) }
	o := resample.Options{Resamples: 400}
	for _, method := range []resample.Method{"percentile", "basic"} {
		o.Method = method
		within(t, "mean radius of 100, "+string(method), coverage(t, trials, 1./3, func(int) resample.Interval {
			return run(t, resample.Paired(100), 1, mean(draw(100, radius)), o)[0].Interval
		}), .91, .98)
	}
	o.Method = ""
	within(t, "difference of two samples", coverage(t, trials, .5, func(int) resample.Interval {
		a, b := draw(60, random.NormFloat64), draw(90, func() float64 { return .5 + 2*random.NormFloat64() })
		return run(t, resample.Independent(60, 90), 1, func(d resample.Draw, values []float64) error {
			values[0] = 0
			for _, i := range d.First {
				values[0] -= a[i] / 60
			}
			for _, i := range d.Second {
				values[0] += b[i] / 90
			}
			return nil
		}, o)[0].Interval
	}), .91, .98)
	for _, p := range []float64{.02, .5} {
		held := coverage(t, 3000, p, func(int) resample.Interval {
			hits := 0
			for range 60 {
				if random.Float64() < p {
					hits++
				}
			}
			i, err := resample.Share(hits, 60, .95)
			if err != nil {
				t.Fatal(err)
			}
			return i
		})
		within(t, "share", held, .94, 1)
	}
}

// starts draws the values of some starts on some images: of the mean of an image over all methods, of a start by
// itself (spread), and of a start on an image (own). The image error of a difference is 1.
func starts(random *rand.Rand, images, n int, spread, own float64) [][]float64 {
	values := make([][]float64, n)
	for m := range values {
		shift := spread * random.NormFloat64()
		for range images {
			values[m] = append(values[m], shift+own*math.Sqrt(float64(images))*random.NormFloat64())
		}
	}
	return values
}

// Means over two to four starts, and three values of one level: intervals of 95 % hold the truth in 93 % or more,
// whether starts spread not at all or three times as much as the image error, and whatever part of that is a
// start's own. Differences of two methods, too, whose spreads may differ. 600 trials have a standard error of .9 %,
// 300 of 1.3 %.
func TestCoverageOfFewStarts(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a simulation of coverage")
	}
	const trials, images = 600, 30
	random := rand.New(rand.NewPCG(21, 22))
	o := resample.Options{Resamples: 120}
	at := func(values [][]float64, models, images []int) (mean float64) {
		for _, m := range models {
			for _, i := range images {
				mean += values[m][i] / float64(len(models)*len(images))
			}
		}
		return mean
	}
	worst := 1.
	check := func(name string, held float64) {
		worst = min(worst, held)
		if held < .93-.025 {
			t.Errorf("%s: coverage %.3f, want .93 at least", name, held)
		}
	}
	for _, n := range []int{2, 3, 4} {
		for _, spread := range []float64{0, 1, 3} {
			for _, own := range []float64{0, 1} { // of the images' error
				check(fmt.Sprintf("%d starts, spread %g, own %g", n, spread, own), coverage(t, trials, 0,
					func(trial int) resample.Interval {
						values := starts(random, images, n, spread, own*math.Sqrt(float64(n)))
						common := math.Sqrt((1 - own*own) * images)
						for i := range images {
							shift := common * random.NormFloat64()
							for m := range values {
								values[m][i] += shift
							}
						}
						o.Seed = uint64(trial)
						return run(t, resample.Crossed(images, n), 1, func(d resample.Draw, v []float64) error {
							v[0] = at(values, d.Second, d.First)
							return nil
						}, o)[0].Interval
					}))
				for _, other := range []float64{0, 1} {
					check(fmt.Sprintf("differences of %d starts, spreads %g and %g, own %g", n, spread,
						other*spread, own), coverage(t, trials/2, 0, func(trial int) resample.Interval {
						half := own * math.Sqrt(float64(n)/2)
						a, b := starts(random, images, n, spread, half), starts(random, images, n, other*spread, half)
						o.Seed = uint64(trial)
						return run(t, resample.CrossedApart(images, n, n), 1, func(d resample.Draw, v []float64) error {
							v[0] = at(a, d.Second, d.First) - at(b, d.Third, d.First)
							return nil
						}, o)[0].Interval
					}))
				}
			}
		}
	}
	t.Logf("least coverage %.3f", worst)
	for _, n := range []int{2, 3, 5, 9} {
		held := coverage(t, 2000, 0, func(int) resample.Interval {
			of := starts(random, 1, n, 1, 0)
			return run(t, resample.Paired(n), 1, func(d resample.Draw, v []float64) error {
				v[0] = at(of, d.First, []int{0})
				return nil
			}, o)[0].Interval
		})
		within(t, fmt.Sprintf("%d values", n), held, .935, .965)
	}
}

// Norms of 15 components with unit errors: none, some or all far from 0. Percentiles miss the first always.
func TestCoverageOfNorms(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a simulation of coverage")
	}
	const n, bins, trials = 150, 15, 200
	random := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		name string
		gap  func(k int) float64
	}{
		{"all at 0", func(int) float64 { return 0 }}, {"all near 0", func(int) float64 { return .08 }},
		{"some far", func(k int) float64 { return float64(k%3) * .3 }}, {"all far", func(k int) float64 { return float64(k%2*2-1) * .5 }},
	} {
		name, gap := c.name, c.gap
		truth := 0.
		for k := range bins {
			truth += math.Abs(gap(k))
		}
		excluded, paired := 0, 0
		held := coverage(t, trials, truth, func(int) resample.Interval {
			values := make([][]float64, n)
			for i := range values {
				values[i] = make([]float64, 2*bins)
				for k := range bins {
					e := random.NormFloat64()
					values[i][k], values[i][bins+k] = gap(k)+e, .2+e // the second group is paired with the first
				}
			}
			of := func(d resample.Draw, c []float64) error {
				clear(c)
				for _, i := range d.First {
					for k, v := range values[i] {
						c[k] += v / float64(len(d.First))
					}
				}
				return nil
			}
			got, err := resample.Norms(t.Context(), resample.Paired(n), []int{bins, bins}, [][]float64{{1, 0}, {1, -1}}, of, resample.Options{Resamples: 300})
			if err != nil {
				t.Fatal(err)
			}
			if !got[0].Interval.Contains(got[0].Value) || !got[1].Interval.Contains(got[1].Value) {
				excluded++
			}
			if got[1].Interval.Contains(truth - .2*bins) {
				paired++
			}
			return got[0].Interval
		})
		within(t, name, held, .93, 1)
		within(t, name+", difference", float64(paired)/trials, .93, 1)
		if excluded > 0 {
			t.Errorf("%s: %d intervals exclude their own estimate", name, excluded)
		}
	}
}

func TestShare(t *testing.T) {
	// Clopper-Pearson by the tails that define it: P(X ≥ 7 | low) = P(X ≤ 7 | high) = .025 for 7 of 20.
	i, err := resample.Share(7, 20, .95)
	tail := func(p float64, from, to int) float64 {
		sum, term := 0., math.Pow(1-p, 20)
		for k := range 21 {
			if k >= from && k <= to {
				sum += term
			}
			term *= p / (1 - p) * float64(20-k) / float64(k+1)
		}
		return sum
	}
	if err != nil || math.Abs(tail(i.Low, 7, 20)-.025) > 1e-9 || math.Abs(tail(i.High, 0, 7)-.025) > 1e-9 {
		t.Errorf("%v, %v: tails %v and %v", i, err, tail(i.Low, 7, 20), tail(i.High, 0, 7))
	}
	if i, _ := resample.Share(0, 10, .95); i.Low != 0 || math.Abs(i.High-(1-math.Pow(.025, .1))) > 1e-9 {
		t.Errorf("0 of 10: %v", i)
	}
	if i, _ := resample.Share(10, 10, .95); i.High != 1 {
		t.Errorf("10 of 10: %v", i)
	}
}

func TestHolm(t *testing.T) {
	// Holm 1979 by hand: sorted .005, .01, .03, .04 times 4, 3, 2, 1, then running maxima.
	got, err := resample.Holm([]float64{.01, .04, .03, .005})
	if want := []float64{.03, .06, .06, .02}; err != nil || !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if _, err := resample.Holm([]float64{.5, math.NaN()}); err == nil {
		t.Error("NaN: no error")
	}
}

func TestErrors(t *testing.T) {
	of := mean([]float64{1, 2})
	var option *resample.OptionError
	for want, o := range map[string]resample.Options{
		"-1 resamples": {Resamples: -1}, "2000000 resamples": {Resamples: 2e6},
		"confidence 1": {Confidence: 1}, "confidence NaN": {Confidence: math.NaN()}, `method "x"`: {Method: "x"},
	} {
		if _, err := resample.Run(t.Context(), resample.Paired(2), 1, of, o); !errors.As(err, &option) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, d := range []resample.Design{resample.Paired(0), resample.Paired(-1), resample.Independent(2, -1)} {
		if _, err := resample.Run(t.Context(), d, 1, of, resample.Options{}); !errors.As(err, &option) {
			t.Errorf("%+v: %v", d, err)
		}
	}
	failed := errors.New("failed")
	if _, err := resample.Run(t.Context(), resample.Paired(2), 1, func(resample.Draw, []float64) error { return failed }, resample.Options{}); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
	infinite := func(d resample.Draw, v []float64) error { v[0] = math.Log(float64(d.First[0])); return nil }
	if _, err := resample.Run(t.Context(), resample.Paired(2), 1, infinite, resample.Options{}); err == nil {
		t.Error("an infinite value is no error")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := resample.Run(ctx, resample.Paired(2), 1, of, resample.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := resample.Norms(t.Context(), resample.Paired(2), []int{1}, [][]float64{{1, 1}}, of, resample.Options{}); !errors.As(err, &option) {
		t.Errorf("%v", err)
	}
}
