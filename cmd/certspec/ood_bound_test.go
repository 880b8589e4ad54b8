package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/testkit"
)

// oodModel writes a small network on 32 × 32 × 3 images, as other programs export them.
func oodModel(t *testing.T, change func(w []float32)) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	w := make([]float32, 3*3072)
	for i := range w {
		w[i] = float32(rng.NormFloat64()) / 100
	}
	if change != nil {
		change(w)
	}
	graph := onnxfile.Graph{
		Inputs:       []onnxfile.Value{{Name: "x", Type: onnxfile.Float32, Dims: []onnxfile.Dim{{Name: "n"}, {Size: 3}, {Size: 32}, {Size: 32}}}},
		Outputs:      []onnxfile.Value{{Name: "y", Type: onnxfile.Float32, Dims: []onnxfile.Dim{{Name: "n"}, {Size: 3}}}},
		Initializers: []onnxfile.Tensor{onnxfile.Float32Tensor("w", w, 3072, 3)},
		Nodes: []onnxfile.Node{
			{Op: "Flatten", Inputs: []string{"x"}, Outputs: []string{"f"}},
			{Op: "MatMul", Inputs: []string{"f", "w"}, Outputs: []string{"y"}},
		},
	}
	path := testkit.Write(t, onnxfile.Encode(&onnxfile.Model{IRVersion: onnxfile.IRVersion, Opsets: []onnxfile.OperatorSet{{Version: onnxfile.Opset}}, Graph: graph}),
		t.TempDir(), "net.onnx")
	return path
}

// Rigorous bounds hold for float32, so none of the commands that give them can be asked for an engine that rounds otherwise.
func TestBoundsTakeNoEngine(t *testing.T) {
	model := oodModel(t, nil)
	for _, args := range [][]string{{"bound"}, {"property"}, {"attack"}} {
		_, err := outputOf(t, "ood", append(args, "--model", model, "--engine", "xla:cpu,kernels=bf16")...)
		if err == nil || !strings.Contains(err.Error(), "unknown flag") || !strings.Contains(err.Error(), "--engine") {
			t.Errorf("%s: %v", args[0], err)
		}
	}
}

// Without ONNX Runtime nothing is proven but with --uncompared, which every report and the header of a record say; a packed network is read.
func TestBoundsAreOfComparedLayers(t *testing.T) {
	model, dir := oodModel(t, nil), t.TempDir()
	data := testkit.Read(t, model)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(data); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if text != nil {
			testkit.Write(t, text, path)
		}
		return path
	}
	zipped := file("net.onnx.gz", packed.Bytes())
	var property strings.Builder
	for i := range 3072 {
		fmt.Fprintf(&property, "(declare-const X_%d Real)(assert (>= X_%d 0))(assert (<= X_%d 1))", i, i, i)
	}
	property.WriteString("(declare-const Y_0 Real)(declare-const Y_1 Real)(declare-const Y_2 Real)(assert (>= Y_0 1000))")
	asked := file("p.vnnlib", []byte(property.String()))
	out := file("out.ood", nil)
	verbs := map[string][]string{
		"bound": {"--data", "synthetic/test[count=2]", "--eps", "0.01", "--out", out}, "--bounds": {"--eps", "0.01"}, "property": {"--property", asked},
		"attack": {"--data", "synthetic/test[count=2]", "--eps", "0.01", "--steps", "2"},
	}
	under := func(verb string) string {
		if verb == "--bounds" {
			return "preflight"
		}
		return "ood"
	}
	if _, err := onnx.Library(""); err == nil {
		for verb, args := range verbs {
			for _, path := range []string{model, zipped} {
				if verb == "bound" {
					os.Remove(out)
				}
				text, err := outputOf(t, under(verb), append([]string{verb, "--model", path}, args...)...)
				if verb != "property" && !strings.Contains(text, "compared with onnxruntime") || err != nil {
					t.Errorf("%s of %s: %v: %s", verb, path, err, text)
				}
			}
		}
		if head, err := os.ReadFile(out); err != nil || !strings.Contains(string(head), `"compared":"onnxruntime"}`) {
			t.Errorf("%.400s, %v", head, err)
		}
	}
	t.Setenv("CERTSPEC_CACHE", t.TempDir())
	t.Setenv(onnx.Variable, "")
	for verb, args := range verbs {
		if verb == "bound" {
			os.Remove(out)
		}
		args = append([]string{verb, "--model", model}, args...)
		if _, err := outputOf(t, under(verb), args...); !errors.Is(err, onnx.ErrNoLibrary) || !strings.Contains(err.Error(), "--uncompared") || !strings.Contains(err.Error(), "certspec backend install onnxruntime") {
			t.Errorf("%s without ONNX Runtime: %v", verb, err)
		}
		if text, err := outputOf(t, under(verb), append(args, "--uncompared")...); err != nil || verb != "property" && !strings.Contains(text, "not compared") {
			t.Errorf("%s --uncompared: %v: %s", verb, err, text)
		}
	}
	if head, err := os.ReadFile(out); err != nil || !strings.Contains(string(head), `"compared":"no"}`) {
		t.Errorf("%.400s, %v", head, err)
	}
}

