package perturb

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
)

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
	model, err := modelfile.Read("../../../notebooks/models/" + path)
	if err != nil {
		t.Fatal(err)
	}
	a := model.Card.Architecture
	var weights []*tensors.Tensor
	for _, w := range model.Weights {
		weights = append(weights, tensors.FromFlatDataAndDimensions(w.Values, w.Shape...))
	}
	smoothed, err := NewSmoothed(&Network{Backend: b, Forward: netgraph.Network{Architecture: a}.Forward, Tensors: a.Tensors()}, attack.L2)
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
		value := func(driver func() attack.Driver) (ece, brier float64) {
			found, err := smoothed.Run(&attack.Adversary{Epsilon: epsilon, Steps: steps, Rate: 1, Target: attack.Predicted, Driver: driver}, epsilon, sigma, images, noise, labels, weights)
			if err != nil {
				t.Fatal(err)
			}
			defer found.Close()
			s := &attack.State{Confidence: make([]float64, n), Correct: make([]bool, n)}
			class := tensors.FromFlatDataAndDimensions(append([]int32(nil), found.Class...), n)
			outputs, err := call(smoothed.look, []*tensors.Tensor{images, found.Gamma, noise, class}, weights)
			if err == nil {
				err = readState(s, outputs[0], outputs[1], found.Class, labels)
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
			bins, err := calib.Uniform(attack.Bins, calib.LeftClosed)
			if err != nil {
				t.Fatal(err)
			}
			ece, err = calib.ECE(s.Correct, s.Confidence, bins)
			if err != nil {
				t.Fatal(err)
			}
			return ece, brier
		}
		exact, _ := value(func() attack.Driver { return &attack.Exact{} })
		acce, _ := value(func() attack.Driver {
			return &attack.ExactStart{Relaxation: attack.Relaxation{Growth: 1.1, Rho: 0.01, StepA: 0.1}} // of the method exact-start
		})
		_, brier := value(func() attack.Driver { return attack.Brier{} })
		up, upBrier := value(func() attack.Driver { return attack.Push{Up: true} })
		down, downBrier := value(func() attack.Driver { return attack.Push{} })
		constant, constantBrier := max(up, down), max(upBrier, downBrier)
		report := fmt.Sprintf("%d steps: calibration error by exact %.3f, exact start %.3f, constant push %.3f; "+
			"Brier score by Brier %.3f, constant push %.3f", steps, exact, acce, constant, brier, constantBrier)
		t.Log(report)
		if !(acce >= 0.9*exact && min(exact, acce) >= 1.2*constant && brier >= 1.2*constantBrier) {
			t.Error(report)
		}
	}
}
