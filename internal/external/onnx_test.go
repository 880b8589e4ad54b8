//go:build external

package external

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
	"github.com/certspec/certspec/internal/gomlxmodels/infer"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
)

// Every network passes the checker of ONNX itself, and ONNX's reference evaluator, which
// is NumPy, gives the scores that GoMLX gives.
func TestExternalONNX(t *testing.T) {
	const n = 2
	engine := engines.Backend(t, "go")
	for _, name := range nets.Names() {
		a := nets.Architecture{Name: name, Shape: pixel.Shape{Height: 9, Width: 8, Channels: 3}, Classes: 4, Input: "standardize"}
		m := &modelfile.Model{Card: modelfile.Card{Architecture: a, Classes: []string{"a", "b", "c", "d"}, Program: "test"}}
		random := rand.New(rand.NewPCG(1, 2))
		for _, tensor := range a.Tensors() {
			values := tensor.Initialize(1)
			for i := range values {
				switch {
				case strings.HasSuffix(tensor.Name, "/variance"):
					values[i] = 0.5 + random.Float32()
				case strings.HasSuffix(tensor.Name, "/mean"):
					values[i] = random.Float32() - 0.5
				}
			}
			m.Weights = append(m.Weights, modelfile.Tensor{Name: tensor.Name, Shape: tensor.Shape, Values: values})
		}
		path := filepath.Join(t.TempDir(), name+".onnx")
		if err := export.ONNX(m, path); err != nil {
			t.Fatal(err)
		}
		batch := classifier.Batch{N: n, Real: make([]float32, n*a.Shape.Len())}
		for i := range batch.Real {
			batch.Real[i] = random.Float32()
		}
		network, err := infer.Load(engine, name, m)
		if err != nil {
			t.Fatal(err)
		}
		got := classifier.Result{Classes: make([]int32, n), Scores: make([]float32, n*a.Classes)}
		err = network.Classify(t.Context(), batch, &got)
		network.Close()
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			Scores [][]float64
			Keys   []string
		}
		python(t, `
import numpy as np, onnx
from onnx.reference import ReferenceEvaluator
onnx.checker.check_model(arg["path"], full_check=True)
model = onnx.load(arg["path"])
images = np.array(arg["images"], np.float32).reshape(-1, 9, 8, 3).transpose(0, 3, 1, 2)
logits = ReferenceEvaluator(model).run(None, {"image": images})[0].astype(float)
scores = np.exp(logits - logits.max(1, keepdims=True))
scores /= scores.sum(1, keepdims=True)
answer = {"scores": scores.tolist(), "keys": [p.key for p in model.metadata_props]}
`, map[string]any{"path": path, "images": batch.Real}, &want)
		if keys := strings.Join(want.Keys, " "); keys != export.InputKey+" "+export.CardKey {
			t.Errorf("%s: metadata %s", name, keys)
		}
		for i := range n {
			for c := range a.Classes {
				if d := math.Abs(want.Scores[i][c] - float64(got.Scores[i*a.Classes+c])); !(d < 1e-5) {
					t.Errorf("%s, image %d: scores %v; ONNX's reference gives %v", name, i, got.Scores[i*a.Classes:(i+1)*a.Classes], want.Scores[i])
					break
				}
			}
		}
	}
}
