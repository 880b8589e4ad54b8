// Package engines opens engines for tests, and skips a test whose engine is not on the machine.
package engines

import (
	"testing"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/openvino"
)

// Backend opens a backend of GoMLX. The test is skipped without the plugin of XLA.
func Backend(t testing.TB, engine string) *backend.Backend {
	t.Helper()
	b, err := backend.Open(engine)
	if err != nil && engine != "go" {
		t.Skipf("needs the backend %s: %v", engine, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// OnBackends runs a test on the Go backend and on XLA.
func OnBackends(t *testing.T, test func(t *testing.T, b *backend.Backend)) {
	for _, engine := range []string{"go", "xla"} {
		t.Run(engine, func(t *testing.T) { test(t, Backend(t, engine)) })
	}
}

// NeedONNXRuntime skips a test where the library is missing.
func NeedONNXRuntime(t testing.TB) {
	t.Helper()
	if _, err := onnx.Library(""); err != nil {
		t.Skip(err)
	}
}

// NeedOpenVINO skips a test where the library is missing.
func NeedOpenVINO(t testing.TB) {
	t.Helper()
	if _, err := openvino.Library(); err != nil {
		t.Skip(err)
	}
}
