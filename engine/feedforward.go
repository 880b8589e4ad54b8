package engine

import (
	"fmt"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/gomlxmodels/export"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/onnxmodel"
)

// FeedForward is the model as layers in float64, which can be bounded and differentiated (package feedforward): of a model
// file, the network that export writes; of an ONNX file, the graph, with images entering as the options and the card
// say. It needs neither XLA nor ONNX Runtime. Errors: files that cannot be read, operators without a layer.
func (m *Model) FeedForward() (*feedforward.Network, error) {
	if m.card == nil {
		n, err := onnxmodel.FeedForward(m.path, m.onnx)
		if err != nil {
			return nil, fmt.Errorf("engine: %w", err)
		}
		return n, nil
	}
	file, err := modelfile.Read(m.path)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	data, err := export.Encode(file)
	if err != nil {
		return nil, fmt.Errorf("engine: %s: %w", m.path, err)
	}
	n, err := onnxmodel.FeedForwardBytes(m.name(), data, onnxmodel.Options{})
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return n, nil
}
