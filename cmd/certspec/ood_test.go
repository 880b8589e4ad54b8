package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/testkit"
)

// Scripts read the verdict, the method and the witness; the exit code is 0 for every verdict.
func TestOODProperty(t *testing.T) {
	dir := t.TempDir()
	graph := onnxfile.Graph{
		Inputs:  []onnxfile.Value{{Name: "x", Type: onnxfile.Float32, Dims: []onnxfile.Dim{{Size: 1}, {Size: 2}}}},
		Outputs: []onnxfile.Value{{Name: "y", Type: onnxfile.Float32, Dims: []onnxfile.Dim{{Size: 1}, {Size: 2}}}},
		Initializers: []onnxfile.Tensor{
			onnxfile.Float32Tensor("mean", []float32{0.5}), onnxfile.Float32Tensor("w", []float32{1, -1, 1, 1}, 2, 2), onnxfile.Float32Tensor("v", []float32{1, 0, 0, 1}, 2, 2),
		},
		Nodes: []onnxfile.Node{
			{Op: "Sub", Inputs: []string{"x", "mean"}, Outputs: []string{"c"}},
			{Op: "Gemm", Inputs: []string{"c", "w"}, Outputs: []string{"h"}, Attributes: []onnxfile.Attribute{onnxfile.IntAttribute("transB", 1)}},
			{Op: "Relu", Inputs: []string{"h"}, Outputs: []string{"r"}},
			{Op: "MatMul", Inputs: []string{"r", "v"}, Outputs: []string{"y"}},
		},
	}
	model := testkit.Write(t, onnxfile.Encode(&onnxfile.Model{IRVersion: onnxfile.IRVersion, Opsets: []onnxfile.OperatorSet{{Version: onnxfile.Opset}}, Graph: graph}),
		dir, "net.onnx")
	ask := func(assertion string) (map[string]any, error) {
		t.Helper()
		file := filepath.Join(dir, "p.vnnlib")
		text := "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)\n" +
			"(assert (>= X_0 0.4))(assert (<= X_0 0.6))(assert (>= X_1 0.4))(assert (<= X_1 0.6))\n" + assertion
		testkit.Write(t, []byte(text), file)
		out, err := outputOf(t, "ood", "property", "--model", model, "--property", file, "--json")
		if err != nil {
			return nil, err
		}
		var answer map[string]any
		if err := json.Unmarshal([]byte(out), &answer); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return answer, nil
	}
	for assertion, want := range map[string]string{ // each output is |sum or difference| of two numbers within .1 of 0, at most .2, and .2 together
		"(assert (>= Y_0 0.21))": "holds", "(assert (>= Y_0 0.19))": "violated", "(assert (and (>= Y_0 0.15) (>= Y_1 0.15)))": "holds",
	} {
		answer, err := ask(assertion)
		if err != nil || answer["verdict"] != want || answer["method"] == "" || answer["seconds"] == nil || (want == "violated") != (answer["witness"] != nil) {
			t.Errorf("%s: %v, %v; expected %s", assertion, answer, err, want)
		}
	}
	if _, err := onnx.Library(""); err == nil {
		if answer, err := ask("(assert (>= Y_0 0.19))"); err != nil || answer["compared"] != "onnxruntime" {
			t.Errorf("%v, %v", answer, err)
		}
	}
	if _, err := ask("(assert (>= Y_5 0))"); err == nil || !strings.Contains(err.Error(), "line 3: Y_5 is not declared") {
		t.Errorf("an unknown output: %v", err)
	}
}
