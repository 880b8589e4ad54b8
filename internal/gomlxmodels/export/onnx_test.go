package export

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/infer"
	"github.com/certspec/certspec/pixel"
)

// untrained is a network whose every weight matters, running averages too, with logits of
// a few units.
func untrained(a nets.Architecture) *modelfile.Model {
	random := rand.New(rand.NewPCG(7, 8))
	m := &modelfile.Model{Card: modelfile.Card{Architecture: a, Program: "test"}}
	for range a.Classes {
		m.Card.Classes = append(m.Card.Classes, "class "+string(rune('a'+len(m.Card.Classes))))
	}
	for _, t := range a.Tensors() {
		values := t.Initialize(1)
		for i := range values {
			switch {
			case strings.HasSuffix(t.Name, "/variance"):
				values[i] = 0.5 + random.Float32()
			case strings.Contains(t.Name, "/bn2/scale"), strings.Contains(t.Name, "/bn3/scale"):
				values[i] = 0.3 // deep residual networks would grow without bound
			default:
				values[i] += float32(0.05 * random.NormFloat64())
			}
		}
		m.Weights = append(m.Weights, modelfile.Tensor{Name: t.Name, Shape: t.Shape, Values: values})
	}
	return m
}

func noisy(shape pixel.Shape, n int) classifier.Batch {
	random := rand.New(rand.NewPCG(5, uint64(n)))
	grid := make([]int16, n*shape.Len())
	for i := range grid {
		grid[i] = int16(random.IntN(pixel.Steps+1)) + int16(64*random.NormFloat64())
	}
	return classifier.Batch{N: n, Grid: grid}
}

// logits are the logits of a model up to a constant per image, from its scores.
func logits(t *testing.T, model classifier.Classifier, classes int, batch classifier.Batch) []float64 {
	t.Helper()
	result := classifier.Result{Classes: make([]int32, batch.N), Scores: make([]float32, batch.N*classes)}
	if err := model.Classify(t.Context(), batch, &result); err != nil {
		t.Fatal(err)
	}
	out := make([]float64, len(result.Scores))
	for i, s := range result.Scores {
		if s < 1e-20 {
			t.Fatalf("score %g: the network's logits are too far apart for this test", s)
		}
		out[i] = math.Log(float64(s) / float64(result.Scores[i/classes*classes]))
	}
	return out
}

