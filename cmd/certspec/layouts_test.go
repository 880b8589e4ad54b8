package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/testkit/engines"
)

// layouts are the ways in which people keep one network, each with the folder to be in and the path from there.
func layouts(t *testing.T) map[string][2]string {
	t.Helper()
	whole, root := onnxFile(t), t.TempDir()
	data, _, err := onnxfile.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	m, err := onnxfile.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	write := func(data []byte, elements ...string) string {
		path := filepath.Join(append([]string{root}, elements...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
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
		if len(raw) < 256 {
			continue
		}
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

// Every verb that takes a model takes it in every layout.
func TestModelsInEveryLayout(t *testing.T) {
	engines.NeedONNXRuntime(t)
	verbs := [][]string{
		{"certify", "--sigma", "0.25", "--n", "100", "--rule", "fixed"},
		{"certify", "--sigma", "0.25", "--n", "100", "--rule", "fixed", "--engine", "go"},
		{"predict", "--sigma", "0.25", "--n", "100"},
		{"evaluate"},
		{"ood", "bound", "--eps", "0"},
		{"ood", "attack", "--eps", "0.01", "--steps", "1"},
		{"quantize", "--sigma", "0.25", "--calibrate", "1", "--out", "q.onnx"},
		{"quantize", "--sigma", "0.25", "--calibrate", "1", "--exact", "--out", "q.intnet"},
		{"preflight", "--sigma", "0.25", "--images", "2", "--n", "100"},
		{"preflight", "--bounds", "--eps", "0.001", "--images", "1"},
		{"plan", "--sigma", "0.25", "--images", "1", "--n", "100"},
		{"spectral", "heatmap", "--metric", "error", "--frequencies", "0"},
	}
	for name, at := range layouts(t) {
		for _, verb := range verbs {
			args := append(append([]string{}, verb...), "--model", at[1], "--data", "synthetic/test[max_index=2]")
			cmd, _, stderr := program(t, args...)
			cmd.Dir = at[0]
			if err := cmd.Run(); err != nil {
				t.Errorf("%s: %q: %v: %s", name, verb, err, stderr)
			}
		}
	}
}
