package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/progress"
)

// FeedForward is the model as layers in float64, which can be bounded and differentiated (package feedforward): of
// a model file, the network that export writes; of an ONNX file, the graph, with images entering as the options and
// the card say. The layers are compared with the same network on ONNX Runtime, with its optimiser and without, at
// images of random bytes, corners and the middle of their range: each value must lie in rigorous bounds. Errors:
// files that cannot be read, operators without a layer, no library of ONNX Runtime (onnx.ErrNoLibrary), the
// first node that differs.
func (m *Model) FeedForward(ctx context.Context) (*feedforward.Network, error) {
	l, err := m.layers()
	if err != nil {
		return nil, err
	}
	if err := m.compare(ctx, l); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return l.Network.AsCompared(ONNXRuntime), nil
}

// Encoded is FeedForward as what its layers are read from, for feedforward.FromONNX in another process.
func (m *Model) Encoded(ctx context.Context) (file []byte, images *feedforward.Images, n *feedforward.Network,
	err error) {
	l, err := m.layers()
	if err != nil {
		return nil, nil, nil, err
	}
	if err := m.compare(ctx, l); err != nil {
		return nil, nil, nil, fmt.Errorf("engine: %w", err)
	}
	if file, images, err = l.Encoded(); err != nil {
		return nil, nil, nil, fmt.Errorf("engine: %w", err)
	}
	return file, images, l.Network.AsCompared(ONNXRuntime), nil
}

// compare compares layers with ONNX Runtime at images.
func (m *Model) compare(ctx context.Context, l *onnx.Layers) error {
	c := comparison{layers: l, report: m.report}
	defer c.close()
	return c.images(ctx)
}

// Uncompared is FeedForward without the comparison, which needs no ONNX Runtime: what is proven then holds of the
// layers as they were read, and of the file only if they were read as its author meant.
func (m *Model) Uncompared() (*feedforward.Network, error) {
	l, err := m.layers()
	if err != nil {
		return nil, err
	}
	return l.Network, nil
}

// comparedIfPossible is FeedForward, or Uncompared where there is no library of ONNX Runtime: for what proves nothing.
func (m *Model) comparedIfPossible(ctx context.Context) (*feedforward.Network, error) {
	if _, err := onnx.Library(m.onnx.Library); err != nil {
		return m.Uncompared()
	}
	return m.FeedForward(ctx)
}

func (m *Model) layers() (*onnx.Layers, error) {
	if err := m.notIntegers(); err != nil {
		return nil, err
	}
	source := onnx.Source{Path: m.path, Options: m.onnx}
	if m.card != nil {
		data, err := m.encoded()
		if err != nil {
			return nil, err
		}
		source = onnx.Source{Path: m.name(), Contents: data, Options: onnx.Options{Library: m.onnx.Library}}
	}
	l, err := onnx.ReadLayers(source)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return l, nil
}

// Graph is an ONNX file as layers that take what its graph takes: one input without its batch, no images.
type Graph struct {
	Progress progress.Reporter // of Compare; nil: nobody listens

	comparison comparison
	network    *feedforward.Network
}

// ReadGraph reads an ONNX file with one input and one output. Close frees what Compare opens. Errors: files that
// cannot be read, operators without a layer.
func ReadGraph(path string) (*Graph, error) {
	l, err := onnx.ReadGraph(path)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return &Graph{comparison: comparison{layers: l}, network: l.Network}, nil
}

// Network is the layers. Their outputs are before a last Softmax or LogSoftmax, see feedforward.Network.Head;
// Compared says whether Compare was called.
func (g *Graph) Network() *feedforward.Network { return g.network }

// Compare compares the layers with ONNX Runtime as Model.FeedForward does, at corners, middles and random points of
// boxes of inputs, or of the box from 0 to 1 where none is given. Errors: those of FeedForward, a box of another
// size.
func (g *Graph) Compare(ctx context.Context, boxes ...feedforward.Box) error {
	g.comparison.report = g.Progress
	if err := g.comparison.boxes(ctx, boxes); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	g.network = g.network.AsCompared(ONNXRuntime)
	return nil
}

// Run gives the outputs of the file at an input, as ONNX Runtime computes them with its optimiser and without,
// after Compare.
func (g *Graph) Run(x []float64) (outputs [2][]float64, err error) {
	_, name := g.comparison.layers.Output()
	for i, r := range g.comparison.runtimes {
		if r == nil {
			return outputs, errors.New("engine: the graph was not compared with ONNX Runtime, which therefore is " +
				"not open")
		}
		values, err := r.Run(x)
		if err != nil {
			return outputs, fmt.Errorf("engine: %w", err)
		}
		outputs[i] = values[name]
	}
	return outputs, nil
}

// Close frees what the graph holds of ONNX Runtime.
func (g *Graph) Close() { g.comparison.close() }
