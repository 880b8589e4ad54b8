package engine_test

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
	"github.com/certspec/certspec/internal/openvino"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/internal/testkit/engines"
)

// writeONNX exports the model at path and returns the file.
func writeONNX(t *testing.T, path string) string {
	t.Helper()
	m, err := modelfile.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "net.onnx")
	if err := export.ONNX(m, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// A network of ours on ONNX Runtime keeps its name and, from its model file, the identity of its weights.
func TestONNXRuntime(t *testing.T) {
	engines.NeedONNXRuntime(t)
	path := write(t, nil)
	for name, m := range map[string]*engine.Model{
		"model file": open(t, path, engine.Backend(engine.ONNXRuntime)),
		"ONNX file":  open(t, writeONNX(t, path)),
	} {
		t.Run(name, func(t *testing.T) {
			info, err := m.Info()
			if err != nil {
				t.Fatal(err)
			}
			if info.Name != "net" || info.Identity.Engine != "onnxruntime" {
				t.Errorf("info %+v", info)
			}
			if m.Card() != nil && info.Identity.Weights != m.Card().Weights {
				t.Errorf("weights %s; the card has %s", info.Identity.Weights, m.Card().Weights)
			}
		})
	}
}

func TestONNXFile(t *testing.T) {
	engines.NeedONNXRuntime(t)
	file := writeONNX(t, write(t, nil))
	warnings, err := open(t, file).Warnings()
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "NCHW float32 images of 8×8×1, logits") {
		t.Errorf("%q, %v; expected what was found in the file", warnings, err)
	}
	if _, err := engine.Open(filepath.Join(t.TempDir(), "none.onnx")); err == nil || !strings.Contains(err.Error(), "none.onnx: no such file") {
		t.Errorf("missing: %v", err)
	}
	bgr := open(t, file, engine.ONNX(onnx.Options{Card: onnx.Card{ChannelOrder: "bgr"}}))
	if _, err := bgr.Info(); err == nil || !strings.Contains(err.Error(), "bgr") {
		t.Errorf("bgr for grey images: %v", err)
	}
	testkit.Write(t, []byte("damaged"), file)
	if err := classify(t, open(t, file)); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "not an ONNX file") {
		t.Errorf("damaged: %v", err)
	}
}

func TestNoONNXRuntime(t *testing.T) {
	t.Setenv("CERTSPEC_CACHE", t.TempDir())
	t.Setenv(onnx.Variable, "")
	m := open(t, write(t, nil), engine.Backend(engine.ONNXRuntime))
	if _, err := m.Info(); err == nil {
		t.Error("no error without a library")
	} else if _, linked := onnx.Library(""); errors.Is(linked, onnx.ErrNoLibrary) && !strings.Contains(err.Error(), "certspec backend install onnxruntime") {
		t.Errorf("%v; expected how to get the library", err)
	}
}

// OpenVINO runs where it is ordered, or not at all: nothing else takes its place, and it takes nothing's place.
func TestNoOpenVINO(t *testing.T) {
	t.Setenv("CERTSPEC_CACHE", t.TempDir())
	path := write(t, nil)
	for _, file := range []string{path, writeONNX(t, path)} {
		_, err := open(t, file, engine.Backend("openvino,precision=bf16")).Info()
		if !errors.Is(err, openvino.ErrNotInstalled) {
			t.Errorf("%s: %v; expected that it is not installed", file, err)
		}
		if _, err := engine.Open(file, engine.Backend("openvino"), engine.ONNX(onnx.Options{Provider: "cuda"})); err == nil {
			t.Errorf("%s: the provider cuda is forgotten", file)
		}
	}
	for variable, value := range map[string]string{"CERTSPEC_BACKEND": "openvino", onnx.Variable: ""} {
		t.Setenv(variable, value)
		if chosen, err := engine.Chosen(); chosen == engine.OpenVINO {
			t.Errorf("%s=%s chooses %s, %v", variable, value, chosen, err)
		}
	}
}

func TestNaNWeightsOnONNXRuntime(t *testing.T) {
	broken := write(t, func(m *modelfile.Model) { m.Weights[0].Values[0] = float32(math.NaN()) })
	m := open(t, broken, engine.Backend(engine.ONNXRuntime))
	if _, err := m.Info(); err == nil || !strings.Contains(err.Error(), broken) || !strings.Contains(err.Error(), "1 weights are NaN") {
		t.Errorf("%v; expected an error that names the file", err)
	}
}
