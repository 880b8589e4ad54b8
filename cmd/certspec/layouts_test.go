package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/internal/testkit/engines"
)

// layouts are the ways in which people keep one network, each with the folder to be in and the path from there.
func layouts(t *testing.T) map[string][2]string {
	t.Helper()
	root, m := t.TempDir(), sumsOfValues()
	data := onnxfile.Encode(m)
	write := func(data []byte, elements ...string) string {
		path := filepath.Join(append([]string{root}, elements...)...)
		testkit.Write(t, data, path)
		return path
	}
	link := func(to, from string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, from)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(root, from)); err != nil {
			t.Fatal(err)
		}
	}
	write(data, "one", "net.onnx")
	moved := 0
	for tensor := range m.AllTensors() {
		raw := tensor.Raw
		name := fmt.Sprintf("weights%d.bin", moved)
		moved++
		write(raw, "external", name)
		write(raw, "blobs", name)
		link("../../../blobs/"+name, "snapshots/abc/onnx/"+name)
		tensor.SetExternal(name)
	}
	if moved == 0 {
		t.Fatal("no tensor moved")
	}
	write(onnxfile.Encode(m), "external", "net.onnx")
	write(onnxfile.Encode(m), "blobs", "aaaa")
	link("../../../blobs/aaaa", "snapshots/abc/onnx/net.onnx")
	link("one/net.onnx", "link.onnx")
	link("external", "folder")
	return map[string][2]string{
		"one file":               {filepath.Join(root, "one"), "net.onnx"},
		"external weights":       {filepath.Join(root, "external"), "net.onnx"},
		"by link":                {root, "link.onnx"},
		"linked folder":          {root, "folder/net.onnx"},
		"cache of a hub":         {filepath.Join(root, "snapshots/abc/onnx"), "net.onnx"},
		"another working folder": {t.TempDir(), filepath.Join(root, "snapshots/abc/onnx/net.onnx")},
	}
}

// sumsOfValues tells ten classes of images of 32×32×3 by sums of their values, in a moment.
func sumsOfValues() *onnxfile.Model {
	first, second := make([]float32, 4*32*32*3), make([]float32, 4*10)
	for _, weights := range [][]float32{first, second} {
		for i := range weights {
			weights[i] = (float32((i*7)%11) - 4) / float32(len(weights))
		}
	}
	return &onnxfile.Model{IRVersion: onnxfile.IRVersion, Opsets: []onnxfile.OperatorSet{{Version: onnxfile.Opset}}, Graph: onnxfile.Graph{Name: "means",
		Nodes: []onnxfile.Node{
			{Op: "Flatten", Inputs: []string{"x"}, Outputs: []string{"f"}},
			{Op: "Gemm", Inputs: []string{"f", "v"}, Outputs: []string{"g"}},
			{Op: "Relu", Inputs: []string{"g"}, Outputs: []string{"h"}},
			{Op: "Gemm", Inputs: []string{"h", "w", "b"}, Outputs: []string{"y"}},
		},
		Initializers: []onnxfile.Tensor{onnxfile.Float32Tensor("v", first, 32*32*3, 4), onnxfile.Float32Tensor("w", second, 4, 10), onnxfile.Float32Tensor("b", make([]float32, 10), 10)},
		Inputs:       []onnxfile.Value{{Name: "x", Type: onnxfile.Float32, Dims: []onnxfile.Dim{{Name: "n"}, {Size: 3}, {Size: 32}, {Size: 32}}}},
		Outputs:      []onnxfile.Value{{Name: "y", Type: onnxfile.Float32, Dims: []onnxfile.Dim{{Name: "n"}, {Size: 10}}}},
	}}
}

// Every verb that takes a model takes it in every layout.
func TestModelsInEveryLayout(t *testing.T) {
	engines.NeedONNXRuntime(t)
	verbs := [][]string{
		{"certify", "--sigma", "0.25", "--n", "100", "--rule", "fixed"},
		{"certify", "--sigma", "0.25", "--n", "100", "--rule", "fixed", "--engine", "go"},
		{"ood", "bound", "--eps", "0"},
		{"predict", "--sigma", "0.25", "--n", "100"},
		{"evaluate"},
		{"ood", "attack", "--eps", "0.01", "--steps", "1", "--attacks", "monotone"},
		{"quantize", "--sigma", "0.25", "--calibrate", "1", "--out", "q.onnx"},
		{"quantize", "--sigma", "0.25", "--calibrate", "1", "--exact", "--out", "q.intnet"},
		{"preflight", "--sigma", "0.25", "--images", "2", "--n", "100"}, // some of whose checks fail
		{"preflight", "--bounds", "--eps", "0.001"},
		{"plan", "--sigma", "0.25", "--images", "1", "--n", "100"},
		{"spectral", "heatmap", "--metric", "error", "--frequencies", "0"},
	}
	for name, at := range layouts(t) {
		of := verbs
		if testing.Short() && name != "cache of a hub" {
			of = verbs[:3] // an engine, the layers of the file, and the comparison of both
		}
		for _, verb := range of {
			args := append(append([]string{}, verb...), "--model", at[1], "--data", "synthetic/test[max_index=2]")
			cmd, _, stderr := program(t, args...)
			cmd.Dir = at[0]
			if err := cmd.Run(); err != nil && !strings.Contains(stderr.String(), "checks failed") {
				t.Errorf("%s: %q: %v: %s", name, verb, err, stderr)
			}
		}
	}
}
