package predictionset

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/certspec/certspec/calib"
)

// Scores by hand, from the definitions of the papers: .5, .3 and .2 in the order of classes 1, 2, 0, and u = .5.
func TestScoresByHand(t *testing.T) {
	row := []float64{.2, .5, .3}
	for score, want := range map[Score][]float64{LAC: {.8, .5, .7}, APS: {.9, .25, .65}, RAPS: {.9, .25, .65}} {
		for class, v := range strange(score, row, .5) {
			if math.Abs(v-want[class]) > 1e-15 {
				t.Errorf("%s of class %d: %v, want %v", score, class, v, want[class])
			}
		}
	}
	wide := []float64{.3, .2, .15, .12, .1, .08, .05}
	raps, aps := strange(RAPS, wide, 0), strange(APS, wide, 0)
	for class := range wide {
		if want := aps[class] + .01*math.Max(0, float64(class+1-5)); math.Abs(raps[class]-want) > 1e-15 {
			t.Errorf("RAPS of rank %d: %v, want %v", class+1, raps[class], want)
		}
	}
}

// softmaxRows draws rows whose labels follow the probabilities or, with a temperature, rows that are surer than right.
func softmaxRows(rng *rand.Rand, n, classes int, sharper float64) calib.Probabilities {
	p := calib.Probabilities{Classes: classes}
	for range n {
		row, sum := make([]float64, classes), 0.0
		for k := range row {
			row[k] = math.Exp(2 * rng.NormFloat64())
			sum += row[k]
		}
		label, u := classes-1, rng.Float64()*sum
		for k, v := range row {
			if u -= v; u < 0 {
				label = k
				break
			}
		}
		total := 0.0
		for k := range row {
			row[k] = math.Pow(row[k]/sum, sharper)
			total += row[k]
		}
		for k := range row {
			p.P = append(p.P, row[k]/total)
		}
		p.Labels = append(p.Labels, label)
	}
	return p
}

// The mean coverage over splits is ⌈(n+1)(1−α)⌉/(n+1), whatever the model: 90/100 for n = 99 and α = 0.1 (Vovk, Gammerman
// and Shafer 2005). 300 splits of 400 test rows: a standard error below .002; at five of them a false alarm comes once in
// a million. Surer rows need larger sets, and get them.
func TestSplitSetsHoldTheLabel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 47))
	sizes := map[float64]float64{}
	for _, sharper := range []float64{1, 3} {
		for _, score := range Scores {
			coverage, size, inside := 0.0, 0.0, 0
			const splits = 300
			for seed := range uint64(splits) {
				s, err := SplitSets(softmaxRows(rng, 499, 8, sharper), 99, .1, seed, score)
				if err != nil {
					t.Fatal(err)
				}
				got := s.Sets[0]
				coverage += got.Coverage / splits
				size += got.Size / splits
				if got.Coverage >= got.Range[0] && got.Coverage <= got.Range[1] {
					inside++
				}
			}
			if math.Abs(coverage-.9) > .01 {
				t.Errorf("%s: coverage %.4f, want 0.9", score, coverage)
			}
			if inside < splits*9/10 {
				t.Errorf("%s: the range holds %d of %d", score, inside, splits)
			}
			sizes[sharper] += size
		}
	}
	if sizes[1] < 3 || sizes[3] < sizes[1]*.9 {
		t.Errorf("mean sizes %v", sizes)
	}
}

// With too few rows to calibrate on, every set has all classes; what is out of range is refused.
func TestSplitSetsWithFewRows(t *testing.T) {
	p := softmaxRows(rand.New(rand.NewPCG(2, 2)), 20, 4, 1)
	s, err := SplitSets(p, 5, .1, 0, Scores...)
	if err != nil || s.Needed != 9 {
		t.Fatal(err, s)
	}
	for _, of := range s.Sets {
		if of.Threshold != nil || of.Size != 4 || of.Coverage != 1 {
			t.Errorf("%+v", of)
		}
	}
	again, err := SplitSets(p, 5, .1, 0, Scores...)
	if err != nil || !slices.EqualFunc(s.Sets, again.Sets, func(a, b OfScore) bool { return a.Size == b.Size }) {
		t.Errorf("another answer under one seed: %v", err)
	}
	for _, bad := range []struct {
		calibration int
		miscoverage float64
	}{{0, .1}, {20, .1}, {5, 0}, {5, 1}, {5, math.NaN()}} {
		if _, err := SplitSets(p, bad.calibration, bad.miscoverage, 0, LAC); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
