package feedforward

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/graph"
	"github.com/certspec/certspec/internal/onnxfile"
)

// reader turns nodes into layers. A name is a constant or a layer.
type reader struct {
	file      string
	head      string // a last Softmax or LogSoftmax, which is taken off
	b         *Builder
	opset     int64
	constants map[string]*graph.Constant
	tensors   map[string]*onnxfile.Tensor // constants that are not decoded yet
	layers    map[string]int
	types     map[string]onnxfile.Type // of layers
	batch     map[string]int           // axis of the batch, of layers where it is not the first
	kind      onnxfile.Type            // of the layers that the node under way reads
	double    bool                     // there are layers in float64
	open      bool                     // the batch may have any size
}

// known reports whether a constant or a layer has this name.
func (r *reader) known(name string) bool {
	_, isConstant := r.constants[name]
	_, isTensor := r.tensors[name]
	_, isLayer := r.layers[name]
	return isConstant || isTensor || isLayer
}

// value is the constant of a name.
func (r *reader) value(name string) (*graph.Constant, string) {
	if c, ok := r.constants[name]; ok {
		return c, ""
	}
	t, ok := r.tensors[name]
	if !ok {
		return nil, fmt.Sprintf("%q is not constant", name)
	}
	c, reason := graph.Decode(t)
	if reason == "" {
		r.constants[name] = c
	}
	return c, reason
}

// layer is the number of the layer that an input names; ok is false where it is a constant or left out.
func (r *reader) layer(n *onnxfile.Node, input int) (layer int, ok bool) {
	if input >= len(n.Inputs) {
		return 0, false
	}
	layer, ok = r.layers[n.Inputs[input]]
	return layer, ok
}

// result is the layer that a node's first input names, with its dimensions, a batch of one in front.
func (r *reader) result(n *onnxfile.Node) (layer int, dims []int, reason string) {
	layer, ok := r.layer(n, 0)
	if !ok {
		return 0, nil, "its first input is constant"
	}
	dims, reason = r.dimsOf(n.Inputs[0])
	return layer, dims, reason
}

// parameter is the constant that an input names, of the type that the node's layers have; nil where it is left out.
func (r *reader) parameter(n *onnxfile.Node, input int) (*graph.Constant, string) {
	if input >= len(n.Inputs) || n.Inputs[input] == "" {
		return nil, ""
	}
	c, reason := r.value(n.Inputs[input])
	switch {
	case reason == "" && c.Kind != r.kind:
		reason = fmt.Sprintf("is of %v, the results are %v", c.Kind, r.kind)
	case reason == "" && c.Sized != nil:
		reason = "depends on the number of images"
	}
	if reason != "" {
		return nil, fmt.Sprintf("input %d, %q: %s", input, n.Inputs[input], reason)
	}
	return c, ""
}

// vector is a parameter of one axis, nil where it is left out.
func (r *reader) vector(n *onnxfile.Node, input int) ([]float64, string) {
	c, reason := r.parameter(n, input)
	switch {
	case c == nil:
		return nil, reason
	case len(c.Dims) != 1:
		return nil, fmt.Sprintf("input %d has dimensions %v, want one", input, c.Dims)
	}
	return c.Real, ""
}

// lists are the lists of integers of a node, whose inputs may be layers.
func (r *reader) lists(n *onnxfile.Node) graph.Lists {
	return func(input int, attribute string) (values []int, reason string) {
		return r.integers(n, input, attribute)
	}
}

// integers are the values of an input or, where that is left out, of an attribute, as old versions of operators have
// them. The list is nil where there is none.
func (r *reader) integers(n *onnxfile.Node, input int, attribute string) (values []int, reason string) {
	if input >= len(n.Inputs) || n.Inputs[input] == "" {
		return graph.Ints(n.Ints(attribute)), ""
	}
	c, reason := r.value(n.Inputs[input])
	if reason == "" {
		values, reason = c.List()
	}
	if reason != "" {
		return nil, fmt.Sprintf("input %d: %s", input, reason)
	}
	return values, ""
}

// dimsOf are the dimensions of a result, with a batch of one among a layer's, or of a constant.
func (r *reader) dimsOf(name string) ([]int, string) {
	if layer, ok := r.layers[name]; ok {
		return slices.Insert(slices.Clone([]int(r.b.Shape(layer))), r.batch[name], 1), ""
	}
	c, reason := r.value(name)
	if reason != "" {
		return nil, reason
	}
	return c.Dims, ""
}

// inference says why a Dropout does not infer but train.
func (r *reader) inference(n *onnxfile.Node) string {
	if n.Op != "Dropout" || len(n.Inputs) < 3 || n.Inputs[2] == "" {
		return ""
	}
	c, reason := r.value(n.Inputs[2])
	if reason == "" && (c.Kind != onnxfile.Bool || c.Size() != 1 || c.Whole[0] != 0) {
		reason = "in training mode"
	}
	return reason
}
