package feedforward

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/pixel"
)

// Images says how pixels enter the graph of an ONNX file. With it, a Network takes images with values in [0, 1], height ×
// width × channel, as everything else here does; channel c enters the graph as (Scale·x − Mean[c])/Std[c].
type Images struct {
	Shape        pixel.Shape
	ChannelsLast bool      // the graph takes height × width × channel
	BGR          bool      // the graph takes blue first
	Scale        float64   // what white is; 0: 1
	Mean, Std    []float64 // by channel, red first; nil: 0 and 1
}

// OperatorError says which node of an ONNX file cannot be read as a layer.
type OperatorError struct {
	File, Node, Op string
	Place          int // of the node in the file, from 0
	Reason         string
}

func (e *OperatorError) Error() string {
	return fmt.Sprintf("feedforward: %s: node %d %q (%s): %s", e.File, e.Place, e.Node, e.Op, e.Reason)
}

// Read reads a network from an ONNX file with one input and one output, a batch of any size or of 1 first. images says how
// pixels enter it; nil: the Network takes what the graph takes.
//
// Operators: Conv, Gemm, MatMul with a constant, Add, Sub, Mul and Div with constants, Add and Sub of two results,
// BatchNormalization, Relu, LeakyRelu, Sigmoid, Tanh, Softplus, LogSoftmax, Clip, AveragePool, MaxPool, GlobalAveragePool, GlobalMaxPool, ReduceLogSumExp, ReduceMean
// over the image, Pad, Flatten, Reshape, Squeeze, Unsqueeze, Transpose, Concat, Identity, Dropout, Cast, Constant, and the arithmetic on
// shapes that exporters write; a last Softmax or LogSoftmax is taken off, so that the outputs are logits. Anything else is
// an *OperatorError. What the output does not depend on is not looked at.
func Read(path string, images *Images) (*Network, error) {
	data, err := os.ReadFile(path)
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
	r := &reader{file: file, constants: map[string]onnxfile.Tensor{}, layers: map[string]int{}}
	if err := r.input(model, images); err != nil {
		return nil, err
	}
	for i := range model.Graph.Initializers {
		t := model.Graph.Initializers[i]
		r.constants[t.Name] = t
	}
	if len(model.Graph.Sparse) > 0 {
		return nil, fmt.Errorf("feedforward: %s: sparse initializers are not read", file)
	}
	if len(model.Graph.Outputs) != 1 {
		return nil, fmt.Errorf("feedforward: %s: %d outputs, want one", file, len(model.Graph.Outputs))
	}
	output := model.Graph.Outputs[0].Name
	needed := ancestors(model.Graph.Nodes, output)
	for place := range model.Graph.Nodes {
		n := &model.Graph.Nodes[place]
		if !needed[place] {
			continue // of another output, which the caller has left out
		}
		if n.Op == "Softmax" || n.Op == "LogSoftmax" {
			if len(n.Outputs) == 1 && n.Outputs[0] == output && len(n.Inputs) == 1 {
				output = n.Inputs[0]
				continue
			}
		}
		if reason := r.node(n); reason != "" {
			return nil, &OperatorError{File: file, Node: n.Name, Op: n.Op, Place: place, Reason: reason}
		}
	}
	out, ok := r.layers[output]
	if !ok {
		return nil, fmt.Errorf("feedforward: %s: the output %q does not depend on the input", file, output)
	}
	if out == 0 {
		return nil, fmt.Errorf("feedforward: %s: the graph gives its input back", file)
	}
	net, err := r.b.Network(out)
	if err != nil {
		return nil, err
	}
	net.results = r.layers
	return net, nil
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

// reader turns nodes into layers. A name is a constant or a layer.
type reader struct {
	file      string
	b         *Builder
	constants map[string]onnxfile.Tensor
	layers    map[string]int
}

// input finds the graph's one input and lays the images' preparation in front of it.
func (r *reader) input(model *onnxfile.Model, images *Images) error {
	constant := map[string]bool{}
	for _, t := range model.Graph.Initializers {
		constant[t.Name] = true
	}
	var inputs []onnxfile.Value
	for _, v := range model.Graph.Inputs {
		if !constant[v.Name] {
			inputs = append(inputs, v)
		}
	}
	if len(inputs) != 1 {
		return fmt.Errorf("feedforward: %s: %d inputs, want one", r.file, len(inputs))
	}
	in := inputs[0]
	if len(in.Dims) < 2 || in.Dims[0].Size > 1 {
		return fmt.Errorf("feedforward: %s: input %q has dimensions %v, want a batch (open, or of 1) first", r.file, in.Name, in.Dims)
	}
	var shape Shape
	for _, d := range in.Dims[1:] {
		if d.Size < 1 {
			if images == nil {
				return fmt.Errorf("feedforward: %s: input %q has open dimensions %v: give the size of the images", r.file, in.Name, in.Dims)
			}
			shape = nil
			break
		}
		shape = append(shape, int(d.Size))
	}
	if images == nil {
		r.b = NewBuilder(shape...)
		r.layers[in.Name] = 0
		return nil
	}
	layer, err := r.images(images, shape)
	if err != nil {
		return fmt.Errorf("feedforward: %s: %w", r.file, err)
	}
	r.layers[in.Name] = layer
	return nil
}

func (r *reader) images(im *Images, want Shape) (int, error) {
	h, w, c := im.Shape.Height, im.Shape.Width, im.Shape.Channels
	r.b = NewBuilder(h, w, c)
	at := 0
	scale := im.Scale
	if scale == 0 {
		scale = 1
	}
	if len(im.Mean) != 0 && len(im.Mean) != c || len(im.Std) != 0 && len(im.Std) != c {
		return 0, fmt.Errorf("%d means and %d deviations for %d channels", len(im.Mean), len(im.Std), c)
	}
	if scale != 1 || len(im.Mean) > 0 || len(im.Std) > 0 {
		s, t := make([]float64, h*w*c), make([]float64, h*w*c)
		for i := range s {
			mean, std := 0.0, 1.0
			if len(im.Mean) > 0 {
				mean = im.Mean[i%c]
			}
			if len(im.Std) > 0 {
				std = im.Std[i%c]
			}
			s[i], t[i] = scale/std, -mean/std
		}
		at = r.b.Name("normalisation").Scale(at, s, t, nil)
	}
	if im.BGR {
		from := make([]int, h*w*c)
		for i := range from {
			from[i] = i/c*c + c - 1 - i%c
		}
		at = r.b.add("ChannelOrder", r.b.Shape(at), &arrange{from: from}, at)
	}
	if !im.ChannelsLast {
		at = r.b.Name("channels first").Transpose(at, 2, 0, 1)
	}
	if want == nil || slices.Equal(want, r.b.Shape(at)) {
		return at, r.b.err
	}
	if want.Size() != h*w*c {
		return 0, fmt.Errorf("the graph takes %v, images are %d × %d × %d", want, h, w, c)
	}
	return r.b.Reshape(at, want...), r.b.err
}

// node adds the layer of a node, or says why it cannot be one.
func (r *reader) node(n *onnxfile.Node) string {
	if n.Domain != "" && n.Domain != "ai.onnx" {
		return fmt.Sprintf("an operator of the domain %q", n.Domain)
	}
	for i, name := range n.Inputs {
		if _, isConstant := r.constants[name]; name != "" && !isConstant {
			if _, isLayer := r.layers[name]; !isLayer {
				return fmt.Sprintf("input %d, %q, is not computed before it", i, name)
			}
		}
	}
	if folded, reason := r.fold(n); folded || reason != "" {
		return reason
	}
	read, ok := operators[n.Op]
	if !ok {
		return "no layer of this kind; there are " + strings.Join(operatorNames(), ", ")
	}
	if len(n.Inputs) == 0 {
		return "no inputs"
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
	return ""
}

// layer is the number of the layer that an input names; ok is false where it is a constant or left out.
func (r *reader) layer(n *onnxfile.Node, input int) (layer int, ok bool) {
	if input >= len(n.Inputs) {
		return 0, false
	}
	layer, ok = r.layers[n.Inputs[input]]
	return layer, ok
}

// constant is the tensor that an input names; nil where it is left out.
func (r *reader) constant(n *onnxfile.Node, input int) (t *onnxfile.Tensor, values []float64, reason string) {
	if input >= len(n.Inputs) || n.Inputs[input] == "" {
		return nil, nil, ""
	}
	c, ok := r.constants[n.Inputs[input]]
	if !ok {
		return nil, nil, fmt.Sprintf("input %d, %q, is not constant", input, n.Inputs[input])
	}
	values, err := c.Float64s()
	if err != nil {
		return nil, nil, err.Error()
	}
	return &c, values, ""
}

// needed is constant for an input that must be there.
func (r *reader) needed(n *onnxfile.Node, input int) (t *onnxfile.Tensor, values []float64, reason string) {
	t, values, reason = r.constant(n, input)
	if t == nil && reason == "" {
		reason = fmt.Sprintf("input %d is missing", input)
	}
	return t, values, reason
}

// integers are the values of an input or, where that is left out, of an attribute, as old versions of operators have them.
func (r *reader) integers(n *onnxfile.Node, input int, attribute string) (values []int, reason string) {
	if input < len(n.Inputs) && n.Inputs[input] != "" {
		c, ok := r.constants[n.Inputs[input]]
		if !ok {
			return nil, fmt.Sprintf("input %d, %q, is not constant", input, n.Inputs[input])
		}
		v, err := c.Int64s()
		if err != nil {
			return nil, err.Error()
		}
		return toInts(v), ""
	}
	return toInts(n.Ints(attribute)), ""
}

func toInts(v []int64) []int {
	if v == nil {
		return nil
	}
	out := make([]int, len(v))
	for i, x := range v {
		out[i] = int(x)
	}
	return out
}
