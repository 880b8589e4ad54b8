package resample_test

import (
	"context"
	"errors"
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

// The resampled mean of four values has a known distribution, 4⁴ equally likely resamples. The ends are read from all of them, at a
// level where the mass jumps by far more than the error of 100,000 draws.
func TestAgainstAllResamples(t *testing.T) {
	of := []float64{0, .125, .5, 1.75}
	var means []float64
	for s := range 256 {
		m := 0.
		for d, i := 0, s; d < 4; d, i = d+1, i/4 {
			m += of[i%4] / 4
		}
		means = append(means, m)
	}
	slices.Sort(means)
	low, high, own := means[25], means[230], .59375
	for method, want := range map[resample.Method]resample.Interval{
		resample.Percentile: {Low: low, High: high}, resample.Basic: {Low: 2*own - high, High: 2*own - low},
	} {
		for seed := range uint64(3) {
			e := run(t, resample.Paired(4), 1, mean(of), resample.Options{Resamples: 100_000, Confidence: .8, Seed: seed, Method: method})[0]
			if e.Interval != want || e.Value != own || math.Abs(e.Bias) > .005 || math.Abs(e.Error-.3465) > .01 {
				t.Errorf("%s, seed %d: %+v; want %v", method, seed, e, want)
			}
		}
	}
}

// The variance of 26 spatial tests: Efron and Tibshirani 1993, tables 14.1 and 14.2, print θ = 171.5 and the 90 % intervals (100.8, 233.9) by
// percentiles and (115.8, 259.6) by BCa of 2,000 resamples. The tolerance is some four standard errors of a 5 % point of theirs.
func TestBCaAgainstTheBook(t *testing.T) {
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
	for method, want := range map[resample.Method]resample.Interval{resample.Percentile: {Low: 100.8, High: 233.9}, resample.BCa: {Low: 115.8, High: 259.6}} {
		e := run(t, resample.Paired(len(a)), 1, variance, resample.Options{Resamples: 50_000, Confidence: .9, Method: method})[0]
		if math.Abs(e.Value-171.5) > .05 || math.Abs(e.Interval.Low-want.Low) > 6 || math.Abs(e.Interval.High-want.High) > 6 {
			t.Errorf("%s: %+v, want %v", method, e, want)
		}
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

// Places of a cluster come together, and two independent samples apart.
func TestDesigns(t *testing.T) {
	of := []int{5, 5, 9, 5, 9, 1}
	run(t, resample.Clustered(of), 1, func(d resample.Draw, values []float64) error {
		counts := map[int]int{}
		for _, i := range d.First {
			counts[i]++
		}
		if counts[0] != counts[1] || counts[0] != counts[3] || counts[2] != counts[4] || counts[0]+counts[2]+counts[5] != 3 || d.Second != nil {
			t.Errorf("drawn %v", d.First)
		}
		return nil
	}, resample.Options{Resamples: 200})
	draws := 0
	run(t, resample.Independent(3, 5), 1, func(d resample.Draw, _ []float64) error {
		draws++
		if len(d.First) != 3 || len(d.Second) != 5 || slices.Max(d.First) > 2 || slices.Max(d.Second) > 4 {
			t.Errorf("drawn %v", d)
		}
		return nil
	}, resample.Options{Resamples: 20})
	if draws != 21 {
		t.Errorf("%d draws", draws)
	}
	sizes := map[[2]int]int{}
	run(t, resample.Crossed(4, 3), 1, func(d resample.Draw, _ []float64) error {
		sizes[[2]int{len(d.First), len(d.Second)}]++
		return nil
	}, resample.Options{Resamples: 20})
	if sizes[[2]int{4, 3}] != 1 || sizes[[2]int{4, 2}] != 20 {
		t.Errorf("sizes %v", sizes)
	}
	var mu sync.Mutex
	triples, seeds := map[[3]int]int{}, map[uint64]int{}
	run(t, resample.CrossedPair(4, 6, 3).WithSeed(), 1, func(d resample.Draw, _ []float64) error {
		mu.Lock()
		defer mu.Unlock()
		triples[[3]int{len(d.First), len(d.Second), len(d.Third)}]++
		seeds[d.Seed]++
		if slices.Max(d.First) > 3 || slices.Max(d.Second) > 5 || slices.Max(d.Third) > 2 {
			t.Errorf("drawn %v", d)
		}
		return nil
	}, resample.Options{Resamples: 20})
	if triples[[3]int{4, 6, 3}] != 1 || triples[[3]int{4, 6, 2}] != 20 || len(seeds) != 21 || seeds[0] != 1 {
		t.Errorf("sizes %v, seeds %v", triples, seeds)
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
	for _, method := range []resample.Method{resample.Percentile, resample.Basic, resample.BCa} {
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
	within(t, "clusters of 5", coverage(t, trials, 0, func(int) resample.Interval {
		var v []float64
		var of []int
		for c := range 60 {
			common := random.NormFloat64()
			for range 5 {
				v, of = append(v, common+.3*random.NormFloat64()), append(of, c)
			}
		}
		return run(t, resample.Clustered(of), 1, mean(v), o)[0].Interval
	}), .90, .98)
	for _, c := range []struct {
		models int
		floor  float64
	}{{3, .88}, {8, .91}} {
		models, floor := c.models, c.floor
		within(t, "images and models", coverage(t, trials, 0, func(int) resample.Interval {
			const images = 40
			of, common := make([]float64, models), draw(images, random.NormFloat64)
			values := make([][]float64, models)
			for m := range of {
				own := .3 * random.NormFloat64()
				values[m] = draw(images, random.NormFloat64)
				for i := range values[m] {
					values[m][i] += common[i] + own
				}
			}
			return run(t, resample.Crossed(images, models), 1, func(d resample.Draw, v []float64) error {
				v[0] = 0
				for _, m := range d.Second {
					for _, i := range d.First {
						v[0] += values[m][i] / float64(len(d.First)*len(d.Second))
					}
				}
				return nil
			}, o)[0].Interval
		}), floor, .995)
	}
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

// Norms of 15 components with unit errors: none, some or all far from 0. Percentiles miss the first always.
func TestCoverageOfNorms(t *testing.T) {
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
	for _, d := range []resample.Design{resample.Paired(0), resample.Paired(-1), resample.Clustered(nil), resample.Independent(2, -1)} {
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
