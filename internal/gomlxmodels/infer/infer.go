// Package infer runs a trained GoMLX network as a classifier.Classifier.
package infer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/layergraph"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
	"github.com/certspec/certspec/pixel"
)

// forward builds a network's graph for evaluation: from images [N, height, width, channels],
// float32 in units of the full range, and its weights by name, to logits [N, classes].
type forward func(images *graph.Node, weight func(name string) *graph.Node) *graph.Node

// Network is a network on a backend. It is safe for concurrent use.
//
// Every new batch size and every new form (grid or real) is compiled at its first use, in
// about a second for a ResNet-20, and kept: evaluate in batches of one size. Memory is
// the compiled graphs' plus the batches' in flight.
type Network struct {
	info       classifier.Info
	engine     compute.Backend
	weights    []any // tensors on the device
	grid, real *graph.Exec
	product    *graph.Exec // vᵀ·∂logits/∂images
}

// Load prepares the network of a model file.
func Load(b *backend.Backend, name string, m *modelfile.Model) (*Network, error) {
	return newNetwork(b, Describe(name, &m.Card), m.Weights, func(images *graph.Node,
		weight func(string) *graph.Node) *graph.Node {
		return netgraph.Network{Architecture: m.Card.Architecture}.Forward(images, weight)
	})
}

// LoadLayers prepares the graph of a network of layers, on inputs of the shape in info.
func LoadLayers(b *backend.Backend, info classifier.Info, g *layergraph.Network) (*Network, error) {
	return newNetwork(b, info, g.Weights, g.Forward)
}

// Describe reads the Info of a model from its card; the engine's part of the identity is left open.
func Describe(name string, card *modelfile.Card) classifier.Info {
	return classifier.Info{
		Name:     name,
		Shape:    card.Architecture.Shape,
		Classes:  card.Architecture.Classes,
		Identity: classifier.Identity{Weights: Weights(card)},
		Logits:   true,
	}
}

// Weights names what computes in a model file: the digest of its weights, which say the rest of the
// architecture, and the input layer where it has one.
func Weights(card *modelfile.Card) string {
	if input := card.Architecture.Input; input != "" && input != "none" {
		return card.Weights + ", input " + string(input)
	}
	return card.Weights
}

// newNetwork prepares a network for evaluation and moves its weights to the device. Of info, the
// engine's part of the identity is filled in here.
func newNetwork(b *backend.Backend, info classifier.Info, weights []modelfile.Tensor, forward forward) (*Network,
	error) {
	Identify(&info.Identity, b)
	info.Logits = true
	n := &Network{info: info, engine: b.Backend}
	place := map[string]int{}
	for i, w := range weights {
		t, err := onDevice(b.Backend, w.Values, w.Shape...)
		if err != nil {
			return nil, fmt.Errorf("infer: %s: tensor %s: %w", info.Name, w.Name, err)
		}
		n.weights = append(n.weights, t)
		place[w.Name] = 1 + i
	}
	build := func(inputs []*graph.Node, images *graph.Node) *graph.Node {
		return forward(images, func(name string) *graph.Node {
			if place[name] == 0 {
				return nil
			}
			return inputs[place[name]]
		})
	}
	var err error
	// A grid image travels as int16, half the bytes, and becomes real in the graph.
	n.grid, err = graph.NewExec(b.Backend, func(inputs []*graph.Node) *graph.Node {
		return build(inputs, graph.DivScalar(graph.ConvertDType(inputs[0], dtypes.Float32), pixel.Steps))
	})
	if err != nil {
		return nil, fmt.Errorf("infer: %s: %w", info.Name, err)
	}
	n.real, err = graph.NewExec(b.Backend, func(inputs []*graph.Node) *graph.Node {
		return build(inputs, inputs[0])
	})
	if err != nil {
		return nil, fmt.Errorf("infer: %s: %w", info.Name, err)
	}
	n.product, err = graph.NewExec(b.Backend, func(inputs []*graph.Node) *graph.Node {
		images, v := inputs[0], inputs[1]
		logits := build(inputs[1:], images)
		return graph.Gradient(graph.ReduceAllSum(graph.Mul(logits, v)), images)[0]
	})
	if err != nil {
		return nil, fmt.Errorf("infer: %s: %w", info.Name, err)
	}
	for _, exec := range []*graph.Exec{n.grid, n.real, n.product} {
		exec.SetMaxCache(-1)
	}
	return n, nil
}

// Identify fills in the engine's part of an identity.
func Identify(identity *classifier.Identity, b *backend.Backend) {
	identity.Engine = b.Engine
	identity.EngineVersion = b.Version
	identity.Threads = b.Threads
	identity.InstructionSet = b.InstructionSet
}

