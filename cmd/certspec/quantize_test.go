package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/feedforward/quantize"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/internal/testkit/engines"
)

// The ledger of a quantised network names it, and is none of the network in float32.
func TestQuantize(t *testing.T) {
	engines.NeedONNXRuntime(t)
	t.Setenv("CERTSPEC_DATA", t.TempDir())
	dir := t.TempDir()
	file, model := filepath.Join(dir, "q.onnx"), guessing(t)
	out, err := outputOf(t, "quantize", model, "--data", "synthetic/train", "--sigma", "0.25", "--calibrate", "4", "--out", file)
	if err != nil || !strings.Contains(out, "on 8-bit integers, ranges of noise samples of 4 images at sigma 0.25") {
		t.Fatalf("%v, %s", err, out)
	}
	first := testkit.Read(t, file)
	if _, err := outputOf(t, "quantize", "--model", model, "--data", "synthetic/train", "--sigma", "0.25", "--calibrate", "4", "--out", file); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(first), `"compared":"onnxruntime"`) {
		t.Error("the file does not say with what its layers were compared")
	}
	if again, err := os.ReadFile(file); err != nil || string(again) != string(first) {
		t.Errorf("other bytes from the same command, %v", err)
	}
	if out, err := outputOf(t, "quantize", model, "--data", "synthetic/train[count=20]", "--sigma", "0.25", "--out", filepath.Join(dir, "few.onnx")); err != nil || !strings.Contains(out, "of 20 images") {
		t.Errorf("%v, %s", err, out)
	}
	path := filepath.Join(dir, "q.ledger")
	if _, err := outputOf(t, "certify", "--model", file, "--data", "synthetic/test[max_index=1]", "--sigma", "0.25", "--n", "100", "--rule", "fixed", "--out", path); err != nil {
		t.Fatal(err)
	}
	l, err := ledgerio.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if w := l.Header.Model.Identity.Weights; !strings.HasSuffix(w, ", quantised to 8 bits") {
		t.Errorf("the ledger is of %q", w)
	}
	plain := filepath.Join(dir, "float32.ledger")
	if _, err := outputOf(t, "certify", "--model", model, "--engine", "go", "--data", "synthetic/test[max_index=1]", "--sigma", "0.25", "--n", "100", "--rule", "fixed", "--out", plain); err != nil {
		t.Fatal(err)
	}
	for file, quantised := range map[string]bool{path: true, plain: false} {
		out, err := outputOf(t, "report", file, "--format", "md")
		if err != nil || strings.Contains(out, "**The certificate is of the quantised network**, which computes in 8-bit integers, and not of the network in float32") != quantised {
			t.Errorf("report of %s: %v, %s", file, err, out)
		}
	}

	exact := filepath.Join(dir, "q.intnet")
	args := []string{model, "--data", "synthetic/train", "--sigma", "0.25", "--calibrate", "4", "--out", exact}
	if out, err := outputOf(t, "quantize", args...); err != nil || !strings.Contains(out, "layers of integers") || !strings.Contains(out, "of 4 further noise samples") {
		t.Fatalf("%v, %s", err, out)
	}
	path = filepath.Join(dir, "exact.ledger")
	if _, err := outputOf(t, "certify", "--model", exact, "--data", "synthetic/test[max_index=1]", "--sigma", "0.5", "--n", "100", "--rule", "fixed", "--out", path); err != nil {
		t.Fatal(err)
	}
	if out, err := outputOf(t, "ledger", "replay", path, "--model", exact, "--engine", "plain", "--data", "synthetic/test[max_index=1]", "--blocks", "1"); err != nil {
		t.Errorf("%v, %s", err, out)
	}
	if out, err := outputOf(t, "report", path, "--format", "md"); err != nil || !strings.Contains(out, "**The certificate is of the integer network**") {
		t.Errorf("%v, %s", err, out)
	}

	asONNX := filepath.Join(dir, "exact.onnx")
	if out, err := outputOf(t, "export", exact, "--out", asONNX); err != nil || !strings.Contains(out, "layers of integers") {
		t.Errorf("%v, %s", err, out)
	}
	if _, err := outputOf(t, "export", exact, "--out", filepath.Join(dir, "exact.npz")); err == nil || !strings.Contains(err.Error(), ".onnx alone") {
		t.Error(err)
	}
	bounds := filepath.Join(dir, "exact.ood")
	ofBounds := []string{"bound", exact, "--data", "synthetic/test[max_index=20]", "--eps", "0.01", "--out", bounds}
	if out, err := outputOf(t, "ood", ofBounds...); err != nil || !strings.Contains(out, "nothing is rounded") {
		t.Errorf("%v, %s", err, out)
	}
	if out, err := outputOf(t, "ledger", "replay", bounds, "--model", exact); err != nil || !strings.Contains(out, "equal") {
		t.Errorf("%v, %s", err, out)
	}
	if _, err := outputOf(t, "ood", append(ofBounds, "--method", "crown")...); err == nil || !strings.Contains(err.Error(), "--method ibp") {
		t.Error(err)
	}

	for want, args := range map[string][]string{
		"sigma":           {model, "--data", "synthetic/train", "--out", file},
		"at least 1":      {model, "--data", "synthetic/train", "--sigma", "0.25", "--calibrate", "0", "--out", file},
		"ends in .onnx":   {model, "--data", "synthetic/train", "--sigma", "0.25", "--out", dir + "/q.txt"},
		"ends in .intnet": {model, "--data", "synthetic/train", "--sigma", "0.25", "--exact", "--out", file},
		"got \"":          {model, "--model", model, "--data", "synthetic/train", "--sigma", "0.25", "--out", file},
		"wants one model": {model, model, model, "--data", "synthetic/train", "--sigma", "0.25", "--out", file},
		"expected a":      {model, "--data", "synthetic/train", "--sigma", "-1", "--out", file},
		"--model is miss": {"--data", "synthetic/train", "--sigma", "0.25", "--out", file},
	} {
		if _, err := outputOf(t, "quantize", args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; expected %q", args, err, want)
		}
	}
}

