package feedforward

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/feedforward/graph"
	"github.com/certspec/certspec/internal/onnxfile"
)

// OperatorError says which node of an ONNX file cannot be read as a layer.
type OperatorError struct {
	File, Node, Op string
	Place          int // of the node in the file, from 0
	Reason         string
}

func (e *OperatorError) Error() string {
	return fmt.Sprintf("feedforward: %s: node %d %q (%s): %s", e.File, e.Place, e.Node, e.Op, e.Reason)
}

// Read reads a network from an ONNX file with one input and one output, a batch of any size or of 1 first. images says
// how pixels enter it; with nil the Network takes what the graph takes.
//
// Operators: Conv, Gemm, MatMul with a constant, Add, Sub, Mul and Div with constants, Add, Sub and Mul of two results,
// BatchNormalization, Relu, LeakyRelu, Sigmoid, HardSigmoid, HardSwish, Tanh, Softplus, LogSoftmax, Clip, AveragePool,
// MaxPool, GlobalAveragePool, GlobalMaxPool, ReduceLogSumExp, ReduceMean, Pad, Flatten, Reshape, Squeeze, Unsqueeze,
// Transpose, Split, Slice, Gather, GatherND, Where with a constant, Concat of results and constants, Identity, Dropout,
// Cast, Constant, and the arithmetic on shapes that exporters write. A
// last Softmax or LogSoftmax over the classes is taken off, so that the outputs are logits (see Head). Anything else is
// an *OperatorError. Nodes that the output does not depend on are not looked at.
func Read(path string, images *Images) (*Network, error) {
	data, _, err := onnxfile.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("feedforward: %w", err)
	}
	model, err := onnxfile.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("feedforward: %s: %w", path, err)
	}
	if err := model.Load(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("feedforward: %s: %w", path, err)
	}
	return FromONNX(path, model, images)
}

// FromONNX is Read for a file that is decoded, with its external tensors loaded; file stands in messages.
func FromONNX(file string, model *onnxfile.Model, images *Images) (*Network, error) {
	r := &reader{file: file, constants: map[string]*graph.Constant{}, tensors: map[string]*onnxfile.Tensor{},
		layers: map[string]int{},
		types:  map[string]onnxfile.Type{}, batch: map[string]int{}}
	if err := r.operators(model); err != nil {
		return nil, err
	}
	if err := r.input(model, images); err != nil {
		return nil, err
	}
	r.b.size.fixed = true
	for i := range model.Graph.Initializers {
		t := &model.Graph.Initializers[i]
		if _, twice := r.tensors[t.Name]; twice {
			return nil, fmt.Errorf("feedforward: %s: two initializers are called %q", file, t.Name)
		}
		r.tensors[t.Name] = t
	}
	for t := range model.AllTensors() {
		r.b.size.file += t.Stored()
	}
	if len(model.Graph.Sparse) > 0 {
		return nil, fmt.Errorf("feedforward: %s: sparse initializers are not read", file)
	}
	if len(model.Graph.Outputs) != 1 {
		return nil, fmt.Errorf("feedforward: %s: %d outputs, want one", file, len(model.Graph.Outputs))
	}
	output := model.Graph.Outputs[0].Name
	needed := ancestors(model.Graph.Nodes, output)
	for place, n := range model.Graph.Nodes { // before what a missing layer would make of the others
		if reason := graph.Unknown(&n); needed[place] && reason != "" &&
			!(n.Op == "Softmax" && slices.Contains(n.Outputs, output)) {
			return nil, &OperatorError{File: file, Node: n.Name, Op: n.Op, Place: place, Reason: reason}
		}
	}
	for place := range model.Graph.Nodes {
		n := &model.Graph.Nodes[place]
		if !needed[place] {
			continue // of another output, which the caller has left out
		}
		reason := ""
		own := n.Domain == "" || n.Domain == "ai.onnx"
		last := len(n.Outputs) == 1 && n.Outputs[0] == output && len(n.Inputs) == 1
		if own && last && (n.Op == "Softmax" || n.Op == "LogSoftmax") {
			if reason = r.overClasses(n); reason == "" {
				output, r.head = n.Inputs[0], n.Op
				continue
			}
		} else {
			reason = r.node(n)
		}
		if reason != "" {
			return nil, &OperatorError{File: file, Node: n.Name, Op: n.Op, Place: place, Reason: reason}
		}
	}
	out, ok := r.layers[output]
	if !ok {
		return nil, fmt.Errorf("feedforward: %s: the output %q does not depend on the input", file, output)
	}
	if at := r.batch[output]; at != 0 {
		return nil, fmt.Errorf("feedforward: %s: the output %q has the batch at axis %d; expected axis 0", file, output, at)
	}
	if out == 0 {
		return nil, fmt.Errorf("feedforward: %s: the graph gives its input back", file)
	}
	net, err := r.b.Network(out)
	if err != nil {
		return nil, err
	}
	net.results, net.double, net.head = r.layers, r.double, r.head
	return net, nil
}

