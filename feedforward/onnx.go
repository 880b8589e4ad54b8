package feedforward

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/pixel"
)

// Images says how pixels enter the graph of an ONNX file. With it, a Network takes images with values in [0, 1], height
// × width × channel; channel c enters the graph as (Scale·x − Mean[c])/Std[c].
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

// Read reads a network from an ONNX file with one input and one output, a batch of any size or of 1 first. images says
// how pixels enter it; with nil the Network takes what the graph takes.
//
// Operators: Conv, Gemm, MatMul with a constant, Add, Sub, Mul and Div with constants, Add and Sub of two results,
// BatchNormalization, Relu, LeakyRelu, Sigmoid, Tanh, Softplus, LogSoftmax, Clip, AveragePool, MaxPool,
// GlobalAveragePool, GlobalMaxPool, ReduceLogSumExp, ReduceMean over the image, Pad, Flatten, Reshape, Squeeze,
// Unsqueeze, Transpose, Concat, Identity, Dropout, Cast, Constant, and the arithmetic on shapes that exporters write. A
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
	r := &reader{file: file, constants: map[string]*constant{}, tensors: map[string]*onnxfile.Tensor{},
		layers: map[string]int{},
		types:  map[string]onnxfile.Type{}}
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
	if r.opset < oldest || r.opset > newest {
		return fmt.Errorf("feedforward: %s: opset %d; expected %d to %d, so export or convert it to one of these",
			r.file,
			r.opset, oldest, newest)
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
	if reason := signatures["LogSoftmax"][0].takes(n.Attributes); reason != "" { // a Softmax has the same ones
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

// reader turns nodes into layers. A name is a constant or a layer.
type reader struct {
	file      string
	head      string // a last Softmax or LogSoftmax, which is taken off
	b         *Builder
	opset     int64
	constants map[string]*constant
	tensors   map[string]*onnxfile.Tensor // constants that are not decoded yet
	layers    map[string]int
	types     map[string]onnxfile.Type // of layers
	kind      onnxfile.Type            // of the layers that the node under way reads
	double    bool                     // there are layers in float64
	open      bool                     // the batch may have any size
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
		return fmt.Errorf("feedforward: %s: input %q has dimensions %v, want a batch (open, or of 1) first", r.file,
			in.Name, sides(in))
	}
	if reason := computes(in.Type); reason != "" {
		return fmt.Errorf("feedforward: %s: input %q: %s", r.file, in.Name, reason)
	}
	r.open = in.Dims[0].Size != 1
	r.types[in.Name], r.double = in.Type, in.Type == onnxfile.Float64
	var shape Shape
	for _, d := range in.Dims[1:] {
		if d.Size > mostValues {
			return fmt.Errorf("feedforward: %s: input %q has dimensions %v, at most %d values are read", r.file,
				in.Name,
				sides(in), mostValues)
		}
		if d.Size < 1 {
			if images == nil {
				return fmt.Errorf("feedforward: %s: input %q has open dimensions %v: give the size of the images",
					r.file,
					in.Name, sides(in))
			}
			shape = nil
			break
		}
		shape = append(shape, int(d.Size))
	}
	if images == nil {
		r.b = NewBuilder(shape...)
		r.layers[in.Name] = 0
		return r.b.err
	}
	layer, err := r.images(images, shape)
	if err != nil {
		return fmt.Errorf("feedforward: %s: %w", r.file, err)
	}
	r.layers[in.Name] = layer
	return nil
}

// sides are the dimensions of a value, by name where they are open.
func sides(v onnxfile.Value) []string {
	var out []string
	for _, d := range v.Dims {
		size := cmp.Or(d.Name, "?")
		if d.Size != 0 {
			size = strconv.FormatInt(d.Size, 10)
		}
		out = append(out, size)
	}
	return out
}

func (r *reader) images(im *Images, want Shape) (int, error) {
	h, w, c := im.Shape.Height, im.Shape.Width, im.Shape.Channels
	r.b = NewBuilder(h, w, c)
	if r.b.err != nil {
		return 0, r.b.err
	}
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
		inverse := []float64{}
		for _, v := range im.Std {
			inverse = append(inverse, 1/v)
		}
		at = r.b.Name("normalisation").Scale(at, s, t, nil)
		if r.b.err == nil {
			factor := largest(inverse)
			r.b.net.nodes[at].folding = folding{factor * largest([]float64{scale}), factor * largest(im.Mean), 3}
		}
	}
	if im.BGR {
		at = r.b.arrange("ChannelOrder", at, r.b.Shape(at), 0, func(index []int) int {
			return (index[0]*w+index[1])*c + c - 1 - index[2]
		})
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
	if reason := r.conforms(n); reason != "" {
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
		case isLayer:
			r.kind = kind
		case !r.known(name):
			return fmt.Sprintf("input %d, %q, is not computed before it", i, name)
		}
	}
	if r.known(n.Outputs[0]) {
		return fmt.Sprintf("there is a result %q before it", n.Outputs[0])
	}
	if folded, reason := r.fold(n); folded || reason != "" {
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

// known says whether a name is that of a constant or of a layer.
func (r *reader) known(name string) bool {
	_, isConstant := r.constants[name]
	_, isTensor := r.tensors[name]
	_, isLayer := r.layers[name]
	return isConstant || isTensor || isLayer
}

// value is the constant of a name.
func (r *reader) value(name string) (*constant, string) {
	if c, ok := r.constants[name]; ok {
		return c, ""
	}
	t, ok := r.tensors[name]
	if !ok {
		return nil, fmt.Sprintf("%q is not constant", name)
	}
	c, reason := decode(t)
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
	return layer, append([]int{1}, r.b.Shape(layer)...), ""
}

// parameter is the constant that an input names, of the type that the node's layers have; nil where it is left out.
func (r *reader) parameter(n *onnxfile.Node, input int) (*constant, string) {
	if input >= len(n.Inputs) || n.Inputs[input] == "" {
		return nil, ""
	}
	c, reason := r.value(n.Inputs[input])
	switch {
	case reason == "" && c.kind != r.kind:
		reason = fmt.Sprintf("is of %v, the results are %v", c.kind, r.kind)
	case reason == "" && c.sized != nil:
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
	case len(c.dims) != 1:
		return nil, fmt.Sprintf("input %d has dimensions %v, want one", input, c.dims)
	}
	return c.real, ""
}

// integers are the values of an input or, where that is left out, of an attribute, as old versions of operators have
// them. The list is nil where there is none.
func (r *reader) integers(n *onnxfile.Node, input int, attribute string) (values []int, reason string) {
	if input >= len(n.Inputs) || n.Inputs[input] == "" {
		return toInts(n.Ints(attribute)), ""
	}
	c, reason := r.value(n.Inputs[input])
	if reason == "" {
		values, reason = c.list()
	}
	if reason != "" {
		return nil, fmt.Sprintf("input %d: %s", input, reason)
	}
	return values, ""
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
