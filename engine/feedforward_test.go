package engine_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/pixel"
)

// The layers in float64 give the logits of every engine, and every logit in float32 lies in rigorous bounds at a point.
func TestFeedForwardAgreesWithTheEngines(t *testing.T) {
	paths := map[string]string{
		"small CNN, 8×8":  write(t, nil),
		"fmnist-cnn-s025": filepath.Join("..", "notebooks", "models", "fmnist-cnn-s025"),
	}
	if !testing.Short() {
		paths["cifar10-resnet20-s025"] = filepath.Join("..", "notebooks", "models", "cifar10-resnet20-s025")
		paths["resnet20 in colour"] = write(t, func(m *modelfile.Model) {
			a := nets.Architecture{Name: "resnet20", Shape: pixel.Shape{Height: 16, Width: 16, Channels: 3}, Classes: 4}
			m.Card.Architecture, m.Card.Classes, m.Weights = a, []string{"a", "b", "c", "d"}, nil
			for _, d := range a.Tensors() {
				m.Weights = append(m.Weights, modelfile.Tensor{Name: d.Name, Shape: d.Shape, Values: d.Initialize(2)})
			}
		})
	}
	for name, path := range paths {
		t.Run(name, func(t *testing.T) {
			for _, choice := range []string{"go", "xla", engine.ONNXRuntime} {
				model := open(t, path, engine.Backend(choice))
				info, err := model.Info()
				if err != nil {
					t.Logf("%s is not here: %v", choice, err)
					continue
				}
				net, err := model.FeedForward(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				compareLogits(t, model, info, net, choice)
			}
		})
	}
}

func compareLogits(t *testing.T, model classifier.Classifier, info classifier.Info, net *feedforward.Network, choice string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	const images = 2
	size := info.Shape.Len()
	batch := classifier.Batch{N: images, Grid: make([]int16, images*size)}
	for i := range batch.Grid {
		batch.Grid[i] = int16(rng.IntN(256))
	}
	result := classifier.Result{Classes: make([]int32, images), Logits: make([]float32, images*info.Classes)}
	if err := model.Classify(t.Context(), batch, &result); err != nil {
		t.Fatal(err)
	}
	for i := range images {
		x := make([]float64, size)
		for j := range x {
			x[j] = float64(batch.Grid[i*size+j]) / 255
		}
		want, err := net.Forward(x)
		if err != nil {
			t.Fatal(err)
		}
		box, err := feedforward.Ball(x, 0, feedforward.Rigorous)
		if err != nil {
			t.Fatal(err)
		}
		bounds, err := net.Intervals(box, feedforward.Rigorous)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range result.Logits[i*info.Classes : (i+1)*info.Classes] {
			if math.Abs(float64(v)-want[k]) > 2e-4*(1+math.Abs(want[k])) {
				t.Errorf("%s: logit %d of image %d is %v, in float64 %v", choice, k, i, v, want[k])
			}
			if float64(v) < bounds.Lower[k] || float64(v) > bounds.Upper[k] {
				t.Errorf("%s: logit %d of image %d, %v, is outside [%v, %v]", choice, k, i, v, bounds.Lower[k], bounds.Upper[k])
			}
		}
	}
}
