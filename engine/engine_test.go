package engine_test

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
)

// write puts an untrained model into a folder and returns its path.
func write(t *testing.T, change func(*modelfile.Model)) string {
	t.Helper()
	m := &modelfile.Model{Card: modelfile.Card{
		Architecture: nets.Architecture{Name: "small-cnn", Shape: pixel.Shape{Height: 8, Width: 8, Channels: 1}, Classes: 3},
		Classes:      []string{"a", "b", "c"},
	}}
	for _, described := range m.Card.Architecture.Tensors() {
		m.Weights = append(m.Weights, modelfile.Tensor{
			Name: described.Name, Shape: described.Shape, Values: described.Initialize(1),
		})
	}
	if change != nil {
		change(m)
	}
	path := filepath.Join(t.TempDir(), "net")
	if err := modelfile.Write(path, m); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string, options ...engine.Option) *engine.Model {
	t.Helper()
	m, err := engine.Open(path, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func TestPaths(t *testing.T) {
	path := write(t, nil)
	for _, name := range []string{path, path + ".json", path + ".safetensors"} {
		m := open(t, name, engine.Backend("go"))
		info, err := m.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Name != "net" || info.Classes != 3 || info.Shape != m.Card().Architecture.Shape {
			t.Errorf("%s: %+v", name, info)
		}
		if info.Identity.Weights != m.Card().Weights || !strings.HasPrefix(info.Identity.Weights, "sha256:") {
			t.Errorf("%s: weights %q; the card has %q", name, info.Identity.Weights, m.Card().Weights)
		}
		if info.Identity.Engine != "go" {
			t.Errorf("%s: engine %q; go was ordered", name, info.Identity.Engine)
		}
	}
}

// Open reads the card alone: weights that are damaged show at the first batch.
func TestOpenIsLazy(t *testing.T) {
	path := write(t, nil)
	testkit.Write(t, []byte("damaged"), path+".safetensors")
	m := open(t, path, engine.Backend("go"))
	if _, err := m.Info(); err != nil {
		t.Fatal(err)
	}
	if err := classify(t, m); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("damaged weights: %v; expected an error that names the file", err)
	}
}

func classify(t *testing.T, m *engine.Model) error {
	result := classifier.Result{Classes: make([]int32, 1)}
	return m.Classify(t.Context(), classifier.Batch{N: 1, Grid: make([]int16, 64)}, &result)
}

func TestMissingModels(t *testing.T) {
	path := write(t, nil)
	if err := os.Remove(path + ".safetensors"); err != nil {
		t.Fatal(err)
	}
	for _, missing := range []string{path, filepath.Join(t.TempDir(), "nothing"), ""} {
		_, err := engine.Open(missing)
		if err == nil {
			t.Fatalf("%q opens", missing)
		}
		if missing != "" && (!errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing+".safetensors") || !strings.Contains(err.Error(), "certspec train")) {
			t.Errorf("%q: %v; expected what was looked for and how to make it", missing, err)
		}
	}
}

func TestReplacedModel(t *testing.T) {
	path := write(t, nil)
	m := open(t, path, engine.Backend("go"))
	other := write(t, func(m *modelfile.Model) { m.Weights[0].Values[0]++ })
	for _, ending := range []string{".json", ".safetensors"} {
		if err := os.Rename(other+ending, path+ending); err != nil {
			t.Fatal(err)
		}
	}
	if err := classify(t, m); err == nil || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("replaced model: %v; expected an error, as its identity was given out", err)
	}
}

func TestWarnings(t *testing.T) {
	warnings, err := open(t, write(t, nil), engine.Backend("go")).Warnings()
	if err != nil || len(warnings) != 0 {
		t.Errorf("a good model on the engine that was ordered: %q, %v; expected no warnings", warnings, err)
	}
	broken := write(t, func(m *modelfile.Model) {
		m.Weights[0].Values[0] = float32(math.NaN())
		m.Weights[0].Values[1] = float32(math.Inf(1))
	})
	warnings, err = open(t, broken, engine.Backend("go")).Warnings()
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "2 weights") {
		t.Errorf("two weights that are not finite: %q, %v", warnings, err)
	}
}

func TestClosedModelOpensAgain(t *testing.T) {
	m := open(t, write(t, nil), engine.Backend("go"))
	for range 2 {
		if err := classify(t, m); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnknownBackend(t *testing.T) {
	m := open(t, write(t, nil), engine.Backend("tpu"))
	if _, err := m.Info(); err == nil || !strings.Contains(err.Error(), `"tpu"`) || !strings.Contains(err.Error(), "or go, onnxruntime or openvino") {
		t.Errorf("backend tpu: %v", err)
	}
}