// Bound, attack, merge, compare, verify: the files fit together, and JSON has the keys that scripts read.
func TestOODFromBoundToAUC(t *testing.T) {
	model, dir := oodModel(t, nil), t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	must := func(args ...string) string {
		t.Helper()
		out, err := outputOf(t, "ood", args...)
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return out
	}
	must("bound", "--model", model, "--data", "synthetic/test[count=30]", "--out", file("in.ood"))
	lines := must("bound", "--model", model, "--data", "synthetic/train[count=20]", "--eps", "0.01", "--out", file("foreign.ood"), "--json")
	var line map[string]float64
	if err := json.Unmarshal([]byte(strings.SplitN(lines, "\n", 2)[0]), &line); err != nil || strings.Count(lines, "\n") != 20 {
		t.Fatalf("%v: %s", err, lines)
	}
	for _, key := range []string{"image", "class", "log_confidence", "log_bound", "bound"} {
		if _, ok := line[key]; !ok {
			t.Errorf("a line has no %s: %v", key, line)
		}
	}
	if line["log_confidence"] > line["log_bound"] || line["bound"] <= 1./3 || line["bound"] > 1 {
		t.Errorf("%v", line)
	}
	for _, i := range []string{"0", "1"} {
		must("bound", "--model", model, "--data", "synthetic/train[count=20]", "--eps", "0.01", "--out", file("part"+i+".ood"), "--shard", i+"/2")
	}
	if text, err := outputOf(t, "merge", "-o", file("merged.ood"), file("part1.ood"), file("part0.ood")); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	a, _ := os.ReadFile(file("foreign.ood"))
	if b, _ := os.ReadFile(file("merged.ood")); !bytes.Equal(a, b) {
		t.Error("two shards merge into another file than one run makes")
	}
	must("attack", "--model", model, "--data", "synthetic/train[count=20]", "--eps", "0.01", "--attacks", "apgd,monotone", "--steps", "5", "--restarts", "1", "--monotone-steps", "5",
		"--transfer", file("*.npy"), "--points", file("p.npy"), "--out", file("adv.ood"))
	must("attack", "--model", model, "--data", "synthetic/train[count=20]", "--eps", "0.01", "--attacks", "contrast", "--monotone-steps", "5", "--transfer", file("*.npy"), "--out", file("transfer.ood"))
	var result map[string]any
	out := must("auc", "--in", file("in.ood"), "--foreign", file("foreign.ood")+","+file("adv.ood"), "--resamples", "50", "--json")
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"in", "foreign", "eps", "auc", "cauc", "aauc", "caauc", "gauc", "cgauc", "fpr95", "gfpr95", "nan", "intervals", "attack_subset"} {
		if result[key] == nil {
			t.Errorf("auc --json has no %s", key)
		}
	}
	if result["gauc"].(float64) > result["aauc"].(float64) || result["aauc"].(float64) > result["auc"].(float64) {
		t.Errorf("%v", out)
	}
	if text := must("auc", "--in", file("in.ood"), "--foreign", file("foreign.ood")); !strings.Contains(text, "GAUC") || strings.Contains(text, "AAUC") {
		t.Error(text)
	}
	if text := must("auc", "--in", file("in.ood"), "--foreign", file("part0.ood")); !strings.Contains(text, "part0.ood is shard 0 of 2 alone, 10 of the images") {
		t.Error(text)
	}
	must("bound", "--model", model, "--data", "synthetic/test[range=30:60]", "--out", file("further.ood"))
	must("bound", "--model", model, "--data", "synthetic/test[range=0:30]", "--out", file("own.ood"))
	must("attack", "--model", model, "--data", "synthetic/train[count=20,count=5]", "--eps", "0.01", "--attacks", "apgd", "--steps", "2", "--restarts", "1", "--out", file("few.ood"))
	var both [2]struct{ Threshold map[string]float64 }
	for i, foreign := range []string{file("foreign.ood") + "," + file("few.ood"), file("few.ood") + "," + file("foreign.ood")} {
		out := must("auc", "--in", file("own.ood"), "--foreign", foreign, "--validation", file("further.ood"), "--resamples", "50", "--json")
		if err := json.Unmarshal([]byte(out), &both[i]); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := both[0].Threshold, both[1].Threshold; len(a) != 8 || !maps.Equal(a, b) || a["foreign"] > a["guaranteed"] || a["tpr"] < 0.95 || a["least"] >= 0.95 {
		t.Errorf("a threshold in one order of files is %v, in the other %v", a, b)
	}
	for want, args := range map[string][]string{
		"bounds of 5 images computed again: equal": {"replay", file("foreign.ood"), "--model", model, "--images", "5"},
		"confidences of 5 images":                  {"replay", file("few.ood"), "--model", model},
		"holds: 20 images, sha256:":                {"verify", file("foreign.ood")},
	} {
		if text, err := outputOf(t, "ledger", args...); err != nil || !strings.Contains(text, want) {
			t.Errorf("%v: %s; expected %q", err, text, want)
		}
	}
	for want, args := range map[string][]string{
		"--model is missing": {"ledger", "replay", file("in.ood"), "--images", "2"},
		"--engine with":      {"ledger", "replay", file("in.ood"), "--model", model, "--engine", "go"},
		"--partial with":     {"merge", "--partial", file("part0.ood"), "-o", file("x.ood")},
	} {
		if _, err := outputOf(t, args[0], args[1:]...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; expected %q", args, err, want)
		}
	}
	for want, args := range map[string][]string{
		"--eps -1":                   {"bound", "--model", model, "--data", "synthetic/test", "--eps", "-1"},
		"--eps NaN":                  {"bound", "--model", model, "--data", "synthetic/test", "--eps", "nan"},
		"--eps 2":                    {"bound", "--model", model, "--data", "synthetic/test", "--eps", "2"},
		"[resize=32x32,channels=rgb": {"bound", "--model", model, "--data", "synthetic/test[resize=28]", "--eps", "0.1"},
		"was trained on synthetic":   {"bound", "--model", model, "--data", "synthetic/test", "--trained", "synthetic/test"},
		"is of another run":          {"bound", "--model", model, "--data", "synthetic/test[count=30]", "--eps", "0.2", "--out", file("in.ood")},
		"no such file":               {"attack", "--model", model, "--data", "synthetic/test", "--eps", "0.1", "--transfer", file("x.npy")},
		"--shard without --out":      {"bound", "--model", model, "--data", "synthetic/test", "--shard", "0/2"},
		"which may share images":     {"auc", "--in", file("in.ood"), "--foreign", file("foreign.ood"), "--validation", file("further.ood")},
		"has the own images":         {"auc", "--in", file("in.ood"), "--foreign", file("in.ood")},
		"--attacks pgd: expected":    {"attack", "--model", model, "--data", "synthetic/test[count=20]", "--eps", "0.1", "--attacks", "pgd"},
		"name the points of other":   {"attack", "--model", model, "--data", "synthetic/test[count=20]", "--eps", "0.1", "--attacks", "transfer"},
		"--eps is missing":           {"attack", "--model", model, "--data", "synthetic/test[count=20]"},
		"--eps 0: expected more":     {"attack", "--model", model, "--data", "synthetic/test[count=20]", "--eps", "0"},
	} {
		if _, err := outputOf(t, "ood", args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; expected %q", args, err, want)
		}
	}
}

// Weights that are not finite are refused with their place.
func TestOODRefusesDamagedWeights(t *testing.T) {
	model := oodModel(t, func(w []float32) { w[7] /= 0 * w[7] })
	if _, err := outputOf(t, "preflight", "--bounds", "--model", model); err == nil || !strings.Contains(err.Error(), "weight") {
		t.Errorf("%v", err)
	}
}
