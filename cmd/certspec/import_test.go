package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/modelfile"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/testkit"
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
		if source == nil || source.Origin != "imported" || source.File != filepath.Base(file) || !strings.HasPrefix(source.Digest, "sha256:") || card.Recipe.Noise() != 0.25 || len(card.Classes) != 10 {
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

// A checkpoint of PyTorch is refused with the line of Python that writes a safetensors file of it.
func TestImportOfCheckpoints(t *testing.T) {
	for name, data := range map[string]string{"net.pt": "PK\x03\x04", "my net.pth": "\x80\x02", "net.pth.tar": "PK\x03\x04"} {
		path := testkit.Write(t, []byte(data), t.TempDir(), name)
		tensors := strings.TrimSuffix(strings.TrimSuffix(path, ".tar"), filepath.Ext(strings.TrimSuffix(path, ".tar"))) + ".safetensors"
		quoted := strings.NewReplacer(path, quote(path), tensors, quote(tensors))
		_, err := outputOf(t, "import", "--weights", path, "--net", "resnet20", "--out", filepath.Join(t.TempDir(), "out"))
		var usage cli.UsageError
		if !errors.As(err, &usage) {
			t.Fatalf("%s: %v; expected a wrong use", name, err)
		}
		for _, want := range []string{"a checkpoint of PyTorch", "pip install torch safetensors", "save_file({", quoted.Replace("sys.argv[2])' " + path + " " + tensors),
			quoted.Replace("certspec import --weights " + tensors + " --net resnet20")} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v\nexpected %q", name, err, want)
			}
		}
	}
}

// quote puts a path with a space into quotation marks.
func quote(path string) string {
	if strings.Contains(path, " ") {
		return "'" + path + "'"
	}
	return path
}
