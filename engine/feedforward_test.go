package engine_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
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
			var want *reference
			for _, choice := range []string{"go", "xla", engine.ONNXRuntime} {
				model := open(t, path, engine.Backend(choice))
				info, err := model.Info()
				if err != nil {
					t.Logf("%s is not here: %v", choice, err)
					continue
				}
				if want == nil {
					want = referenceOf(t, model, info)
				}
				want.compare(t, model, choice)
			}
		})
	}
}

// reference is what the layers of a network give for a batch, image by image.
type reference struct {
	batch  classifier.Batch
	logits [][]float64
	bounds []feedforward.Box
}

func referenceOf(t *testing.T, model *engine.Model, info classifier.Info) *reference {
	t.Helper()
	net, err := model.FeedForward(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	const images = 2
	size := info.Shape.Len()
	r := &reference{batch: classifier.Batch{N: images, Grid: make([]int16, images*size)}}
	for i := range r.batch.Grid {
		r.batch.Grid[i] = int16(rng.IntN(256))
	}
	for image := range slices.Chunk(r.batch.Grid, size) {
		x := make([]float64, size)
		for j, v := range image {
			x[j] = float64(v) / 255
		}
		logits, err := net.Forward(x)
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
		r.logits, r.bounds = append(r.logits, logits), append(r.bounds, bounds)
	}
	return r
}

func (r *reference) compare(t *testing.T, model classifier.Classifier, choice string) {
	t.Helper()
	classes := len(r.logits[0])
	result := classifier.Result{Classes: make([]int32, r.batch.N), Logits: make([]float32, r.batch.N*classes)}
	if err := model.Classify(t.Context(), r.batch, &result); err != nil {
		t.Fatal(err)
	}
	for i, want := range r.logits {
		for k, v := range result.Logits[i*classes:][:classes] {
			if math.Abs(float64(v)-want[k]) > 2e-4*(1+math.Abs(want[k])) {
				t.Errorf("%s: logit %d of image %d is %v, in float64 %v", choice, k, i, v, want[k])
			}
			if b := r.bounds[i]; float64(v) < b.Lower[k] || float64(v) > b.Upper[k] {
				t.Errorf("%s: logit %d of image %d, %v, is outside [%v, %v]", choice, k, i, v, b.Lower[k], b.Upper[k])
			}
		}
	}
}