// Info describes the network and its identity.
func (n *Network) Info() (classifier.Info, error) { return n.info, nil }

// Classify evaluates the batch in one call of the compiled graph of its size and form.
// The same batch gives the same answers, bit for bit, on one identity; at another place or
// in another batch size an image's logits may differ by rounding.
func (n *Network) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	if err := classifier.Check(n.info, batch, result); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	logits, err := n.Outputs(batch)
	if err != nil {
		return err
	}
	classifier.Decide(n.info, batch, logits, result)
	return nil
}

// Outputs gives a row of outputs for each image of a batch, which was checked.
func (n *Network) Outputs(batch classifier.Batch) (rows []float32, err error) {
	defer func() {
		if r := recover(); r != nil { // GoMLX panics where a tensor cannot be made or moved
			err = fmt.Errorf("%v\n%s", r, debug.Stack())
		}
		if err != nil {
			err = fmt.Errorf("infer: %s, batch of %d: %w", n.info.Name, batch.N, err)
		}
	}()
	s, exec := n.info.Shape, n.grid
	var images *tensors.Tensor
	if batch.Grid != nil {
		images, err = onDevice(n.engine, batch.Grid, batch.N, s.Height, s.Width, s.Channels)
	} else {
		exec = n.real
		images, err = onDevice(n.engine, batch.Real, batch.N, s.Height, s.Width, s.Channels)
	}
	if err != nil {
		return nil, err
	}
	// The garbage collector does not see device memory: free it here, not some time later.
	defer images.FinalizeAll()
	output, err := exec.Call1(append([]any{images}, n.weights...)...)
	if err != nil {
		return nil, err
	}
	defer output.FinalizeAll()
	if dims := output.Shape().Dimensions; len(dims) != 2 || dims[0] != batch.N || dims[1] != n.info.Classes {
		return nil, fmt.Errorf("the network's output has shape %v; expected %d×%d", dims, batch.N, n.info.Classes)
	}
	return tensors.CopyFlatData[float32](output)
}

// VectorJacobian implements classifier.Differentiable.
func (n *Network) VectorJacobian(ctx context.Context, images, v, gradient []float32) (err error) {
	defer func() { // GoMLX panics where a tensor cannot be made or moved
		if r := recover(); r != nil {
			err = fmt.Errorf("infer: %s, gradient: %v\n%s", n.info.Name, r, debug.Stack())
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	s, count := n.info.Shape, len(v)/n.info.Classes
	if count == 0 || len(v) != count*n.info.Classes || len(images) != count*s.Len() || len(gradient) != len(images) {
		return fmt.Errorf("infer: %s: %d values of images, %d of directions and %d of gradients; expected N×%v, "+
			"N×%d and N×%v", n.info.Name, len(images), len(v), len(gradient), s, n.info.Classes, s)
	}
	x, err := onDevice(n.engine, images, count, s.Height, s.Width, s.Channels)
	if err != nil {
		return fmt.Errorf("infer: %s: %w", n.info.Name, err)
	}
	defer x.FinalizeAll()
	directions, err := onDevice(n.engine, v, count, n.info.Classes)
	if err != nil {
		return fmt.Errorf("infer: %s: %w", n.info.Name, err)
	}
	defer directions.FinalizeAll()
	output, err := n.product.Call1(append([]any{x, directions}, n.weights...)...)
	if err != nil {
		return fmt.Errorf("infer: %s, gradient of a batch of %d: %w", n.info.Name, count, err)
	}
	defer output.FinalizeAll()
	values, err := tensors.CopyFlatData[float32](output)
	if err == nil && len(values) != len(gradient) {
		err = fmt.Errorf("%d values, want %d", len(values), len(gradient))
	}
	if err != nil {
		return fmt.Errorf("infer: %s, gradient: %w", n.info.Name, err)
	}
	copy(gradient, values)
	return nil
}

// onDevice copies values to the device, once.
func onDevice[T int16 | float32](engine compute.Backend, values []T, dims ...int) (*tensors.Tensor, error) {
	shape := shapes.Make(dtypes.FromGenericsType[T](), dims...)
	return tensors.FromRaw(engine, 0, shape, dtypes.UnsafeByteSliceFromAny(values))
}

// Close frees the weights and the compiled graphs. No call may be running or follow.
func (n *Network) Close() error {
	n.grid.Finalize()
	n.real.Finalize()
	n.product.Finalize()
	var errs []error
	for _, w := range n.weights {
		errs = append(errs, w.(*tensors.Tensor).FinalizeAll())
	}
	return errors.Join(errs...)
}