// A file whose weights lie in files beside it, as PyTorch writes them, becomes the same network in one file; its digest covers every byte of them.
func TestQuantizeReadsWeightsInFiles(t *testing.T) {
	t.Setenv("CERTSPEC_DATA", t.TempDir())
	one, dir := onnxFile(t), t.TempDir()
	data := testkit.Read(t, one)
	model, err := onnxfile.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	var last string
	for i := range model.Graph.Initializers {
		tensor := &model.Graph.Initializers[i]
		if tensor.Type != onnxfile.Float32 {
			continue
		}
		name := fmt.Sprintf("w%d.bin", i)
		last = filepath.Join(dir, name)
		testkit.Write(t, bytes.Clone(tensor.Raw), last)
		tensor.SetExternal(name)
	}
	parted := testkit.Write(t, onnxfile.Encode(model), dir, "net.onnx")
	quantised := func(file string) (network string, source string) {
		t.Helper()
		q := filepath.Join(t.TempDir(), "q.onnx")
		out, err := outputOf(t, "quantize", file, "--data", "synthetic/train", "--sigma", "0.25", "--calibrate", "2", "--out", q, "--json")
		if err != nil {
			t.Fatal(err)
		}
		var record quantize.Record
		if err := json.Unmarshal([]byte(out), &record); err != nil {
			t.Fatal(err)
		}
		data := testkit.Read(t, q)
		m, err := onnxfile.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if files, err := m.ExternalFiles(); err != nil || len(files) > 0 {
			t.Errorf("%s: weights in %v, %v; expected one file", q, files, err)
		}
		m.Metadata = nil
		return string(onnxfile.Encode(m)), record.Source
	}
	want, source := quantised(one)
	got, other := quantised(parted)
	if got != want {
		t.Error("another network from the same weights in files")
	}
	weights := testkit.Read(t, last)
	weights[len(weights)-1] ^= 0x40
	testkit.Write(t, weights, last)
	changed, third := quantised(parted)
	if changed == want || source == other || other == third || third == source {
		t.Errorf("a changed byte is not seen: digests %s, %s, %s", source, other, third)
	}
	refused := func(want string) {
		t.Helper()
		_, err := outputOf(t, "quantize", parted, "--data", "synthetic/train", "--sigma", "0.25", "--out", filepath.Join(dir, "q.onnx"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), filepath.Base(last)) {
			t.Errorf("%v; expected %q and the name of the file", err, want)
		}
	}
	if err := os.Truncate(last, int64(len(weights)-4)); err != nil {
		t.Fatal(err)
	}
	refused("bytes of")
	if err := os.Remove(last); err != nil {
		t.Fatal(err)
	}
	refused("not beside it")
}
