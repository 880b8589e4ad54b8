package ood

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func TestAreaByHand(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		in, foreign       []float64
		auc, conservative float64
	}{
		"ties":               {[]float64{.9, .8, .8}, []float64{.8, .7}, 5. / 6, 2. / 3},
		"no numbers":         {[]float64{nan, .9}, []float64{.5, nan}, 1. / 4, 1. / 4},
		"constant":           {[]float64{1, 1}, []float64{1, 1, 1}, .5, 0},
		"perfect separation": {[]float64{2, 3}, []float64{0, 1}, 1, 1},
		"infinite":           {[]float64{math.Inf(1)}, []float64{math.Inf(1), math.Inf(-1)}, .75, .5},
	} {
		got, err := Area(c.in, c.foreign)
		if err != nil || math.Abs(got.Value-c.auc) > 1e-15 || math.Abs(got.Conservative-c.conservative) > 1e-15 {
			t.Errorf("%s: %+v, %v; expected %v and %v", name, got, err, c.auc, c.conservative)
		}
	}
	if _, err := Area(nil, []float64{1}); !errors.Is(err, ErrEmpty) {
		t.Errorf("no in-scores: %v", err)
	}
}

// scores draws few different values, so that there are many ties, and some that are no numbers.
func scores(rng *rand.Rand, n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		switch s[i] = float64(rng.IntN(6)); rng.IntN(12) {
		case 0:
			s[i] = math.NaN()
		case 1:
			s[i] = math.Inf(rng.IntN(2)*2 - 1)
		}
	}
	return s
}

func TestAreaAgainstAllPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		in, foreign := scores(rng, 1+rng.IntN(15)), scores(rng, 1+rng.IntN(15))
		wins, ties := 0, 0
		for _, a := range in {
			for _, b := range foreign {
				switch {
				case a > b:
					wins++
				case a == b:
					ties++
				}
			}
		}
		pairs := float64(len(in) * len(foreign))
		got, err := Area(in, foreign)
		if err != nil || math.Abs(got.Value-(float64(wins)+float64(ties)/2)/pairs) > 1e-15 || math.Abs(got.Conservative-float64(wins)/pairs) > 1e-15 {
			t.Fatalf("%v, %v: %+v, %v; by pairs %d wins and %d ties", in, foreign, got, err, wins, ties)
		}
		swapped, _ := Area(foreign, in)
		if got.InNaN+got.ForeignNaN == 0 && math.Abs(got.Value+swapped.Value-1) > 1e-12 {
			t.Fatalf("the AUC and that of swapped lists sum to %v", got.Value+swapped.Value)
		}
	}
}

// DeLong's error against the spread over repeated draws, and intervals against the known AUC Φ(1/√2): of 1,000 intervals of
// 95 %, fewer than 925 or more than 972 hold it with probability below 10⁻³ if they are right.
func TestDeLongCovers(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a simulation of coverage")
	}
	rng := rand.New(rand.NewPCG(3, 4))
	truth := math.Erfc(-0.5) / 2
	held := 0
	var sum, squares, errors float64
	for range 1000 {
		in, foreign := make([]float64, 80), make([]float64, 120)
		for i := range in {
			in[i] = 1 + rng.NormFloat64()
		}
		for i := range foreign {
			foreign[i] = rng.NormFloat64()
		}
		auc, se, err := DeLong(in, foreign)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(auc-truth) <= 1.959964*se {
			held++
		}
		sum, squares, errors = sum+auc, squares+auc*auc, errors+se
	}
	spread := math.Sqrt(squares/1000 - sum*sum/1e6)
	if held < 925 || held > 972 || math.Abs(errors/1000/spread-1) > 0.1 {
		t.Errorf("%d of 1000 intervals hold %v; mean error %v, spread %v", held, truth, errors/1000, spread)
	}
}

