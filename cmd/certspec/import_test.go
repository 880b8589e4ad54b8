package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/modelfile"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

const committed = "../../notebooks/models/fmnist-cnn-s025"

// A network that leaves and comes back has the same weights, and a card that says where from.
func TestExportImport(t *testing.T) {
	dir := t.TempDir()
	want, err := modelfile.Read(committed)
	if err != nil {
		t.Fatal(err)
	}
	safetensors, npz := filepath.Join(dir, "w.safetensors"), filepath.Join(dir, "w.npz")
	if _, err := outputOf(t, "export", "--model", committed, "--out", safetensors, "--out", npz); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{safetensors, npz} {
		to := filepath.Join(dir, "back")
		out, err := outputOf(t, "import", "--weights", file, "--net", "small-cnn", "--size", "28x28x1", "--sigma", "0.25", "--out", to, "--json")
		if err != nil {
			t.Fatal(err)
		}
		got, err := modelfile.Read(to)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Weights, want.Weights) || got.Card.Weights != want.Card.Weights {
			t.Errorf("%s: other weights", file)
		}
		var card modelfile.Card
		if err := json.Unmarshal([]byte(out), &card); err != nil || !reflect.DeepEqual(card, got.Card) {
			t.Errorf("%s: printed %s, %v", file, out, err)
		}
		source := card.Source
		if source == nil || source.Origin != modelfile.Imported || source.File != filepath.Base(file) || !strings.HasPrefix(source.Digest, "sha256:") || card.Recipe.Noise() != 0.25 || len(card.Classes) != 10 {
			t.Errorf("%s: card %+v", file, card)
		}
	}
}

func TestImportMistakes(t *testing.T) {
	dir := t.TempDir()
	weights := filepath.Join(dir, "w.safetensors")
	if _, err := outputOf(t, "export", "--model", committed, "--out", weights); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	for want, args := range map[string][]string{
		"--net is missing":              {"--weights", weights, "--out", out},
		"--size 28x28: expected":        {"--weights", weights, "--out", out, "--net", "small-cnn", "--size", "28x28"},
		"--sigma -1":                    {"--weights", weights, "--out", out, "--net", "small-cnn", "--sigma", "-1"},
		"--net vgg: expected small-cnn": {"--weights", weights, "--out", out, "--net", "vgg"},
		"is of shape [16 1 3 3]":        {"--weights", weights, "--out", out, "--net", "small-cnn"},
		"are not those of a resnet8":    {"--weights", weights, "--out", out, "--net", "resnet8"},
		"no such file":                  {"--weights", weights + "x.npz", "--out", out, "--net", "small-cnn"},
	} {
		_, err := outputOf(t, "import", args...)
		var usage cli.UsageError
		if err == nil || !strings.Contains(err.Error(), want) || errors.As(err, &usage) != (strings.HasPrefix(want, "--") || strings.HasPrefix(want, "no network")) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
	if _, err := os.Stat(out + ".json"); err == nil {
		t.Error("a card was written all the same")
	}
	for want, args := range map[string][]string{
		"--model is missing": {"--out", "x.npz"},
		"no file to write":   {"--model", committed},
		"ends in .onnx":      {"--model", committed, "--out", "x.txt"},
	} {
		_, err := outputOf(t, "export", args...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
}

// Of two tables of weights in a checkpoint the command says which it takes.
func TestImportSaysWhichTable(t *testing.T) {
	text := func(s string) string { return "X" + string(rune(len(s))) + "\x00\x00\x00" + s }
	weight := "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\nFloatStorage\n" + text("0") + text("cpu") + "K\x01tQK\x00K\x01\x85K\x01\x85\x89}tR"
	table := "}(" + text("fc.bias") + weight + "u"
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	for name, data := range map[string]string{"a/data.pkl": "\x80\x02}(" + text("model_ema") + table + text("model") + table + "u.", "a/data/0": "\x00\x00\x00\x00"} {
		entry, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := entry.Write([]byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "w.pt")
	if err := errors.Join(w.Close(), os.WriteFile(path, file.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]bool{"": true, "model_ema": false} {
		cmd, _, stderr := program(t, "import", "--weights", path, "--table", table, "--net", "small-cnn", "--out", filepath.Join(t.TempDir(), "out"))
		if err := cmd.Run(); err == nil {
			t.Error("one tensor made a network")
		}
		if said := strings.Contains(stderr.String(), "took the weights under model; it has others under model_ema (choose by --table)"); said != want {
			t.Errorf("--table %q: %s", table, stderr)
		}
	}
}
