package engine

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/infer"
	"github.com/certspec/certspec/internal/spectral/jacobian"
)

// Gradients gives the gradients of the model's logits: of a model file on XLA, where a plugin is there, else of the
// model as layers (FeedForward), which is slower by orders of magnitude. how says which it is; end frees what it
// holds. Without ONNX Runtime the layers are not compared with it, and how says so. Errors: those of FeedForward.
func (m *Model) Gradients(ctx context.Context) (g classifier.Differentiable, how string, end func() error, err error) {
	if m.card != nil {
		if b, err := backend.Open(""); err == nil && b.Engine != backend.Go {
			file, err := modelfile.Read(m.path)
			if err != nil {
				return nil, "", nil, fmt.Errorf("engine: %w", err)
			}
			n, err := infer.Load(b, m.name(), file)
			if err != nil {
				return nil, "", nil, fmt.Errorf("engine: %w", err)
			}
			return n, b.Engine, n.Close, nil
		}
	}
	n, err := m.comparedIfPossible(ctx)
	if err != nil {
		return nil, "", nil, err
	}
	info, err := m.Info()
	if err != nil {
		return nil, "", nil, err
	}
	how = "layers in Go, float64"
	if n.Compared() == feedforward.NotCompared {
		how += ", not compared with ONNX Runtime"
	}
	return jacobian.Layers(n, info.Classes), how, func() error { return nil }, nil
}