func TestDifferenceIsPaired(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	in, foreign := scores(rng, 30), scores(rng, 40)
	d, se, err := Difference(in, foreign, in, foreign)
	if err != nil || d != 0 || se != 0 {
		t.Errorf("a list against itself: %v ± %v, %v", d, se, err)
	}
	if _, _, err := Difference(in, foreign, in[1:], foreign); err == nil || !strings.Contains(err.Error(), "same images") {
		t.Errorf("other lengths: %v", err)
	}
	if _, _, err := DeLong(in[:1], foreign); err == nil {
		t.Error("one score has a standard error")
	}
}

func TestFPR(t *testing.T) {
	in := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, c := range []struct {
		tpr, rate, threshold float64
	}{{.95, .75, 1}, {.9, .5, 2}, {.5, .25, 6}, {1, .75, 1}, {.01, .25, 10}} {
		rate, threshold, err := FPR(in, []float64{0, 1.5, 3, math.NaN()}, c.tpr)
		if err != nil || rate != c.rate || threshold != c.threshold {
			t.Errorf("at %v: %v above %v, %v; expected %v above %v", c.tpr, rate, threshold, err, c.rate, c.threshold)
		}
	}
	for _, bad := range []float64{0, -1, 1.1, math.NaN()} {
		if _, _, err := FPR(in, in, bad); err == nil {
			t.Errorf("a rate of %v was taken", bad)
		}
	}
	if _, _, err := FPR([]float64{math.NaN(), 1}, in, 1); err == nil {
		t.Error("a rate that NaN in-scores cannot reach was taken")
	}
}

// Of 400 intervals of the bootstrap at 95 %, 92 % or more hold the true area (fewer have a chance below 1 % if they are right), for scores
// without ties and for scores of five values, whose areas are sums over pairs of values.
func TestBootstrapCovers(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a simulation of coverage")
	}
	const trials, n, shift = 400, 80, 1
	for name, round := range map[string]func(float64) float64{
		"no ties": func(v float64) float64 { return v },
		"ties":    func(v float64) float64 { return min(max(math.Round(v), -2), 2) },
	} {
		t.Run(name, func(t *testing.T) {
			normal := distuv.UnitNormal
			share := func(v, mean float64) float64 { // of a rounded normal number
				low, high := normal.CDF(v-0.5-mean), normal.CDF(v+0.5-mean)
				if v == -2 {
					low = 0
				}
				if v == 2 {
					high = 1
				}
				return high - low
			}
			area, conservative := normal.CDF(shift/math.Sqrt2), normal.CDF(shift/math.Sqrt2)
			if name == "ties" {
				area, conservative = 0, 0
				for a := -2.; a <= 2; a++ {
					for b := -2.; b <= a; b++ {
						p := share(a, shift) * share(b, 0)
						if a > b {
							conservative += p
							area += p
						} else {
							area += p / 2
						}
					}
				}
			}
			random := rand.New(rand.NewPCG(7, 7))
			var held [2]int
			for range trials {
				in, foreign := make([]float64, n), make([]float64, n)
				for i := range in {
					in[i], foreign[i] = round(random.NormFloat64()+shift), round(random.NormFloat64())
				}
				intervals, err := areaIntervals(t.Context(), in, foreign, CompareOptions{Resamples: 300, Seed: random.Uint64()})
				if err != nil {
					t.Fatal(err)
				}
				for k, truth := range []float64{area, conservative} {
					if intervals[k].Low <= truth && truth <= intervals[k].High {
						held[k]++
					}
				}
			}
			t.Logf("%v of %d", held, trials)
			for k, h := range held {
				if h < 368 {
					t.Errorf("form %d: %d of %d intervals hold the truth", k, h, trials)
				}
			}
		})
	}
}

// Sorting by bits is sorting by value, and leaves out what is no number.
func TestNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	scores := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, math.MaxFloat64, -math.MaxFloat64, math.NaN(), -math.NaN()}
	for range 500 {
		scores = append(scores, random.NormFloat64(), math.Float64frombits(random.Uint64()), math.Round(random.NormFloat64()))
	}
	want := slices.DeleteFunc(slices.Clone(scores), math.IsNaN)
	slices.Sort(want)
	if got := numbers(scores); !slices.Equal(got, want) {
		t.Errorf("%v\n%v", got, want)
	}
}
