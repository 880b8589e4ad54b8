package engine_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

// changed writes an exported network in colour with another graph.
func changed(t *testing.T, change func(m *onnxfile.Model)) string {
	t.Helper()
	file := writeONNX(t, write(t, func(m *modelfile.Model) {
		a := nets.Architecture{Name: "resnet20", Shape: pixel.Shape{Height: 8, Width: 8, Channels: 3}, Classes: 3}
		m.Card.Architecture, m.Weights = a, nil
		for _, d := range a.Tensors() {
			m.Weights = append(m.Weights, modelfile.Tensor{Name: d.Name, Shape: d.Shape, Values: d.Initialize(3)})
		}
	}))
	data := testkit.Read(t, file)
	model, err := onnxfile.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	change(model)
	testkit.Write(t, onnxfile.Encode(model), file)
	return file
}

// behind adds an operator behind the logits, whose result is the output.
func behind(op string) func(m *onnxfile.Model) {
	return func(m *onnxfile.Model) {
		g := &m.Graph
		logits := g.Outputs[0].Name
		g.Nodes = append(g.Nodes, onnxfile.Node{Op: op, Name: "last", Inputs: []string{logits}, Outputs: []string{"y"}})
		g.Outputs[0].Name = "y"
	}
}

// By its layers a file gives the scores that it gives on ONNX Runtime, and the identity differs in the engine alone.
func TestLayersOfAFileAreTheFile(t *testing.T) {
	engines.NeedONNXRuntime(t)
	plain := func(*onnxfile.Model) {}
	for name, c := range map[string]struct {
		change func(m *onnxfile.Model)
		card   onnx.Card
		logits bool
	}{
		"as it is":   {plain, onnx.Card{}, true},
		"normalised": {plain, onnx.Card{Scale: 255, Mean: []float64{120, 110, 100}, Std: []float64{60, 61, 62}}, true},
		"blue first": {plain, onnx.Card{ChannelOrder: "bgr", Std: []float64{0.2, 0.3, 0.4}}, true},
		"one of two outputs": {func(m *onnxfile.Model) {
			behind("Relu")(m)
			m.Graph.Outputs = append(m.Graph.Outputs, onnxfile.Value{Name: m.Graph.Nodes[len(m.Graph.Nodes)-1].Inputs[0],
				Type: onnxfile.Float32, Dims: m.Graph.Outputs[0].Dims})
		}, onnx.Card{Output: "y"}, true},
		"softmax":                   {behind("Softmax"), onnx.Card{}, false},
		"softmax, taken for logits": {behind("Softmax"), onnx.Card{Scores: "logits"}, true},
		"log-softmax":               {behind("LogSoftmax"), onnx.Card{}, true},
		"a batch of one": {func(m *onnxfile.Model) {
			m.Graph.Inputs[0].Dims[0], m.Graph.Outputs[0].Dims[0] = onnxfile.Dim{Size: 1}, onnxfile.Dim{Size: 1}
		}, onnx.Card{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			file := changed(t, c.change)
			opened := func(choice string) *engine.Model {
				return open(t, file, engine.ONNX(onnx.Options{Card: c.card}), engine.Backend(choice))
			}
			var scores [2][]float32
			var infos [2]classifier.Info
			for i, choice := range []string{engine.ONNXRuntime, "go"} {
				m := opened(choice)
				var err error
				if infos[i], err = m.Info(); err != nil {
					t.Fatal(err)
				}
				for _, n := range []int{7, 3} {
					batch := classifier.Batch{N: n, Grid: make([]int16, n*infos[i].Shape.Len())}
					for j := range batch.Grid {
						batch.Grid[j] = int16(j*7919%300) - 20
					}
					result := classifier.Result{Classes: make([]int32, n), Scores: make([]float32, n*3)}
					if err := m.Classify(t.Context(), batch, &result); err != nil {
						t.Fatal(err)
					}
					scores[i] = append(scores[i], result.Scores...)
				}
			}
			for j, want := range scores[0] {
				if got := scores[1][j]; math.Abs(float64(got-want)) > 1e-5 {
					t.Errorf("score %d is %v, on ONNX Runtime %v", j, got, want)
				}
			}
			a, b := infos[0], infos[1]
			weights, _, _ := strings.Cut(a.Identity.Weights, ", batch of 1 made symbolic")
			if b.Identity.Weights != weights || b.Identity.Engine != "go" || !strings.HasSuffix(b.Identity.EngineVersion,
				", layers 1") {
				t.Errorf("identity %+v, on ONNX Runtime %+v", b.Identity, a.Identity)
			}
			if b.Logits != c.logits || a.Logits != c.logits || a.Name != b.Name {
				t.Errorf("%+v, on ONNX Runtime %+v", b, a)
			}
			warnings, err := opened("go").Warnings()
			if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "by its layers, compared with ONNX Runtime; go ") {
				t.Errorf("%q, %v", warnings, err)
			}
		})
	}
}

