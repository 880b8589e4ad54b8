package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/rs/ledger"
)

// The ledger of a quantised network names it, and is none of the network in float32.
func TestQuantize(t *testing.T) {
	needONNXRuntime(t)
	t.Setenv(dataset.DataVariable, t.TempDir())
	dir := t.TempDir()
	file, model := filepath.Join(dir, "q.onnx"), guessing(t)
	out, err := outputOf(t, "quantize", model, "--data", "synthetic/train", "--sigma", "0.25", "--calibrate", "4", "--out", file)
	if err != nil || !strings.Contains(out, "on 8-bit integers, ranges of noise samples of 4 images at sigma 0.25") {
		t.Fatalf("%v, %s", err, out)
	}
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := outputOf(t, "quantize", "--model", model, "--data", "synthetic/train", "--sigma", "0.25", "--calibrate", "4", "--out", file); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(file); err != nil || string(again) != string(first) {
		t.Errorf("other bytes from the same command, %v", err)
	}
	if out, err := outputOf(t, "quantize", model, "--data", "synthetic/train[count=20]", "--sigma", "0.25", "--out", filepath.Join(dir, "few.onnx")); err != nil || !strings.Contains(out, "of 20 images") {
		t.Errorf("%v, %s", err, out)
	}
	path := filepath.Join(dir, "q.ledger")
	if _, err := outputOf(t, "certify", "--model", file, "--data", "synthetic/test[max_index=1]", "--sigma", "0.25", "--n", "100", "--rule", "fixed", "--ledger", path); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if w := l.Header.Model.Identity.Weights; !strings.HasSuffix(w, ", quantised to 8 bits") {
		t.Errorf("the ledger is of %q", w)
	}
	plain := filepath.Join(dir, "float32.ledger")
	if _, err := outputOf(t, "certify", "--model", model, "--engine", "go", "--data", "synthetic/test[max_index=1]", "--sigma", "0.25", "--n", "100", "--rule", "fixed", "--ledger", plain); err != nil {
		t.Fatal(err)
	}
	for file, quantised := range map[string]bool{path: true, plain: false} {
		out, err := outputOf(t, "report", file, "--format", "md")
		if err != nil || strings.Contains(out, "**The certificate is of the quantised network**, which computes in 8-bit integers, and not of the network in float32") != quantised {
			t.Errorf("report of %s: %v, %s", file, err, out)
		}
	}

	for want, args := range map[string][]string{
		"sigma":           {model, "--data", "synthetic/train", "--out", file},
		"count is 40":     {model, "--data", "synthetic/train[count=20]", "--sigma", "0.25", "--calibrate", "40", "--out", file},
		"at least 1":      {model, "--data", "synthetic/train", "--sigma", "0.25", "--calibrate", "0", "--out", file},
		"ends in .onnx":   {model, "--data", "synthetic/train", "--sigma", "0.25", "--out", dir + "/q.txt"},
		"2 models":        {model, "--model", model, "--data", "synthetic/train", "--sigma", "0.25", "--out", file},
		"3 models":        {model, model, model, "--data", "synthetic/train", "--sigma", "0.25", "--out", file},
		"expected a":      {model, "--data", "synthetic/train", "--sigma", "-1", "--out", file},
		"--model is miss": {"--data", "synthetic/train", "--sigma", "0.25", "--out", file},
	} {
		if _, err := outputOf(t, "quantize", args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; expected %q", args, err, want)
		}
	}
}
