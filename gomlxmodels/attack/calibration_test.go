package attack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/certspec/certspec/calib"
)

// binned is the calibration error of confidences in Bins bins.
func binned(t *testing.T, z []float64, correct []bool) float64 {
	t.Helper()
	bins, err := calib.Uniform(Bins, calib.LeftClosed)
	if err != nil {
		t.Fatal(err)
	}
	var gaps [Bins]float64
	for i, v := range z {
		gaps[bins.Index(v)] += v
		if correct[i] {
			gaps[bins.Index(v)]--
		}
	}
	total := 0.0
	for _, g := range gaps {
		total += math.Abs(g)
	}
	return total / float64(len(z))
}

// shifted moves confidences as those of the steepest smoothed classifier do: u + γ/σ on the scale of probits.
func shifted(t *testing.T, d Driver, z []float64, correct []bool, radius float64, steps int) []float64 {
	t.Helper()
	const sigma = 0.25
	epsilon := radius * sigma
	s := &State{Sigma: sigma, Epsilon: epsilon, Length: 2 * epsilon / float64(steps), Confidence: append([]float64(nil), z...), Correct: correct, Direction: make([]float32, len(z))}
	gamma := make([]float64, len(z))
	for s.Step = range steps {
		if err := d.Drive(s); err != nil {
			t.Fatal(err)
		}
		for i, way := range s.Direction {
			if !(math.Abs(float64(way)) <= 1) {
				t.Fatalf("a step of %v times its length", way)
			}
			gamma[i] = math.Max(-epsilon, math.Min(epsilon, gamma[i]+float64(way)*s.Length))
			s.Confidence[i] = math.Erfc(-(probit(z[i])+gamma[i]/sigma)/math.Sqrt2) / 2
		}
	}
	return s.Confidence
}

// exactStart and published have the settings of the methods exact-start and acce-act, the latter with another growth.
func exactStart() Driver {
	return &ExactStart{Relaxation: Relaxation{Growth: 1.1, Rho: 0.01, StepA: 0.1}}
}

func published(growth float64) *ACCE {
	return &ACCE{Relaxation: Relaxation{Growth: growth, Rho: 0.01, StepA: 0.01}}
}

// On confidences that move as those of a smoothed classifier can, the exact adversary and the exact start come near
// the largest error that the intervals allow, and beat a constant push by half; from the uniform start that is
// published ADMM does no more than such a push. With two steps the first two do the same.
func TestAdversariesOfCalibration(t *testing.T) {
	for _, radius := range []float64{0.25, 1} {
		for _, steps := range []int{2, 10} {
			var exact, start, uniform, constant, bound float64
			for seed := range uint64(5) {
				random := rand.New(rand.NewPCG(seed, 7))
				const n = 256
				z, correct := make([]float64, n), make([]bool, n)
				for i := range z {
					z[i] = math.Min(0.999, 0.3+0.7*(1-math.Pow(random.Float64(), 2.2)))
					correct[i] = random.Float64() < z[i]-0.05
				}
				value := func(d Driver) float64 {
					return binned(t, shifted(t, d, z, correct, radius, steps), correct)
				}
				exact += value(&Exact{})
				if steps == 2 { // the assignment has not left its start
					a, b := shifted(t, &Exact{}, z, correct, radius, steps), shifted(t, exactStart(), z, correct,
						radius, steps)
					for i := range a {
						if math.Abs(a[i]-b[i]) > 1e-12 {
							t.Errorf("radius %v σ, sample %d: exact-ACT ends at %v, the exact start at %v", radius,
								i, a[i], b[i])
						}
					}
				}
				least, most := math.Inf(1), 0.
				for _, growth := range []float64{1.1, 1.5, 3} { // of the grids in recipes
					least = min(least, value(&ExactStart{Relaxation: Relaxation{Growth: growth, Rho: 0.01,
						StepA: 0.1}}))
					most = max(most, value(published(growth)))
				}
				start, uniform = start+least, uniform+most
				constant += max(value(Push{Up: true}), value(Push{}))
				worst, _, err := solve(&State{Sigma: 0.25, Epsilon: radius * 0.25, Confidence: z, Correct: correct}, 0, 0)
				if err != nil {
					t.Fatal(err)
				}
				bound += worst.Value
			}
			if !(exact >= 0.85*bound && start >= 0.9*exact && min(exact, start) >= 1.5*constant) ||
				uniform > 1.2*constant {
				t.Errorf("radius %v σ, %d steps: exact %.3f, exact start %.3f, published %.3f, constant push "+
					"%.3f, bound %.3f",
					radius, steps, exact/5, start/5, uniform/5, constant/5, bound/5)
			}
		}
	}
}
