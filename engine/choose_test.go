package engine_test

import (
	"math"
	"strings"
	"testing"

	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/testkit"
)

// undecided clears the environment's choices, and skips where ONNX Runtime is missing.
func undecided(t *testing.T) {
	t.Helper()
	if _, err := onnx.Library(""); err != nil {
		t.Skipf("needs ONNX Runtime: %v", err)
	}
	t.Setenv(backend.Variable, "")
	t.Setenv(backend.GoMLXVariable, "")
}

func TestChosen(t *testing.T) {
	undecided(t)
	if backend.HasGPU() {
		t.Skip("on a GPU the choice depends on its plugin")
	}
	for _, c := range []struct{ certspec, gomlx, want string }{
		{"", "", engine.ONNXRuntime},
		{"auto", "", engine.ONNXRuntime},
		{"go", "", "go"},
		{"", "go", "go"},
		{"onnxruntime", "go", engine.ONNXRuntime},
	} {
		t.Setenv(backend.Variable, c.certspec)
		t.Setenv(backend.GoMLXVariable, c.gomlx)
		if got, err := engine.Chosen(); err != nil || got != c.want {
			t.Errorf("%s=%q, %s=%q: %q, %v; want %q", backend.Variable, c.certspec, backend.GoMLXVariable, c.gomlx, got, err, c.want)
		}
	}
}

// A network runs on the chosen engine, and on that alone.
func TestChosenRuns(t *testing.T) {
	undecided(t)
	path := write(t, nil)
	want, err := engine.Chosen()
	if err != nil {
		t.Fatal(err)
	}
	info, err := open(t, path).Info()
	if err != nil || info.Identity.Engine != want {
		t.Errorf("runs on %q, %v; want %q", info.Identity.Engine, err, want)
	}
	t.Setenv(backend.Variable, "go")
	info, err = open(t, path).Info()
	if err != nil || info.Identity.Engine != "go" {
		t.Errorf("runs on %q, %v; the environment says go", info.Identity.Engine, err)
	}
}

// Weights that ONNX Runtime's export refuses run on the next engine, and a warning says so.
func TestPassedOver(t *testing.T) {
	undecided(t)
	path := write(t, func(m *modelfile.Model) { m.Weights[0].Values[0] = float32(math.NaN()) })
	m := open(t, path)
	info, err := m.Info()
	if err != nil || info.Identity.Engine == engine.ONNXRuntime {
		t.Fatalf("runs on %q, %v", info.Identity.Engine, err)
	}
	warnings, err := m.Warnings()
	if err != nil || !strings.Contains(strings.Join(warnings, "\n"), "ONNX Runtime is not used") {
		t.Errorf("warnings %q, %v", warnings, err)
	}
	if _, err := open(t, path, engine.Backend(engine.ONNXRuntime)).Info(); err == nil {
		t.Error("ONNX Runtime was ordered, could not be had, and nothing was said")
	}
}

// Where the named library is damaged the next engine runs, and a warning says so.
func TestDamagedLibrary(t *testing.T) {
	undecided(t)
	junk := testkit.Write(t, []byte("junk"), t.TempDir(), "libonnxruntime.so")
	t.Setenv(onnx.Variable, junk)
	m := open(t, write(t, nil))
	info, err := m.Info()
	if err != nil || info.Identity.Engine == engine.ONNXRuntime {
		t.Errorf("runs on %q, %v", info.Identity.Engine, err)
	}
	warnings, err := m.Warnings()
	if err != nil || !strings.Contains(strings.Join(warnings, "\n"), junk) {
		t.Errorf("warnings %q, %v; want one that names %s", warnings, err, junk)
	}
}
