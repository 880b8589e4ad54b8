package backend

import (
	"errors"
	"slices"

	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/openvino"
)

// listedEngine is an engine that was found, and what it is taken for where none is ordered.
type listedEngine struct {
	backend.Listed
	Certifies bool `json:"certifies"` // taken by certify and predict
}

// listEngines finds the engines of this machine, best first.
func listEngines() ([]listedEngine, error) {
	backends, err := backend.List()
	if err != nil {
		return nil, err
	}
	chosen, err := engine.Chosen()
	if err != nil {
		return nil, err
	}
	list := make([]listedEngine, len(backends))
	for i, l := range backends {
		list[i] = listedEngine{Listed: l, Certifies: l.Chosen && l.Engine == chosen}
	}
	// They come before the engines of the CPU.
	at := max(slices.IndexFunc(list, func(l listedEngine) bool { return l.Device == "cpu" }), 0)
	for _, name := range []string{engine.OpenVINO, engine.ONNXRuntime} {
		library, err := openvino.Library()
		if name == engine.ONNXRuntime {
			library, err = onnx.Library("")
		}
		if errors.Is(err, onnx.ErrNoLibrary) || errors.Is(err, openvino.ErrNotInstalled) {
			continue
		}
		found := listedEngine{
			Listed:    backend.Listed{Engine: name, Device: "cpu", Path: library, Usable: err == nil},
			Certifies: chosen == name,
		}
		if err != nil {
			found.Problem = err.Error()
		}
		list = slices.Insert(list, at, found)
	}
	return list, nil
}
