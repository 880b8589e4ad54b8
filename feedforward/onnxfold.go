package feedforward

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/internal/onnxfile"
)

// fold evaluates a node whose result is a constant: constants themselves, and the arithmetic on shapes with which exporters
// flatten. The batch counts as 1. done is false where the node is a layer.
func (r *reader) fold(n *onnxfile.Node) (done bool, reason string) {
	if len(n.Outputs) < 1 {
		return true, "no outputs"
	}
	set := func(t onnxfile.Tensor) (bool, string) {
		r.constants[n.Outputs[0]] = t
		return true, ""
	}
	switch n.Op {
	case "Constant":
		return r.foldConstant(n)
	case "Shape":
		layer, ok := r.layer(n, 0)
		if !ok {
			break
		}
		return r.foldShape(n, layer)
	}
	var in []onnxfile.Tensor
	for _, name := range n.Inputs {
		c, ok := r.constants[name]
		if !ok {
			return false, ""
		}
		in = append(in, c)
	}
	if len(in) == 0 {
		return false, ""
	}
	switch n.Op {
	case "Identity", "Cast", "Dropout":
		return set(in[0])
	case "Unsqueeze", "Squeeze", "Reshape", "Flatten":
		t := in[0]
		count, err := t.Len()
		if err != nil {
			return true, err.Error()
		}
		t.Dims = []int64{int64(count)} // constants of one axis: exporters write shapes so
		return set(t)
	case "Gather":
		return r.foldGather(n, in)
	case "Concat":
		var out []int64
		for i := range in {
			v, err := in[i].Int64s()
			if err != nil {
				return true, "constants that are no integers"
			}
			out = append(out, v...)
		}
		return set(onnxfile.Int64Tensor(n.Outputs[0], out...))
	case "Transpose":
		return true, "a constant is transposed"
	}
	return true, "arithmetic on constants"
}

// foldShape is the shape of a layer for a batch of one.
func (r *reader) foldShape(n *onnxfile.Node, layer int) (bool, string) {
	dims := []int64{1}
	for _, d := range r.b.Shape(layer) {
		dims = append(dims, int64(d))
	}
	start, end := int(n.Int("start", 0)), int(n.Int("end", int64(len(dims))))
	if start < 0 {
		start += len(dims)
	}
	if end < 0 {
		end += len(dims)
	}
	if start < 0 || end > len(dims) || start > end {
		return true, fmt.Sprintf("dimensions %d to %d of %d", start, end, len(dims))
	}
	r.constants[n.Outputs[0]] = onnxfile.Int64Tensor(n.Outputs[0], dims[start:end]...)
	return true, ""
}

func (r *reader) foldGather(n *onnxfile.Node, in []onnxfile.Tensor) (bool, string) {
	values, err := in[0].Int64s()
	if err != nil || len(in) < 2 {
		return true, "a constant that is no list of integers"
	}
	places, err := in[1].Int64s()
	if err != nil {
		return true, err.Error()
	}
	var out []int64
	for _, p := range places {
		if p < 0 {
			p += int64(len(values))
		}
		if p < 0 || p >= int64(len(values)) {
			return true, fmt.Sprintf("place %d of %d", p, len(values))
		}
		out = append(out, values[p])
	}
	r.constants[n.Outputs[0]] = onnxfile.Int64Tensor(n.Outputs[0], out...)
	return true, ""
}

func (r *reader) foldConstant(n *onnxfile.Node) (bool, string) {
	name := n.Outputs[0]
	switch {
	case n.Attribute("value") != nil && n.Attribute("value").Tensor != nil:
		r.constants[name] = *n.Attribute("value").Tensor
	case n.Attribute("value_int") != nil:
		r.constants[name] = onnxfile.Int64Tensor(name, n.Int("value_int", 0))
	case n.Attribute("value_ints") != nil:
		r.constants[name] = onnxfile.Int64Tensor(name, n.Ints("value_ints")...)
	case n.Attribute("value_float") != nil:
		r.constants[name] = onnxfile.Float32Tensor(name, []float32{n.Float("value_float", 0)})
	case n.Attribute("value_floats") != nil:
		v := n.Attribute("value_floats").Floats
		r.constants[name] = onnxfile.Float32Tensor(name, v, int64(len(v)))
	default:
		return true, "a constant of another type than numbers"
	}
	return true, ""
}

// reshaped is the shape that a list of dimensions with a batch first, zeros (keep) and one −1 (the rest) stands for.
func reshaped(from Shape, dims []int) (Shape, string) {
	full := append(Shape{1}, from...)
	out := make(Shape, len(dims))
	rest, known := -1, 1
	for i, d := range dims {
		switch {
		case d == 0 && i < len(full):
			out[i] = full[i]
		case d == -1 && rest < 0:
			rest = i
			continue
		case d > 0:
			out[i] = d
		default:
			return nil, fmt.Sprintf("to dimensions %v", dims)
		}
		known *= out[i]
	}
	if rest >= 0 {
		if known == 0 || from.Size()%known != 0 {
			return nil, fmt.Sprintf("%v to dimensions %v", full, dims)
		}
		out[rest] = from.Size() / known
	}
	if len(out) < 1 || out[0] != 1 {
		return nil, fmt.Sprintf("%v to dimensions %v, which joins images of a batch", full, dims)
	}
	if len(out) == 1 {
		return slices.Clone(from), ""
	}
	return out[1:], ""
}