// operators finds the version of the operators.
func (r *reader) operators(model *onnxfile.Model) error {
	for _, set := range model.Opsets {
		if set.Domain != "" && set.Domain != "ai.onnx" {
			continue
		}
		if r.opset != 0 && r.opset != set.Version {
			return fmt.Errorf("feedforward: %s: it names opsets %d and %d, want one", r.file, r.opset, set.Version)
		}
		r.opset = set.Version
	}
	if r.opset < graph.Oldest || r.opset > graph.Newest {
		return fmt.Errorf("feedforward: %s: opset %d; expected %d to %d, so export or convert it to one of these",
			r.file,
			r.opset, graph.Oldest, graph.Newest)
	}
	for _, f := range model.Functions {
		if f.Domain == "" || f.Domain == "ai.onnx" {
			return fmt.Errorf("feedforward: %s: a function %s in ONNX's own domain", r.file, f.Name)
		}
	}
	return nil
}

// overClasses says why a last Softmax or LogSoftmax does not normalise over all values of an input.
func (r *reader) overClasses(n *onnxfile.Node) (reason string) {
	if reason := graph.Signatures["LogSoftmax"][0].Takes(n.Attributes); reason != "" { // a Softmax has the same ones
		return reason
	}
	in, ok := r.layer(n, 0)
	if !ok {
		return "its input is constant"
	}
	shape := r.b.Shape(in)
	axis, last := int(n.Int("axis", -1)), 0 // of the axes that it normalises over
	if r.opset < 13 {
		axis, last = int(n.Int("axis", 1)), len(shape)
	}
	if axis < 0 {
		axis += len(shape) + 1
	}
	if axis < 1 || axis > len(shape) {
		return fmt.Sprintf("along axis %d, which is that of the batch or none of %v; expected the axis of the classes",
			axis, shape)
	}
	if over := shape[axis-1 : max(last, axis)]; over.Size() != shape.Size() {
		return fmt.Sprintf("along axis %d, which holds %v of %v; expected the axis of the classes, and one row of them",
			axis, over, shape)
	}
	return ""
}

// ancestors are the nodes that a result is computed from; a node stands behind those whose results it takes.
func ancestors(nodes []onnxfile.Node, result string) []bool {
	wanted, needed := map[string]bool{result: true}, make([]bool, len(nodes))
	for i := len(nodes) - 1; i >= 0; i-- {
		if !slices.ContainsFunc(nodes[i].Outputs, func(name string) bool { return wanted[name] }) {
			continue
		}
		needed[i] = true
		for _, name := range nodes[i].Inputs {
			wanted[name] = name != "" // inputs that are left out have no name
		}
	}
	return needed
}

// node adds the layer of a node, or says why it cannot be one.
func (r *reader) node(n *onnxfile.Node) string {
	if reason := graph.Conforms(n, r.opset); reason != "" {
		return reason
	}
	r.kind = 0
	for i, name := range n.Inputs {
		if name == "" {
			continue
		}
		kind, isLayer := r.types[name]
		switch {
		case isLayer && r.kind != 0 && kind != r.kind:
			return fmt.Sprintf("input %d is %v, another one %v", i, kind, r.kind)
		case r.batch[name] != 0 && n.Op != "Transpose" && n.Op != "GatherND":
			return fmt.Sprintf("input %d has the batch at axis %d; expected a Transpose in front that puts it first", i,
				r.batch[name])
		case isLayer:
			r.kind = kind
		case !r.known(name):
			return fmt.Sprintf("input %d, %q, is not computed before it", i, name)
		}
	}
	for _, name := range n.Outputs {
		if r.known(name) {
			return fmt.Sprintf("there is a result %q before it", name)
		}
	}
	if folded, reason := r.foldNode(n); folded || reason != "" {
		return reason
	}
	read, ok := operators[n.Op]
	if !ok {
		return "of a result; it is read of constants"
	}
	r.b.Name(n.Name)
	layer, reason := read(r, n)
	switch {
	case reason != "":
		return reason
	case r.b.err != nil:
		return strings.TrimPrefix(r.b.err.Error(), "feedforward: ")
	}
	r.layers[n.Outputs[0]] = layer
	if _, cast := r.types[n.Outputs[0]]; !cast {
		r.types[n.Outputs[0]] = r.kind
	}
	r.double = r.double || r.types[n.Outputs[0]] == onnxfile.Float64
	return ""
}
