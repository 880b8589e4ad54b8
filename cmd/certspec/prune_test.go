package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
)

// executed runs the command line; what is printed where it fails is the error.
func executed(t *testing.T, args ...string) (code int, stdout, stderr string) {
	stdout, err := commandOutput(t, root(), args...)
	if err != nil {
		return 1, stdout, err.Error()
	}
	return 0, stdout, ""
}

// A dense and a pruned network, what lies between them, and what is refused.
func TestPruneAndInterpolate(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	train := func(out string, more ...string) {
		t.Helper()
		args := append(strings.Fields("train --data synthetic[count=32] --test synthetic/test[count=8] --net small-cnn --width 0.25 --epochs 1 --batch 16 --engine go --out"), at(out))
		if code, stdout, stderr := executed(t, append(args, more...)...); code != 0 {
			t.Fatalf("%v: exit code %d\n%s%s", more, code, stdout, stderr)
		}
	}
	train("dense")
	train("pruned", "--prune", "ft", "--sparsity", "0.75", "--start", at("dense"))
	card, err := modelfile.ReadCard(at("pruned"))
	if err != nil || card.Pruning == nil || card.Pruning.Sparsity < 0.749 || card.Pruning.Sparsity > 0.751 || card.Recipe.Prune != "ft" {
		t.Fatalf("%+v, %v", card, err)
	}
	code, stdout, stderr := executed(t, "interpolate", at("dense"), at("pruned"), "--alpha", "0:1:0.25", "--out", at("mix"), "--json")
	var written []struct {
		Alpha float64
		Path  string
	}
	if err := json.Unmarshal([]byte(stdout), &written); code != 0 || err != nil || len(written) != 5 || written[3].Alpha != 0.75 || filepath.Base(written[3].Path) != "alpha-0.75" {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, stdout, stderr)
	}
	for alpha, end := range map[string]string{"0": "dense", "1": "pruned"} {
		got, err := os.ReadFile(at("mix/alpha-" + alpha + ".safetensors"))
		want, _ := os.ReadFile(at(end + ".safetensors"))
		if err != nil || string(got) != string(want) {
			t.Errorf("alpha %s is not %s: %v", alpha, end, err)
		}
	}
	for _, w := range written {
		if _, err := modelfile.Read(w.Path); err != nil {
			t.Error(err)
		}
	}
	var results []struct{ Model string }
	if out, err := outputOf(t, "evaluate", "--model", at("mix"), "--data", "synthetic/test[count=4]", "--engine", "go", "--json"); err != nil || json.Unmarshal([]byte(out), &results) != nil || len(results) != 5 || results[4].Model != "alpha-1" {
		t.Errorf("%v, %s", err, out)
	}
	if _, err := outputOf(t, "evaluate", "--model", at("mix"), "--data", "synthetic/test[count=4]", "--name", "a"); err == nil || !strings.Contains(err.Error(), "holds 5") {
		t.Errorf("%v", err)
	}
	if code, _, stderr := executed(t, "interpolate", at("dense"), at("pruned"), "--alpha", "0.5", "--adapt", "synthetic/train[count=32]", "--engine", "go", "--out", at("adapted")); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	} else if card, err := modelfile.ReadCard(at("adapted/alpha-0.5")); err != nil || card.Mixture == nil || card.Adaptation == nil {
		t.Errorf("%+v, %v", card, err)
	}
	for want, args := range map[string][]string{
		"1 files; expected two":                   {"interpolate", at("dense"), "--alpha", "0.5", "--out", at("x")},
		"--alpha 0:2:0.1: a part is no number":    {"interpolate", at("dense"), at("pruned"), "--alpha", "0:2:0.1", "--out", at("x")},
		"the step is below 0.0001":                {"interpolate", at("dense"), at("pruned"), "--alpha", "0:1:0", "--out", at("x")},
		`"a" is no number from 0 to 1`:            {"interpolate", at("dense"), at("pruned"), "--alpha", "0,a", "--out", at("x")},
		"--alpha is missing":                      {"interpolate", at("dense"), at("pruned"), "--out", at("x")},
		"none: expected a model file of certspec": {"interpolate", at("dense"), at("none"), "--alpha", "0.5", "--out", at("x")},
		"did you mean lrr":                        {"train", "--data", "synthetic", "--prune", "lr", "--sparsity", "0.5", "--out", at("x")},
		"pruning by lrr, but no sparsity":         {"train", "--data", "synthetic", "--prune", "lrr", "--out", at("x")},
		"sparsity 1; expected":                    {"train", "--data", "synthetic", "--prune", "lrr", "--sparsity", "1", "--out", at("x")},
	} {
		if code, _, stderr := executed(t, args...); code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, %q; want %q", args, code, stderr, want)
		}
	}
}
