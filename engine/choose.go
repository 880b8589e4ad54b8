package engine

import (
	"os"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
)

// Chosen names what runs a network of ours where nothing is ordered: ONNXRuntime, or else
// "xla" or "go", by the first of these that applies:
//
//	the environment variables CERTSPEC_BACKEND and GOMLX_BACKEND
//	XLA on a GPU
//	ONNX Runtime, on the CPU, where its library is
//	XLA on the CPU
//	GoMLX's Go backend
func Chosen() (string, error) {
	if takesONNXRuntime("", "") {
		return ONNXRuntime, nil
	}
	b, err := backend.Open("")
	if err != nil {
		return "", err
	}
	return b.Engine, nil
}

// takesONNXRuntime tells whether ONNX Runtime is the engine of a choice.
func takesONNXRuntime(choice, library string) bool {
	if !isOpen(choice) {
		return choice == ONNXRuntime
	}
	for _, variable := range []string{backend.Variable, backend.GoMLXVariable} {
		if value := os.Getenv(variable); !isOpen(value) {
			return value == ONNXRuntime
		}
	}
	if backend.HasGPU() {
		if b, err := backend.Open(""); err == nil && b.Device == "cuda" {
			return false
		}
	}
	_, err := onnx.Library(library)
	return err == nil
}

// isOpen reports whether a choice leaves the engine open.
func isOpen(choice string) bool { return choice == "" || choice == "auto" }
