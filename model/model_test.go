package model

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
)

// Opening is lazy: a wrong path is an error of what needs the network, and of each.
func TestOpenIsLazy(t *testing.T) {
	for want, m := range map[string]*Model{
		"none.onnx":               Open(filepath.Join(t.TempDir(), "none.onnx")),
		"no model at":             Open(filepath.Join(t.TempDir(), "none")),
		"model.Input is for":      Open("../notebooks/models/fmnist-cnn-s025", Input{Scale: 255}),
		"2 values of model.Input": Open("net.onnx", Input{}, Input{}),
	} {
		_, info := m.Info()
		_, layers := m.FeedForward(t.Context())
		_, how := m.Preprocessing()
		_, former := m.FormerIdentities()
		for _, err := range []error{info, layers, how, former, m.Classify(t.Context(), classifier.Batch{}, nil)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want it to say %q", err, want)
			}
		}
		if text := m.Table().String(); !strings.Contains(text, "error") {
			t.Errorf("%s", text)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpen(t *testing.T) {
	m := Open("../notebooks/models/fmnist-cnn-s025")
	info, err := m.Info()
	if err != nil || info.Classes != 10 || info.Shape.Len() != 784 {
		t.Fatalf("%+v, %v", info, err)
	}
	batch := classifier.Batch{N: 2, Grid: make([]int16, 2*784)}
	result := classifier.Result{Classes: make([]int32, 2)}
	if err := m.Classify(t.Context(), batch, &result); err != nil || result.Classes[0] != result.Classes[1] {
		t.Errorf("%v, %v", result.Classes, err)
	}
	if text := m.Table().String(); !strings.Contains(text, "small-cnn") {
		t.Errorf("%s", text)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// Training is as lazy: what a recipe lacks is an error of what needs the network.
func TestTrainIsLazy(t *testing.T) {
	data, err := dataset.Open("synthetic/train[count=4]")
	if err != nil {
		t.Fatal(err)
	}
	tested, err := dataset.Open("synthetic/test[count=4]")
	if err != nil {
		t.Fatal(err)
	}
	for want, m := range map[string]*Model{
		"Recipe.Test is missing": Train(filepath.Join(t.TempDir(), "m"), tested, Recipe{}),
		"nosuch":                 Train(filepath.Join(t.TempDir(), "m"), data, Recipe{Net: "nosuch"}),
		"batches of 128":         Train(filepath.Join(t.TempDir(), "m"), data, Recipe{}),
	} {
		if _, err := m.Info(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want it to say %q", err, want)
		}
	}
}
