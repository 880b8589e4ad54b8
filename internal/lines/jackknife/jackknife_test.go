package jackknife

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/certspec/certspec/lines"
)

// grid draws n models of each of three architectures about lines of one slope, with scatter, in probit units.
func grid(rng *rand.Rand, n int, slope, scatter float64) lines.Models {
	var models lines.Models
	for k := range 3 {
		for i := range n {
			u := 0.3*float64(k) + 0.4*rng.NormFloat64()
			models = append(models, lines.Model{Name: fmt.Sprint(k, i), Labels: map[string]string{"architecture": fmt.Sprint(k)}, Accuracies: map[string]lines.Accuracy{
				"x": {Share: lines.Phi(u)}, "y": {Share: lines.Phi(slope*u - 0.2*float64(k) + scatter*rng.NormFloat64())}}})
		}
	}
	return models
}

// meanOf is the mean over the three of a number of their least-squares lines.
func meanOf(of func(lines.Line) float64) func(lines.Models) (float64, error) {
	return func(models lines.Models) (mean float64, err error) {
		var x, y [3][]float64
		for _, m := range models {
			k := m.Labels["architecture"][0] - '0'
			x[k], y[k] = append(x[k], lines.Probit(m.Accuracies["x"].Share)), append(y[k], lines.Probit(m.Accuracies["y"].Share))
		}
		for k := range x {
			l, err := lines.LeastSquares(x[k], y[k])
			if err != nil {
				return 0, err
			}
			mean += of(l) / 3
		}
		return mean, nil
	}
}

// The mean of a line's values has the jackknife's known closed form: that of a mean is s²/n, without bias.
func TestJackknifeOfAMean(t *testing.T) {
	var models lines.Models
	values := []float64{1, 2, 4, 4, 9}
	for i, v := range values {
		models = append(models, lines.Model{Name: fmt.Sprint(i), Numbers: map[string]float64{"v": v}})
	}
	j, err := Of(models, nil, func(ms lines.Models) (float64, error) {
		sum := 0.
		for _, m := range ms {
			sum += m.Numbers["v"]
		}
		return sum / float64(len(ms)), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// mean 4, Σ(v−4)² = 9+4+0+0+25 = 38, s²/n = 38/4/5 = 1.9
	if math.Abs(j.Value-4) > 1e-12 || math.Abs(j.Corrected-4) > 1e-12 || math.Abs(j.Error*j.Error-1.9) > 1e-12 || math.Abs(j.Freedom-3) > 1e-9 {
		t.Errorf("%+v", j)
	}
	// Student's t with 3 degrees of freedom: 97.5 % at 3.182446
	if i := j.Interval(0.95); math.Abs(i.High-4-3.182446*math.Sqrt(1.9)) > 1e-5 {
		t.Errorf("interval %v", i)
	}
	if p := j.P(4 - 3.182446*math.Sqrt(1.9)); math.Abs(p-0.05) > 1e-5 {
		t.Errorf("p %v", p)
	}
	var few *lines.FewPoints
	if _, err := Of(models[:3], nil, func(lines.Models) (float64, error) { return 0, nil }); !errors.As(err, &few) {
		t.Errorf("three models: %v", err)
	}
}

// In worlds with a known law the intervals hold the slope in at least 90 % of 150 worlds, and R² where an architecture has twenty models (intervals that hold it in 95 % would do
// so with probability above 0.99); of six models they hold R² in 87 to 90 %, as its doc comment says.
func TestJackknifeHoldsTheTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a simulation of coverage")
	}
	const worlds = 150
	for _, w := range []struct {
		n              int
		slope, scatter float64
	}{{20, 1, 0.1}, {20, 1, 0.4}, {20, 0, 0.2}, {6, 1, 0.2}, {6, -0.5, 0.2}} {
		rng := rand.New(rand.NewPCG(5, uint64(w.n)))
		truth := w.slope * w.slope * 0.16 / (w.slope*w.slope*0.16 + w.scatter*w.scatter)
		slopes, squares := 0, 0
		count := func(models lines.Models, of func(lines.Line) float64, want float64) int {
			j, err := Of(models, []string{"architecture"}, meanOf(of))
			if err != nil {
				t.Fatal(err)
			}
			if j.Interval(0.95).Contains(want) {
				return 1
			}
			return 0
		}
		for range worlds {
			models := grid(rng, w.n, w.slope, w.scatter)
			slopes += count(models, func(l lines.Line) float64 { return l.Slope }, w.slope)
			squares += count(models, func(l lines.Line) float64 { return l.R2 }, truth)
		}
		t.Logf("%+v: slope %d, R² %d of %d", w, slopes, squares, worlds)
		if least := worlds * 9 / 10; slopes < least || squares < least && w.n == 20 || squares < worlds*83/100 {
			t.Errorf("%+v: intervals hold slope and R² in %d and %d of %d worlds", w, slopes, squares, worlds)
		}
	}
}