func openONNX(t *testing.T, m *modelfile.Model) *onnx.Model {
	t.Helper()
	if _, err := onnx.Library(""); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "net.onnx")
	if err := ONNX(m, path); err != nil {
		t.Fatal(err)
	}
	model, err := onnx.Open(path, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// Every network gives the logits of GoMLX's own evaluation, to 1e-5 of the largest.
func TestONNXAgrees(t *testing.T) {
	odd, square := pixel.Shape{Height: 7, Width: 6, Channels: 2}, pixel.Shape{Height: 9, Width: 12, Channels: 3}
	architectures := []nets.Architecture{
		{Name: "small-cnn", Shape: odd, Classes: 3},
		{Name: "small-cnn", Shape: pixel.Shape{Height: 28, Width: 28, Channels: 1}, Classes: 10},
		{Name: "resnet8", Shape: odd, Classes: 2},
		{Name: "resnet8", Shape: square, Classes: 4, Input: "center"},
		{Name: "resnet20", Shape: pixel.Shape{Height: 32, Width: 32, Channels: 3}, Classes: 10, Input: "standardize"},
		{Name: "resnet20", Shape: pixel.Shape{Height: 32, Width: 32, Channels: 3}, Classes: 10, Input: "imagenet", Denoiser: 8},
	}
	nets.Register(everyLayer{})
	architectures = append(architectures, nets.Architecture{Name: "resnet8", Shape: square, Classes: 4, Width: 0.5, Bias: true},
		nets.Architecture{Name: everyLayer{}.Name(), Shape: square, Classes: 4, Input: "imagenet", Bias: true},
		nets.Architecture{Name: "l", Shape: odd, Classes: 3, Width: 1. / 8, Posterior: nets.ProoD, Shift: 3},
		nets.Architecture{Name: "l", Shape: odd, Classes: 3, Width: 1. / 8, Posterior: nets.CCU})
	for _, name := range nets.Names() {
		a := nets.Architecture{Name: name, Shape: square, Classes: 5, Width: 1. / 8}
		if a.Check() != nil {
			a.Width = 0
		}
		architectures = append(architectures, a)
	}
	for _, a := range architectures {
		t.Run(strings.Join([]string{a.Name, a.Shape.String(), string(a.Input)}, " "), func(t *testing.T) {
			m := untrained(a)
			model := openONNX(t, m)
			const n = 3
			batch := noisy(a.Shape, n)
			got := logits(t, model, a.Classes, batch)
			for _, engine := range []string{"go", "xla"} {
				if engine == "xla" && a.Name != "resnet20" {
					continue
				}
				b, err := backend.Open(engine)
				if err != nil {
					t.Logf("not compared with %s: %v", engine, err)
					continue
				}
				network, err := infer.Load(b, "net", m)
				if err != nil {
					t.Fatal(err)
				}
				defer network.Close()
				want := logits(t, network, a.Classes, batch)
				largest, difference := 0.0, 0.0
				for i := range want {
					largest = max(largest, math.Abs(want[i]))
					difference = max(difference, math.Abs(want[i]-got[i]))
				}
				t.Logf("%s: greatest difference %.2g of a largest logit of %.3g", engine, difference/largest, largest)
				if !(difference <= 1e-5*largest) || largest < 0.05 {
					t.Errorf("%s: logits %v; expected %v", engine, got, want)
				}
			}
		})
	}
}

// everyLayer has every kind of layer, and each after others than in the networks that are built in.
type everyLayer struct{}

func (everyLayer) Name() string { return "every-layer" }

func (everyLayer) Layers(b *nets.Builder, x nets.Value, classes int) nets.Value {
	x = b.ReLU(b.Norm("before", x))
	x = b.MaxPool("half", x)
	y := b.Conv("left", x, nets.ConvOptions{Size: 1, Channels: 6, Bias: true, Uniform: true})
	z := b.Norm("normed", y) // y has another user: nothing is folded
	x = b.ReLU(b.Add("both", y, z))
	first := b.ReLU(b.Norm("flat-norm", b.Dense("first", x, 7)))
	second := b.Dense("second", b.MeanPool("mean", x), 7)
	return b.Dense("last", b.Add("joined", first, second), classes)
}

func TestONNXMetadata(t *testing.T) {
	m := untrained(nets.Architecture{Name: "small-cnn", Shape: pixel.Shape{Height: 8, Width: 8, Channels: 3}, Classes: 2})
	m.Card.Recipe.Sigma, m.Card.Train.Digest = new(0.25), "sha256:abc"
	details, err := openONNX(t, m).Details()
	if err != nil {
		t.Fatal(err)
	}
	if names := strings.Join(details.ClassNames, ", "); names != "class a, class b" || details.Layout != "NCHW" ||
		details.Scores != "logits" || details.Batch != 0 || details.Producer != "certspec test" {
		t.Errorf("%+v", details)
	}
	var card modelfile.Card
	if err := json.Unmarshal([]byte(details.Metadata[CardKey]), &card); err != nil {
		t.Fatal(err)
	}
	if card.Recipe.Noise() != 0.25 || card.Train.Digest != "sha256:abc" {
		t.Errorf("card %+v", card)
	}
}

func TestONNXRefusesNaN(t *testing.T) {
	m := untrained(nets.Architecture{Name: "small-cnn", Shape: pixel.Shape{Height: 8, Width: 8, Channels: 3}, Classes: 2})
	m.Weights[0].Values[3] = float32(math.NaN())
	path := filepath.Join(t.TempDir(), "net.onnx")
	if err := ONNX(m, path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "1 weights are NaN or infinite") {
		t.Errorf("%v; expected an error that names the file", err)
	}
}
