package engine_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/densities"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
	"github.com/certspec/certspec/pixel"
)

// narrowL writes an untrained network with a posterior, of which some tensors may be left out.
func narrowL(t *testing.T, a nets.Architecture) string {
	return write(t, func(m *modelfile.Model) {
		a.Name, a.Shape, a.Classes, a.Width = "l", pixel.Shape{Height: 8, Width: 8, Channels: 1}, 3, 1./16
		m.Card.Architecture, m.Card.Classes, m.Weights = a, []string{"a", "b", "c"}, nil
		m.Card.Train = modelfile.Data{Name: "fashionmnist/train", Images: 3, Digest: "sha256:3"}
		for _, d := range a.Tensors() {
			m.Weights = append(m.Weights, modelfile.Tensor{Name: d.Name, Shape: d.Shape, Values: d.Initialize(2)})
		}
	})
}

func forwardOf(t *testing.T, path string, x []float64) []float64 {
	t.Helper()
	n, err := open(t, path).FeedForward(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	y, err := n.Forward(x)
	if err != nil {
		t.Fatal(err)
	}
	return y
}

func ramp(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i*37%256) / 255
	}
	return x
}

// A ProoD network is its classifier, exported, joined with its discriminator, exported or not; the shift is its own
// where no other is asked for; and what the parts learned from is known of the whole.
func TestJoin(t *testing.T) {
	whole := narrowL(t, nets.Architecture{Posterior: nets.ProoD, Shift: 1.5})
	model, err := modelfile.Read(whole)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	exported := filepath.Join(dir, "whole.onnx")
	if err := export.ONNX(model, exported); err != nil {
		t.Fatal(err)
	}
	if got, want := open(t, exported).Trained(), open(t, whole).Trained(); len(want) == 0 || len(got) != len(want) || got[0] != want[0] {
		t.Errorf("the export learned from %v, its model from %v", got, want)
	}
	part := *model
	part.Card.Architecture.Posterior, part.Card.Architecture.Shift = "", 0
	part.Weights = part.Weights[:len(part.Card.Architecture.Tensors())]
	classifier := filepath.Join(dir, "classifier.onnx")
	if err := export.ONNX(&part, classifier); err != nil {
		t.Fatal(err)
	}
	x := ramp(64)
	want := forwardOf(t, whole, x)
	zero := 0.
	for name, c := range map[string]struct {
		discriminator string
		shift         *float64
		moved         float64
	}{"model file": {whole, nil, 0}, "exported": {exported, nil, 0}, "without its shift": {whole, &zero, 1.5}} {
		path := filepath.Join(dir, name+".onnx")
		if err := engine.Join(open(t, classifier), open(t, c.discriminator), c.shift, path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if sets := open(t, path).Trained(); len(sets) == 0 {
			t.Errorf("%s: nothing is known of what the parts learned from", name)
		}
		for k, v := range forwardOf(t, path, x) {
			// z = ln(1 + K·exp(h + Δ)·p), so that exp(z) − 1 is moved by a factor exp(−Δ).
			if expected := math.Log1p(math.Expm1(want[k]) * math.Exp(-c.moved)); math.Abs(v-expected) > 1e-6 {
				t.Errorf("%s: logit %d is %v, want %v", name, k, v, expected)
			}
		}
	}
	refused := filepath.Join(dir, "refused.onnx")
	if err := engine.Join(open(t, classifier), open(t, classifier), nil, refused); err == nil {
		t.Error("a classifier was taken for a discriminator")
	}
	if _, err := os.Stat(refused); err == nil {
		t.Error("a file was written of what does not fit")
	}
}

// The densities of a CCU network are those behind its logits: Σ_k (exp(z_k) − 1)/K is p(x|in)/p(x|out).
func TestMixtures(t *testing.T) {
	path := narrowL(t, nets.Architecture{Posterior: nets.CCU})
	p, _, err := densities.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	x, odds := ramp(64), 0.
	for _, z := range forwardOf(t, path, x) {
		odds += math.Expm1(z) / 3
	}
	white := p.White(x)
	if got, want := p.In.LogDensity(white, 0)-p.Out.LogDensity(white, 0), math.Log(odds); math.Abs(got-want) > 1e-6*math.Abs(want) {
		t.Errorf("log-odds %v, the network's %v", got, want)
	}
	if got, want := p.Ball(0.3), 0.3*8; math.Abs(got-want) > 1e-6 { // C = I, 64 values
		t.Errorf("ball %v, want %v", got, want)
	}
	if _, _, err := densities.Read(narrowL(t, nets.Architecture{})); err == nil {
		t.Error("a network without densities gave some")
	}
}
