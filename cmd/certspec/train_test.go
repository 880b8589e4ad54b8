package main

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

func TestTrain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "net")
	args := []string{"--data", "synthetic[count=8]", "--test", "synthetic/test[count=6]", "--epochs", "1", "--batch", "4",
		"--sigma", "0.25", "--momentum", "0", "--seed", "3", "--engine", "go", "--out", path, "--json"}
	out, err := outputOf(t, "train", args...)
	if err != nil {
		t.Fatal(err)
	}
	var card modelfile.Card
	if err := json.Unmarshal([]byte(out), &card); err != nil {
		t.Fatal(err)
	}
	if card.Train.Images != 8 || card.Test.Images != 6 || card.Recipe.Noise() != 0.25 || *card.Recipe.Momentum != 0 ||
		*card.Recipe.WeightDecay != 1e-4 || card.Recipe.Method != "gaussian" || card.Recipe.Seed != 3 || !strings.HasPrefix(card.Backend, "go ") {
		t.Errorf("card %+v", card)
	}
	if model, err := modelfile.Read(path); err != nil || model.Card.Weights != card.Weights {
		t.Errorf("model file: %v", err)
	}
}

// The card names the method with all its options, and the augmentation.
func TestTrainMethod(t *testing.T) {
	out, err := outputOf(t, "train", "--data", "synthetic[count=4]", "--test", "synthetic/test[count=2]", "--epochs", "1", "--batch", "4",
		"--sigma", "0.25", "--method", "hcr", "--option", "lambda=20", "--option", "noises=1", "--views", "flip", "--engine", "go",
		"--out", filepath.Join(t.TempDir(), "net"), "--json")
	if err != nil {
		t.Fatal(err)
	}
	var card modelfile.Card
	if err := json.Unmarshal([]byte(out), &card); err != nil {
		t.Fatal(err)
	}
	r := card.Recipe
	if r.Method != "hcr" || r.Views != "flip" || r.Options["lambda"] != 20. || r.Options["eta"] != 10. || r.Options["noises"] != 1. || r.Options["reverse_lg"] != false {
		t.Errorf("recipe %+v", r)
	}
}

func TestTrainMethods(t *testing.T) {
	out, err := outputOf(t, "train", "--list", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var list []method.Entry
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != len(method.Names()) || list[0].Name != "gaussian" {
		t.Errorf("methods %v, %v", list, err)
	}
	if out, err := outputOf(t, "train", "--list"); err != nil || !strings.Contains(out, "lambda=40") {
		t.Errorf("methods %q, %v", out, err)
	}
}

func TestTrainUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"--data is missing":                         {"--out", "x"},
		"--out is missing":                          {"--data", "synthetic"},
		"--test is missing":                         {"--data", "folder:pictures", "--out", "x"},
		"--epochs 0: expected":                      {"--data", "synthetic", "--out", "x", "--epochs", "0"},
		"--batch 1: expected":                       {"--data", "synthetic", "--out", "x", "--batch", "1"},
		"--rate 0: expected":                        {"--data", "synthetic", "--out", "x", "--rate", "0"},
		"--sigma -1: expected":                      {"--data", "synthetic", "--out", "x", "--sigma", "-1"},
		"--method hrc: expected gaussian, ":         {"--data", "synthetic", "--out", "x", "--method", "hrc"},
		`unknown option "lamda"; expected "lambda"`: {"--data", "synthetic", "--out", "x", "--method", "hcr", "--option", "lamda=1"},
		`lambda is "much"`:                          {"--data", "synthetic", "--out", "x", "--method", "hcr", "--option", "lambda=much"},
		"0 noises":                                  {"--data", "synthetic", "--out", "x", "--method", "macer", "--option", "noises=0"},
		"--views is missing":                        {"--data", "synthetic", "--out", "x", "--method", "hcr"},
		"--views foriermix: ":                       {"--data", "synthetic", "--out", "x", "--method", "hcr", "--views", "foriermix"},
		"--sigma NaN: expected":                     {"--data", "synthetic", "--out", "x", "--sigma", "nan"},
	} {
		var usage cli.UsageError
		if _, err := outputOf(t, "train", args...); !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want a wrong use that says %q", err, want)
		}
	}
}
