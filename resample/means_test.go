package resample

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Above many members the percentiles equal those of resamples, within the error of drawing them: for radii of which
// many are 0, differences of both signs, and shares.
func TestMeansOfMany(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const n, each = many + 1000, 3
	values := make([]float64, 0, n*each)
	for range n {
		radius := 0.0
		if random.Float64() < .6 {
			radius = random.ExpFloat64()
		}
		hit := 0.0
		if random.Float64() < .02 {
			hit = 1
		}
		values = append(values, radius, math.Pow(random.NormFloat64(), 3)/100, hit)
	}
	o := Options{Resamples: 4000, Confidence: .9, Seed: 5}
	got, err := Means(t.Context(), values, each, o)
	if err != nil {
		t.Fatal(err)
	}
	small, err := Run(t.Context(), Paired(n), each, func(d Draw, means []float64) error {
		clear(means)
		for _, at := range d.First {
			for m := range means {
				means[m] += values[at*each+m] / n
			}
		}
		return nil
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	for m, e := range got {
		// The error of a quantile is √(α(1−α)/R)/φ(z) standard errors: 0.0334 for 5 % of 4,000.
		bound := 4 * 0.0334 * e.Error
		if s := small[m]; math.Abs(e.Value-s.Value) > 1e-12 || math.Abs(e.Interval.Low-s.Interval.Low) > bound ||
			math.Abs(e.Interval.High-s.Interval.High) > bound || math.Abs(e.Error-s.Error) > .05*e.Error {
			t.Errorf("mean %d: %+v, by resamples %+v", m, e, s)
		}
	}
	if got[0].P != 2./4001 || got[1].P < .01 {
		t.Errorf("p-values %v and %v", got[0].P, got[1].P)
	}
}

// A skewness of one value among very many is not expanded: the quantiles follow a Poisson law.
func TestMeansOfFewThatDiffer(t *testing.T) {
	values := make([]float64, many+1)
	values[17] = 1
	got, err := Means(t.Context(), values, 1, Options{Resamples: 400})
	if err != nil || got[0].Interval.Low != 0 || got[0].Interval.High < 2./many {
		t.Errorf("%+v, %v", got, err)
	}
	values[17] = 0
	if got, err = Means(t.Context(), values, 1, Options{}); err != nil || got[0].Interval != (Interval{}) || got[0].P != 1 {
		t.Errorf("of zeros: %+v, %v", got, err)
	}
	values[3] = math.NaN()
	if _, err = Means(t.Context(), values, 1, Options{Resamples: 10}); err == nil {
		t.Error("a value that is not finite")
	}
}

func BenchmarkMeansOfAMillion(b *testing.B) {
	values := make([]float64, 1_000_000)
	random := rand.New(rand.NewPCG(3, 4))
	for i := range values {
		values[i] = random.Float64()
	}
	for b.Loop() {
		if _, err := Means(b.Context(), values, 1, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
