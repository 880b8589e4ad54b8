// Package feedforward is a neural network as a list of layers in float64. It computes values, gradients, and sound
// bounds on the outputs when the input moves in a box (interval bound propagation and CROWN).
//
//	net, err := feedforward.Read("net.onnx", &feedforward.Images{Shape: shape})
//	ball, err := feedforward.Ball(image, 2./255, feedforward.Rigorous)
//	bounds, err := net.Confidence(ctx, image, ball, feedforward.CROWN, feedforward.Rigorous)
//
// In the order of use:
//
//   - [Read] reads a [Network] from an ONNX file; a [Builder] makes one layer by layer.
//   - [Network.Forward] computes outputs, [Network.VectorJacobians] gradients.
//   - [Ball] is the [Box] of all inputs within ε; a [Segment] is another [Set] of inputs.
//   - [Network.Intervals] bounds the outputs on a set, [Network.Differences] the differences of two outputs, and
//     [Network.Confidence] the confidence of classes, each by a [Method] and in an [Arithmetic].
//
// Tensors have no batch dimension; an image is
// channels × height × width, flattened row by row. Bounds come in two arithmetics. Rigorous bounds, the default, hold
// for the network in exact arithmetic and for its evaluation in float32 with sums in any order. Plain bounds leave
// rounding out, as other libraries do.
//
// Sources: Gowal et al. 2018 (interval bounds), Zhang et al. 2018 (CROWN), Bitterwolf, Meinke and Hein 2020 (bounds on
// the confidence); Higham 2002, chapter 3 (rounding errors of sums).
package feedforward

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
)

// Shape is the shape of a tensor without its batch dimension.
type Shape []int

// Size is the number of values.
func (s Shape) Size() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

func (s Shape) String() string { return fmt.Sprint([]int(s)) }

// Network is a directed graph of layers; it does not change after it is built, and may be used by several goroutines.
type Network struct {
	nodes   []node // topological order; the first is the input
	output  int
	results map[string]int // nodes by the names of an ONNX file
	double  bool           // some of them are in float64
	head    string         // operator of the file that was taken off behind the output

	compared string // with which runtime

	workspaces workspaces

	once     sync.Once // for what walks back need
	added    []int
	lossless bool
	dense    int // the first dense layer
}

// node is a layer with the nodes that it reads.
type node struct {
	name       string // as in the file, for messages
	op         string
	in         []int
	shape      Shape
	parameters []list  // for Digest
	layer      layer   // nil for the input
	folding    folding // of an affine layer
	terms      int     // of the sums that its values are, scaled and moved; 0: of none
}

// layer is the function that a node computes. Slices in and out hold one tensor each; none of them may be kept
// or changed, but for those that a method returns or is told to fill.
type layer interface {
	// forward writes the layer's values at the inputs.
	forward(in [][]float64, out []float64)
	// backward adds to each gradient by an input the product of g, the gradient by the output, with
	// the derivative there.
	backward(in [][]float64, out, g []float64, gin [][]float64)
	// interval writes bounds on the outputs over boxes of inputs. Where ctx ends, it may leave them unfinished; so may
	// walk.
	interval(ctx context.Context, in []Box, out Box, a Arithmetic)
	// walk takes rows of linear functions of the output back: it adds to the rows on the inputs, and to the
	// constants, so that they are nowhere smaller over the boxes.
	walk(s step, at int)
}

// InputShape is the shape of one input.
func (n *Network) InputShape() Shape { return slices.Clone(n.nodes[0].shape) }

// Outputs is the number of values that the network gives, for a classifier its classes.
func (n *Network) Outputs() int { return n.nodes[n.output].shape.Size() }

// Head is the operator that was taken off behind the outputs, "Softmax" or "LogSoftmax"; "" where none was.
func (n *Network) Head() string { return n.head }

// LayerInfo says what a layer is, for people.
type LayerInfo struct {
	Name  string `json:"name"`
	Op    string `json:"op"`
	Shape Shape  `json:"shape"`
}

// Layers are the layers in the order in which they are computed, the input first.
func (n *Network) Layers() []LayerInfo {
	out := make([]LayerInfo, len(n.nodes))
	for i, nd := range n.nodes {
		out[i] = LayerInfo{nd.name, nd.op, slices.Clone(nd.shape)}
	}
	return out
}

// InputError says that an input does not fit the network.
type InputError struct{ Reason string }

func (e *InputError) Error() string { return "feedforward: " + e.Reason }

func (n *Network) checkInput(x []float64) error {
	if want := n.nodes[0].shape.Size(); len(x) != want {
		return &InputError{fmt.Sprintf("an input of %d values, want %d (shape %v)", len(x), want, n.nodes[0].shape)}
	}
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return &InputError{fmt.Sprintf("value %d of the input is %v", i, v)}
		}
	}
	return nil
}

// values are the outputs of all nodes at x.
func (n *Network) values(x []float64) [][]float64 {
	values := make([][]float64, len(n.nodes))
	values[0] = x
	for i, nd := range n.nodes[1:] {
		out := make([]float64, nd.shape.Size())
		nd.layer.forward(pick(values, nd.in), out)
		values[i+1] = out
	}
	return values
}

func pick[T any](all []T, which []int) []T {
	out := make([]T, len(which))
	for i, w := range which {
		out[i] = all[w]
	}
	return out
}

// Forward returns the outputs at x, in float64. Errors: an input of another size, or with values that are not finite,
// as *InputError.
func (n *Network) Forward(x []float64) ([]float64, error) {
	if err := n.checkInput(x); err != nil {
		return nil, err
	}
	return n.values(x)[n.output], nil
}

// VectorJacobian returns the outputs f(x) and, for a vector v of one value an output, the product vᵀ·∂f/∂x. At a kink
// (ReLU at 0, equal values under a maximum) it takes the derivative 0 from the left, and the derivative of the first
// maximum. v is computed from the outputs by the function given.
func (n *Network) VectorJacobian(x []float64, v func(outputs []float64) []float64) (outputs, gradient []float64,
	err error) {
	if err := n.checkInput(x); err != nil {
		return nil, nil, err
	}
	values := n.values(x)
	direction := v(values[n.output])
	if len(direction) != len(values[n.output]) {
		return nil, nil, &InputError{fmt.Sprintf("a vector of %d values for %d outputs", len(direction),
			len(values[n.output]))}
	}
	size := 0
	for _, nd := range n.nodes[1:] {
		size += nd.shape.Size()
	}
	inner := zeros(size)
	defer patches.Put(inner)
	gradients, rest := make([][]float64, len(n.nodes)), *inner
	gradients[0] = make([]float64, len(x))
	for i, nd := range n.nodes[1:] {
		gradients[i+1], rest = rest[:nd.shape.Size()], rest[nd.shape.Size():]
	}
	copy(gradients[n.output], direction)
	for i := n.output; i > 0; i-- {
		nd := n.nodes[i]
		nd.layer.backward(pick(values, nd.in), values[i], gradients[i], pick(gradients, nd.in))
	}
	return values[n.output], gradients[0], nil
}

// zeros is a slice of n zeros, to be put back into patches.
func zeros(n int) *[]float64 {
	if p, ok := patches.Get().(*[]float64); ok && cap(*p) >= n {
		*p = (*p)[:n]
		clear(*p)
		return p
	}
	p := make([]float64, n)
	return &p
}

// patches are matrices that are used again: a network asks for several at every evaluation.
var patches sync.Pool
