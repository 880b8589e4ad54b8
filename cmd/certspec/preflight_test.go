package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/pixel"
)

// An untrained network on the synthetic set guesses, which fails; the report is printed all the same.
func TestPreflight(t *testing.T) {
	t.Setenv("CERTSPEC_DATA", t.TempDir())
	untrained := guessing(t)
	out, err := outputOf(t, "preflight", "--model", untrained, "--data", "synthetic/test[max_index=200]", "--sigma", "0.25",
		"--images", "40", "--block", "20", "--n", "1000", "--budget", "8h", "--engine", "go", "--json")
	if err == nil || !strings.Contains(err.Error(), "checks failed") {
		t.Errorf("error %v; want failed checks", err)
	}
	var r preflight.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if r.Images != 40 || r.Samples != 20 || r.Memory < 2*20*32*32*3 || r.Memory%(2*20*32*32*3) != 0 || r.CleanAccuracy == nil || *r.CleanAccuracy > 0.4 || r.Count(preflight.Failure) == 0 || len(r.Plans) != 0 {
		t.Errorf("%+v", r)
	}
	out, _ = outputOf(t, "preflight", "--model", untrained, "--data", "synthetic/test[max_index=200]", "--sigma", "0.25",
		"--images", "10", "--block", "10", "--engine", "go")
	for _, words := range []string{"0 disc, 1 ring", "failure  ", "→ ", "preprocessing  none: the network gets values 0 to 1", "Without noise already"} {
		if !strings.Contains(out, words) {
			t.Errorf("%s\ndoes not say %q", out, words)
		}
	}
	if _, err := outputOf(t, "preflight", "--model", untrained, "--data", "synthetic/test", "--sigma", "0.25", "--images", "0"); err == nil {
		t.Error("--images 0 passes")
	}
}

// guessing writes a model file of a narrow network as it is before training.
func guessing(t *testing.T) string {
	t.Helper()
	a := nets.Architecture{Name: "small-cnn", Shape: pixel.Shape{Height: 32, Width: 32, Channels: 3}, Classes: 10, Width: 0.25}
	m := &modelfile.Model{Card: modelfile.Card{Architecture: a, Classes: strings.Fields("disc ring square frame diamond triangle plus cross rows columns")}}
	for _, tensor := range a.Tensors() {
		m.Weights = append(m.Weights, modelfile.Tensor{Name: tensor.Name, Shape: tensor.Shape, Values: tensor.Initialize(1)})
	}
	path := filepath.Join(t.TempDir(), "untrained")
	if err := modelfile.Write(path, m); err != nil {
		t.Fatal(err)
	}
	return path
}

// A network that is trained is proposed as integers, with the interval of what that costs.
func TestPreflightIntegers(t *testing.T) {
	if set, err := dataset.Open("fashionmnist/test"); err != nil {
		t.Fatal(err)
	} else if _, err := set.Subset(dataset.Count(10)).Load(t.Context()); err != nil {
		t.Skipf("needs Fashion-MNIST: %v", err)
	}
	args := []string{"--model", "../../notebooks/models/fmnist-cnn-s025", "--data", "fashionmnist/test", "--sigma", "0.25",
		"--images", "60", "--block", "50", "--n", "1000", "--integers"}
	out, err := outputOf(t, "preflight", append(args, "--json")...)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Integers struct {
			Images, Samples int
			First           bool
			Radius          struct {
				A, B     float64
				Interval struct{ Low, High float64 }
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if i := r.Integers; i.Images != 60 || i.Samples != 250 || i.Radius.A < .2 || i.Radius.Interval.Low < -.01 || i.Radius.Interval.High > .01 || i.First != (i.Radius.Interval.Low > -.003) {
		t.Errorf("%+v", i)
	}
	if _, err := outputOf(t, "preflight", "--exec", "true", "--data", "fashionmnist/test", "--sigma", "0.25", "--integers"); err == nil {
		t.Error("a program has layers")
	}
}