// What no layer is read of is refused by its node, and the error names the engine that takes it.
func TestFilesWithoutLayers(t *testing.T) {
	unread := changed(t, behind("Softsign"))
	for name, m := range map[string]*engine.Model{
		`"last" (Softsign): no layer of this kind`: open(t, unread, engine.Backend("go")),
		"the engine onnxruntime takes every":       open(t, unread, engine.Backend("go")),
		`unknown choice "fast"`:                    open(t, unread, engine.Backend("fast")),
	} {
		if _, err := m.Info(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v; expected %q", err, name)
		}
	}
	if _, err := engine.Open(unread, engine.Backend("go"), engine.ONNX(onnx.Options{Provider: "cuda"})); err == nil {
		t.Error("the provider cuda of ONNX Runtime for Go's backend")
	}
}

// A run by the layers resumes by the layers, and not on ONNX Runtime.
func TestLayersResume(t *testing.T) {
	engines.NeedONNXRuntime(t)
	file, ledger := writeONNX(t, toys[3].write(t)), filepath.Join(t.TempDir(), "run.ledger")
	data := rays()
	run := func(choice string) error {
		_, err := rs.Certify(t.Context(), open(t, file, engine.Backend(choice)), source{data}, rs.Options{
			Sigma: toySigma, Rule: rs.Fixed, MaxSamples: 200, Seed: 7, Ledger: ledger})
		return err
	}
	if err := run("go"); err != nil {
		t.Fatal(err)
	}
	whole := testkit.Read(t, ledger)
	testkit.Write(t, whole[:len(whole)/2], ledger)
	if err := run(engine.ONNXRuntime); err == nil || !strings.Contains(err.Error(), "go") {
		t.Errorf("on ONNX Runtime: %v; expected that it was begun on go", err)
	}
	if err := run("go"); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(ledger); err != nil || string(again) != string(whole) {
		t.Errorf("the resumed ledger has other bytes; %v", err)
	}
}

// XLA takes subnormal weights for zeros. That is said, not called a wrong file.
func TestSubnormalWeightsOnXLA(t *testing.T) {
	engines.Backend(t, "xla")
	small := func(factor float32) string {
		return writeONNX(t, write(t, func(m *modelfile.Model) {
			a := nets.Architecture{Name: "resnet20", Shape: pixel.Shape{Height: 8, Width: 8, Channels: 3}, Classes: 3}
			m.Card.Architecture, m.Weights = a, nil
			tensors := a.Tensors()
			for i, d := range tensors {
				values := d.Initialize(3)
				if i >= len(tensors)-2 { // the last layer
					for k := range values {
						values[k] *= factor
					}
				}
				m.Weights = append(m.Weights, modelfile.Tensor{Name: d.Name, Shape: d.Shape, Values: values})
			}
		}))
	}
	_, err := open(t, small(1e-42), engine.Backend("xla")).Info()
	if err == nil || !strings.Contains(err.Error(), "xla takes subnormal numbers, those nearer to 0 than 1.2e-38, for zeros, and layer ") ||
		!strings.Contains(err.Error(), "Take the engine onnxruntime") || strings.Contains(err.Error(), "report the file") {
		t.Errorf("%v", err)
	}
	if _, err := open(t, small(1e-30), engine.Backend("xla")).Info(); err != nil {
		t.Errorf("small and normal: %v", err)
	}
}
