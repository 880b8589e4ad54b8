package predictionset

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The numbers of calibration images at 90 % and σ = 0.25, from tables of Φ: Φ(1.2816 + .5) = .96259, Φ(2.2816) = .98874, Φ(3.2816) = .999484.
func TestLeastCalibration(t *testing.T) {
	for radius, want := range map[float64]int{0: 9, .125: 26, .25: 88, .5: 1937} {
		level, err := RobustLevel(.1, radius, .25)
		if err != nil {
			t.Fatal(err)
		}
		n := LeastCalibration(level)
		if n != want {
			t.Errorf("radius %v: %d images, want %d", radius, n, want)
		}
		scores := make([]float64, n)
		if at, err := Threshold(scores, level); err != nil || at != 0 {
			t.Errorf("radius %v: threshold %v of %d images, %v", radius, at, n, err)
		}
		if at, _ := Threshold(scores[1:], level); !math.IsInf(at, 1) {
			t.Errorf("radius %v: threshold %v of too few images", radius, at)
		}
	}
}

// Where the score falls with the noise of a half-space and the adversary moves against it, the coverage is at least the level, and hardly above:
// a half-space is the worst case. 40,000 runs have a standard error of .0015; at five of them a false alarm comes once in 3 million.
func TestSetsHoldUnderTheWorstShift(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a simulation of coverage")
	}
	const sigma, miscoverage, n, runs = .25, .1, 400, 40_000
	rng := rand.New(rand.NewPCG(4, 4))
	for _, radius := range []float64{0, .125, .25} {
		level, err := RobustLevel(miscoverage, radius, sigma)
		if err != nil {
			t.Fatal(err)
		}
		held, at := 0, 0.0
		scores := make([]float64, n)
		for run := range runs {
			if run%20 == 0 { // a new calibration for every 20 tests: their variance is that of 2,000 calibrations
				for i := range scores {
					scores[i] = sigma * rng.NormFloat64()
				}
				if at, err = Threshold(scores, level); err != nil {
					t.Fatal(err)
				}
			}
			if sigma*rng.NormFloat64()+radius <= at {
				held++
			}
		}
		if share := float64(held) / runs; share < 1-miscoverage-.01 || share > 1-miscoverage+.02 {
			t.Errorf("radius %v: coverage %v, want .9 and little more", radius, share)
		}
		if radius > 0 { // the level of clean images would not do
			at, _ := Threshold(scores, 1-miscoverage)
			held := 0
			for range 4000 {
				if sigma*rng.NormFloat64()+radius <= at {
					held++
				}
			}
			if float64(held)/4000 > .85 {
				t.Errorf("radius %v: the shift does not matter, coverage %v", radius, float64(held)/4000)
			}
		}
	}
}

// The range holds as often as it says: simulated counts of exchangeable ranks.
func TestCoverageRange(t *testing.T) {
	const n, m, level, runs = 99, 200, .9, 4000
	low, high, err := CoverageRange(n, m, level, .95)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(8, 8))
	inside := 0
	for range runs {
		scores := make([]float64, n)
		for i := range scores {
			scores[i] = rng.Float64()
		}
		at, err := Threshold(scores, level)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for range m {
			if rng.Float64() <= at {
				count++
			}
		}
		if low <= count && count <= high {
			inside++
		}
	}
	// At least .95 by its making, at most a lump more; the standard error is .0035.
	if share := float64(inside) / runs; share < .93 || share > .985 {
		t.Errorf("the range %d to %d of %d holds in %v of the runs", low, high, m, share)
	}
	if low, high, err := CoverageRange(5, 10, .99, .9); err != nil || low != 10 || high != 10 {
		t.Errorf("all classes in every set: %d to %d, %v", low, high, err)
	}
}

func TestSetThresholdCountsWhatIsUnknownAsStrange(t *testing.T) {
	scores := []float64{.1, math.NaN(), .3, .2, .4, .5, .6, .7, .8, .9}
	if at, err := Threshold(scores, .9); err != nil || !math.IsInf(at, 1) {
		t.Errorf("%v, %v", at, err)
	}
	if at, err := Threshold(scores, .8); err != nil || at != .9 {
		t.Errorf("%v, %v", at, err)
	}
	for _, bad := range []float64{0, 1.1, math.NaN()} {
		if _, err := Threshold(scores, bad); err == nil {
			t.Errorf("level %v is taken", bad)
		}
	}
	if _, err := Threshold(nil, .5); err == nil {
		t.Error("no scores are taken")
	}
}

func BenchmarkSets10000x20(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	const images, classes = 10_000, 10
	scores := make([]float64, images*classes)
	for i := range scores {
		scores[i] = rng.Float64()
	}
	labels := slices.Clone(scores[:images])
	for b.Loop() {
		size := 0
		for k := range 20 {
			level, err := RobustLevel(.1, .02*float64(k), .25)
			if err != nil {
				b.Fatal(err)
			}
			at, err := Threshold(labels, level)
			if err != nil {
				b.Fatal(err)
			}
			for _, s := range scores {
				if s <= at {
					size++
				}
			}
		}
	}
}
