package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
)

// fewFile is a file with a table that takes next to nothing.
func fewFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "few.yaml")
	err := os.WriteFile(file, []byte(`data:
  few: {title: few, at: synthetic, train: "{}/train[count=8]", test: "{}/test[count=6]"}
tiers:
  mini:
    title: next to nothing
    epochs: 1
    seeds: 1
    certify: &once {rule: fixed, n: 20, n0: 20, block: 20}
    clean: count=2
    corrupted: {images: count=2, severities: [3]}
    fourier: {images: count=2}
    calibration: {images: count=2, certify: *once}
    attack: {images: count=2}
recipes:
  few/g: {from: A/base, title: Gaussian, data: few, network: small-cnn, batch: 4}
  few/bn: {from: few/g, title: BN, start: few/g, adapt: {method: bn, images: 4, steps: 1, batch: 4}}
tables:
  few:
    title: A table of few
    rows: [few/g, few/bn]
    measure: {clean: true, sweeps: [brightness]}
`), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestExperiment(t *testing.T) {
	file, folder := fewFile(t), filepath.Join(t.TempDir(), "few")
	args := []string{"experiment", "run", "few", "--tier", "mini", "--add", file, "--out", folder, "--engine", "go", "--train-engine", "go"}
	if text, code := output(t, append(args, "--dry-run", "--json")...); code != 0 || !strings.Contains(text, `"jobs": 5`) || !strings.Contains(text, `"training_rows": 8,`) || !strings.Contains(text, `"copies": 320,`) {
		t.Fatalf("exit code %d: %s", code, text)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("--dry-run makes a folder")
	}
	// An interrupt in the middle, and the same command again.
	cmd, _, stderr := program(t, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if found, _ := filepath.Glob(filepath.Join(folder, "ledgers", "*", "*.ledger")); len(found) > 0 {
			break
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != cli.ExitStopped {
		t.Fatalf("%v: %s", err, stderr)
	}
	if text, code := output(t, append(args, "--json")...); code != 0 || !strings.Contains(text, `"done": 4,`) {
		t.Fatalf("exit code %d: %s", code, text)
	}
	if text, code := output(t, "experiment", "table", "--left", folder); code != 0 || !strings.Contains(text, "4 of 4") || !strings.Contains(text, "tier mini") {
		t.Errorf("exit code %d: %s", code, text)
	}
	for format, want := range map[string]string{"markdown": "| Gaussian |", "latex": "Gaussian &", "csv": "\nGaussian,", "html": "<td", "text": "Gaussian"} {
		if text, code := output(t, "experiment", "table", folder, "--format", format); code != 0 || !strings.Contains(text, want) {
			t.Errorf("%s: exit code %d: %s", format, code, text)
		}
	}
	var filled struct {
		Lines []struct{ Values []*struct{ Images int } }
	}
	text, code := output(t, "experiment", "table", folder, "few", "--json")
	if err := json.Unmarshal([]byte(text), &filled); err != nil || code != 0 || len(filled.Lines) != 2 || filled.Lines[1].Values[1] == nil || filled.Lines[1].Values[1].Images != 2 {
		t.Errorf("exit code %d, %v: %s", code, err, text)
	}
	if text, code := output(t, "merge", folder, "--out", filepath.Join(t.TempDir(), "all"), "--json"); code != 0 || !strings.Contains(text, `"folders": 1`) {
		t.Errorf("exit code %d: %s", code, text)
	}
	out := filepath.Join(t.TempDir(), "net")
	if text, code := output(t, "train", "--recipe", "few/g", "--tier", "mini", "--add", file, "--seed", "5", "--engine", "go", "--out", out); code != 0 || !strings.Contains(text, "by gaussian") {
		t.Fatalf("exit code %d: %s", code, text)
	}
	card, err := modelfile.ReadCard(out)
	if err != nil || card.Recipe.Seed != 5 || card.Recipe.Epochs != 1 || card.Recipe.BatchSize != 4 || card.Recipe.Noise() != .25 || card.Recipe.Augment != "crop-flip" {
		t.Errorf("%+v, %v", card, err)
	}
	adapted := filepath.Join(t.TempDir(), "adapted")
	text, code = output(t, "adapt", "--model", out, "--method", "tent", "--data", "synthetic/test[count=8]", "--corrupt", "fog", "--severity", "3", "--batch", "4", "--steps", "2", "--engine", "go", "--out", adapted)
	if code != 0 || !strings.Contains(text, "adapted by tent to 8 images") {
		t.Fatalf("exit code %d: %s", code, text)
	}
	after, err := modelfile.ReadCard(adapted)
	if err != nil || after.Adaptation == nil || after.Adaptation.From != card.Weights || after.Adaptation.Rate != 1e-3 || after.Weights == card.Weights {
		t.Errorf("%+v, %v", after, err)
	}
}

// A figure of committed results is drawn, and its numbers are printed.
func TestExperimentFigure(t *testing.T) {
	drawn := filepath.Join(t.TempDir(), "groups.svg")
	text, code := output(t, "experiment", "table", "../../notebooks/results/experiments/A", "sun2021/table2",
		"--figure", "groups", "--resamples", "20", "--out", drawn)
	if code != 0 || !strings.Contains(text, "Gaussian+JSD") || !strings.Contains(text, "radius") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if svg, err := os.ReadFile(drawn); err != nil || !strings.Contains(string(svg), "<svg") {
		t.Errorf("no picture: %v", err)
	}
}

func TestExperimentUsage(t *testing.T) {
	const results = "../../notebooks/results/experiments/A"
	file := fewFile(t)
	out := filepath.Join(t.TempDir(), "out")
	for _, args := range [][]string{
		{"experiment", "run"},
		{"experiment", "run", "few"},
		{"experiment", "run", "fwe", "--tier", "mini", "--add", file, "--out", out},
		{"experiment", "run", "few", "--tier", "min", "--add", file, "--out", out},
		{"experiment", "run", "few", "--tier", "mini", "--add", file, "--out", out, "--shard", "2/2"},
		{"experiment", "run", "few", "--tier", "mini", "--add", file, "--out", out, "--data", "cifar10"},
		{"experiment", "run", "few", "--tier", "mini", "--add", file, "--out", out, "--rows", "few/x"},
		{"experiment", "list", "A/c10/fm-hrc"},
		{"experiment", "list", "rows"},
		{"experiment", "table", "--left"},
		{"experiment", "table"},
		{"experiment", "table", results, "sun2021/table2", "--figure", "groups"},
		{"experiment", "table", results, "sun2021/table2", "--figure", "group", "--out", out},
		{"experiment", "table", results, "sun2021/table2", "--figure", "groups", "--published", "--out", out + ".svg"},
		{"experiment", "table", results, "sun2021/table2", "--severity", "3"},
		{"merge", out},
		{"train", "--recipe", "few/g", "--add", file, "--out", out},
		{"train", "--recipe", "few/g", "--add", file, "--tier", "mini", "--out", out, "--sigma", "0.5"},
		{"train", "--recipe", "few/x", "--add", file, "--tier", "mini", "--out", out},
		{"train", "--data", "synthetic", "--tier", "mini", "--out", out},
		{"adapt", "--model", out, "--data", "synthetic/test", "--out", out},
		{"adapt", "--model", out, "--data", "synthetic/test", "--out", out, "--method", "bnn"},
		{"adapt", "--model", out, "--data", "synthetic/test", "--out", out, "--method", "bn", "--rate", "0.1"},
	} {
		if _, code := output(t, args...); code != cli.ExitUsage {
			t.Errorf("%q: exit code %d, want %d", args, code, cli.ExitUsage)
		}
	}
	if text, code := output(t, "experiment", "list", "tiers", "--add", file); code != 0 || !strings.Contains(text, "mini") || !strings.Contains(text, "small") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if text, code := output(t, "experiment", "list", "few/bn", "--add", file, "--tier", "mini"); code != 0 || !strings.Contains(text, `"start": "few/g@1"`) {
		t.Errorf("exit code %d: %s", code, text)
	}
	for _, more := range [][]string{nil, {"--left"}} {
		folder := t.TempDir()
		if _, err := outputOf(t, "experiment", append([]string{"table", folder}, more...)...); err == nil || !strings.Contains(err.Error(), folder+" is no folder of an experiment") {
			t.Errorf("a folder without a manifest: %v", err)
		}
	}
}
