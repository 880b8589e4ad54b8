package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/testkit"
)

// The model answers by the mean of an image, which a probe of any frequency but zero leaves nearly as it is.
func TestSpectralHeatMap(t *testing.T) {
	dir := t.TempDir()
	out, tsv, picture, ledgers := filepath.Join(dir, "m.csv"), filepath.Join(dir, "m.tsv"), filepath.Join(dir, "m.png"), filepath.Join(dir, "a folder")
	args := []string{"spectral", "heatmap", "--exec", childModel("good"), "--data", "synthetic/test[max_index=3]", "--sigma", "0.25", "--n", "200", "--window", "1",
		"--ledgers", ledgers, "--json"}
	cmd, stdout, stderr := program(t, append(args, "--out", out, "--out", tsv, "--out", picture)...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	// Five of nine frequencies stand for all.
	files, err := filepath.Glob(filepath.Join(ledgers, "*.ledger"))
	if err != nil || len(files) != 5 || !strings.Contains(stdout.String(), `"images": 3`) {
		t.Errorf("%v, %v: %s", files, err, stdout)
	}
	text, err := os.ReadFile(tsv)
	if lines := strings.Split(string(text), "\n"); err != nil || len(lines) != 11 || lines[0] != "i\tj\tacr\tn_images" ||
		strings.TrimPrefix(lines[1], "-1\t-1") != strings.TrimPrefix(lines[9], "1\t1") {
		t.Errorf("%v: %s", err, text)
	}
	if b, err := os.ReadFile(picture); err != nil || !strings.HasPrefix(string(b), "\x89PNG") {
		t.Errorf("%v: no picture", err)
	}
	cmd, stdout, stderr = program(t, append(args, "--metric", "certified", "--radius", "0.1")...)
	if err := cmd.Run(); err != nil || !strings.Contains(stdout.String(), `"metric": "certified"`) {
		t.Errorf("%v: %s%s", err, stdout, stderr)
	}
	cmd, stdout, stderr = program(t, "spectral", "heatmap", "--metric", "error", "--exec", childModel("good"), "--data", "synthetic/test[max_index=3]", "--frequencies", "0,2")
	if err := cmd.Run(); err != nil || !strings.Contains(stdout.String(), "error") {
		t.Errorf("%v: %s%s", err, stdout, stderr)
	}
}

func TestSpectralHeatMapOfBadInput(t *testing.T) {
	all := []string{"spectral", "heatmap", "--model", "m", "--data", "synthetic/test", "--sigma", "0.25", "--ledgers", t.TempDir()}
	for _, more := range [][]string{
		{"--metric", "loss"}, {"--radius", "0.1"}, {"--window", "-1"}, {"--window", "3", "--frequencies", "1"}, {"--epsilon", "0"}, {"--epsilon", "NaN"},
		{"--high", "0"}, {"--metric", "certified", "--radius", "-1"}, {"--rule", "none"}, {"--n", "0"},
		{"--in", "x.ood"}, {"--ball", "0.1"}, {"--method", "ibp"}, {"--metric", "bound"},
	} {
		if text, code := output(t, append(all, more...)...); code != cli.ExitUsage || text != "" {
			t.Errorf("%v: exit code %d: %s", more, code, text)
		}
	}
	if _, code := output(t, "spectral", "heatmap", "--model", "m", "--data", "synthetic/test"); code != cli.ExitUsage {
		t.Errorf("without σ and folder: exit code %d", code)
	}
}

// An interrupted map goes on with what its folder has: here values that no model would give, with a torn line behind them.
func TestErrorMapGoesOn(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "errors")
	args := []string{"spectral", "heatmap", "--metric", "error", "--exec", childModel("good"), "--data", "synthetic/test[max_index=3]", "--window", "1", "--ledgers", folder, "--json"}
	whole := jsonOf(t, args...)["values"].([]any)
	path := filepath.Join(folder, "errors.jsonl")
	text, err := os.ReadFile(path)
	lines := strings.SplitAfter(string(text), "\n")
	if err != nil || len(lines) != 7 || !strings.HasPrefix(lines[1], `{"u":-1,"v":`) && !strings.HasPrefix(lines[1], `{"u":1,"v":`) {
		t.Fatalf("%v: %s", err, text)
	}
	// The first of five frequencies stands for two corners of the map.
	old := lines[0] + lines[1][:strings.Index(lines[1], `"error"`)] + "\"error\":0.125}\n" + lines[2][:5]
	testkit.Write(t, []byte(old), path)
	again := jsonOf(t, args...)["values"].([]any)
	for k, v := range again {
		want := whole[k]
		if k == 0 || k == 8 {
			want = .125
		}
		if v != want {
			t.Errorf("value %d is %v, want %v", k, v, want)
		}
	}
	if text, code := output(t, append(args, "--epsilon", "3")...); code != cli.ExitFailed || text != "" {
		t.Errorf("another probe: exit code %d: %s", code, text)
	}
	testkit.Write(t, []byte(lines[0]+"{\"u\":0,\"v\":0,\"error\":7}\n"), path)
	if text, code := output(t, args...); code != cli.ExitFailed || text != "" {
		t.Errorf("an error of 7: exit code %d: %s", code, text)
	}
}

// Guarantees along frequencies: an affine network of three classes, whose files package ood reads.
func TestMapOfGuarantees(t *testing.T) {
	model, dir := oodModel(t, nil), t.TempDir()
	in, picture, folder := filepath.Join(dir, "in.ood"), filepath.Join(dir, "m.png"), filepath.Join(dir, "map")
	if _, err := outputOf(t, "ood", "bound", "--model", model, "--data", "synthetic/test[count=10]", "--out", in); err != nil {
		t.Fatal(err)
	}
	args := []string{"heatmap", "--model", model, "--data", "synthetic/train[count=3]", "--epsilon", "0.5", "--window", "1", "--ledgers", folder}
	for metric, more := range map[string][]string{"bound": {"--out", picture}, "gauc": {"--in", in}} {
		text, err := outputOf(t, "spectral", append(append(args, "--metric", metric, "--json"), more...)...)
		if err != nil || !strings.Contains(text, `"metric": "`+metric+`"`) || !strings.Contains(text, `"norm": 0.866`) {
			t.Errorf("%s: %v: %s", metric, err, text)
		}
	}
	if b, err := os.ReadFile(picture); err != nil || !strings.HasPrefix(string(b), "\x89PNG") {
		t.Errorf("%v: no picture", err)
	}
	file := filepath.Join(folder, "u+1v+1.ood")
	text, err := outputOf(t, "ood", "auc", "--in", in, "--foreign", file, "--resamples", "20")
	if err != nil || !strings.Contains(text, "x + t·d, |t| ≤ 0.866") {
		t.Errorf("%v: %s", err, text)
	}
	if _, err := outputOf(t, "ledger", "verify", file); err != nil {
		t.Error(err)
	}
	for want, more := range map[string][]string{
		"gauc needs the file":   {"--metric", "gauc"},
		"nothing else does":     {"--metric", "bound", "--in", in},
		"from 0 to 1":           {"--metric", "bound", "--ball", "1.5"},
		"network without noise": {"--metric", "bound", "--sigma", "0.25"},
		"more than 0":           {"--metric", "bound", "--epsilon", "-1"},
	} {
		if _, err := outputOf(t, "spectral", append(args, more...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", more, err)
		}
	}
}
