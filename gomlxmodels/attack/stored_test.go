package attack

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
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

// On networks of this repository every adversary of calibration beats a constant push of all confidences by a fifth in its own measure, the
// calibration error or the Brier score, and the exact start reaches nine tenths of the exact one.
func TestAdversariesOnStoredNetworks(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: attacks up to 96 images by five adversaries")
	}
	b, err := backend.OpenForTraining("xla:cpu")
	if err != nil {
		t.Skipf("needs XLA: %v", err)
	}
	for _, stored := range []struct {
		path, data     string
		n              int
		sigma, epsilon float64
	}{{"fmnist-cnn-s025", "fashionmnist/test", 96, 0.25, 0.25}, {"fmnist-cnn-s050", "fashionmnist/test", 96, 0.5, 0.25}} {
		t.Run(stored.path, func(t *testing.T) {
			attackStored(t, b, stored.path, stored.data, stored.n, stored.sigma, stored.epsilon)
		})
	}
}

func attackStored(t *testing.T, b *backend.Backend, path, data string, n int, sigma, epsilon float64) {
	set, err := dataset.Open(data)
	if err != nil {
		t.Skip(err)
	}
	list, err := set.Load(t.Context())
	if missing := (*dataset.MissingError)(nil); errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	model, err := modelfile.Read("../../notebooks/models/" + path)
	if err != nil {
		t.Fatal(err)
	}
	a := model.Card.Architecture
	var weights []*tensors.Tensor
	for _, w := range model.Weights {
		weights = append(weights, tensors.FromFlatDataAndDimensions(w.Values, w.Shape...))
	}
	smoothed, err := NewSmoothed(&Network{Backend: b, Forward: a.Forward, Tensors: a.Tensors()}, L2)
	if err != nil {
		t.Fatal(err)
	}
	defer smoothed.Close()
	x, labels := make([]float32, n*list.Shape.Len()), make([]int32, n)
	for i := range x {
		x[i] = float32(list.Pixels[i]) / 255
	}
	for i := range labels {
		labels[i] = int32(list.Labels[i])
	}
	const noises = 2
	random := rand.New(rand.NewPCG(1, 2))
	delta := make([]float32, noises*len(x))
	for i := range delta {
		delta[i] = float32(sigma * random.NormFloat64())
	}
	dims := func(n int) []int { return []int{n, list.Shape.Height, list.Shape.Width, list.Shape.Channels} }
	images, noise := tensors.FromFlatDataAndDimensions(x, dims(n)...), tensors.FromFlatDataAndDimensions(delta, dims(n*noises)...)
	for _, steps := range []int{2, 10} {
		value := func(driver func() Driver) (ece, brier float64) {
			found, err := smoothed.Run(&Adversary{Epsilon: epsilon, Steps: steps, Rate: 1, Target: Predicted, Driver: driver}, epsilon, sigma, images, noise, labels, weights)
			if err != nil {
				t.Fatal(err)
			}
			defer found.Close()
			s := &State{Confidence: make([]float64, n), Correct: make([]bool, n)}
			class := tensors.FromFlatDataAndDimensions(append([]int32(nil), found.Class...), n)
			outputs, err := call(smoothed.look, []*tensors.Tensor{images, found.Gamma, noise, class}, weights)
			if err == nil {
				err = s.read(outputs[0], outputs[1], found.Class, labels)
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, z := range s.Confidence {
				if s.Correct[i] {
					z--
				}
				brier += z * z / float64(n)
			}
			return binned(t, s.Confidence, s.Correct), brier
		}
		exact, _ := value(func() Driver { return &Exact{} })
		acce, _ := value(exactStart)
		_, brier := value(func() Driver { return Brier{} })
		up, upBrier := value(func() Driver { return Push{Up: true} })
		down, downBrier := value(func() Driver { return Push{} })
		constant, constantBrier := max(up, down), max(upBrier, downBrier)
		report := fmt.Sprintf("%d steps: calibration error by exact %.3f, exact start %.3f, constant push %.3f; "+
			"Brier score by Brier %.3f, constant push %.3f", steps, exact, acce, constant, brier, constantBrier)
		t.Log(report)
		if !(acce >= 0.9*exact && min(exact, acce) >= 1.2*constant && brier >= 1.2*constantBrier) {
			t.Error(report)
		}
	}
}
