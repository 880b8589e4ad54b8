package feedforward

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/internal/onnxfile"
)

// window reads kernel, strides, dilations and padding.
func (r *reader) window(n *onnxfile.Node, in Shape, kernel []int) (ConvOptions, string) {
	o := ConvOptions{}
	if len(in) != 3 || len(kernel) != 2 {
		return o, fmt.Sprintf("kernel %v on %v; images of two dimensions are read", kernel, in)
	}
	o.Kernel = [2]int(kernel)
	o.Stride, o.Dilation = [2]int{1, 1}, [2]int{1, 1}
	for name, to := range map[string]*[2]int{"strides": &o.Stride, "dilations": &o.Dilation} {
		if v := toInts(n.Ints(name)); v != nil {
			if len(v) != 2 {
				return o, fmt.Sprintf("%s %v", name, v)
			}
			*to = [2]int(v)
		}
	}
	switch mode := n.Text("auto_pad", "NOTSET"); mode {
	case "NOTSET":
		if v := toInts(n.Ints("pads")); v != nil {
			if len(v) != 4 {
				return o, fmt.Sprintf("pads %v", v)
			}
			o.Pad = [4]int(v)
		}
	case "VALID":
	case "SAME_UPPER", "SAME_LOWER":
		for i := range 2 {
			if o.Stride[i] < 1 {
				return o, fmt.Sprintf("strides %v", o.Stride)
			}
			out := (in[i+1] + o.Stride[i] - 1) / o.Stride[i]
			total := max(0, (out-1)*o.Stride[i]+o.Dilation[i]*(o.Kernel[i]-1)+1-in[i+1])
			o.Pad[i], o.Pad[i+2] = total/2, total-total/2
			if mode == "SAME_LOWER" {
				o.Pad[i], o.Pad[i+2] = o.Pad[i+2], o.Pad[i]
			}
		}
	default:
		return o, fmt.Sprintf("auto_pad %q", mode)
	}
	return o, ""
}

func (r *reader) conv(n *onnxfile.Node) (int, string) {
	in, ok := r.layer(n, 0)
	if !ok {
		return 0, "its input is constant"
	}
	t, w, reason := r.needed(n, 1)
	if reason != "" {
		return 0, reason
	}
	_, b, reason := r.constant(n, 2)
	if reason != "" {
		return 0, reason
	}
	if len(t.Dims) != 4 {
		return 0, fmt.Sprintf("weights of dimensions %v, want four", t.Dims)
	}
	o, reason := r.window(n, r.b.Shape(in), []int{int(t.Dims[2]), int(t.Dims[3])})
	if reason != "" {
		return 0, reason
	}
	o.Groups = int(n.Int("group", 1))
	return r.b.Conv(in, int(t.Dims[0]), o, w, b), ""
}

func (r *reader) gemm(n *onnxfile.Node) (int, string) {
	in, ok := r.layer(n, 0)
	if !ok || n.Int("transA", 0) != 0 {
		return 0, "its first input must be a result, not transposed"
	}
	t, w, reason := r.needed(n, 1)
	if reason != "" {
		return 0, reason
	}
	c, bias, reason := r.constant(n, 2)
	if reason != "" {
		return 0, reason
	}
	if len(t.Dims) != 2 || len(r.b.Shape(in)) != 1 {
		return 0, fmt.Sprintf("a product of %v with dimensions %v", r.b.Shape(in), t.Dims)
	}
	rows, cols := int(t.Dims[0]), int(t.Dims[1])
	if n.Int("transB", 0) == 0 {
		w = transposed(w, rows, cols)
		rows, cols = cols, rows
	}
	if cols != r.b.Shape(in)[0] {
		return 0, fmt.Sprintf("weights for %d values, the input has %d", cols, r.b.Shape(in)[0])
	}
	w = scaled(w, float64(n.Float("alpha", 1)))
	if c != nil {
		full, ok := broadcast(bias, toInts(c.Dims), Shape{1, rows})
		if !ok {
			return 0, fmt.Sprintf("a bias of dimensions %v for %d outputs", c.Dims, rows)
		}
		bias = scaled(full, float64(n.Float("beta", 1)))
	}
	return r.b.Dense(in, rows, w, bias), ""
}

func transposed(w []float64, rows, cols int) []float64 {
	out := make([]float64, len(w))
	for i := range rows {
		for j := range cols {
			out[j*rows+i] = w[i*cols+j]
		}
	}
	return out
}

func scaled(w []float64, by float64) []float64 {
	if by == 1 {
		return w
	}
	out := make([]float64, len(w))
	for i, v := range w {
		out[i] = by * v
	}
	return out
}

// matMul is x·W for a row of values, or W·x for a column, [n, 1].
func (r *reader) matMul(n *onnxfile.Node) (int, string) {
	if in, ok := r.layer(n, 0); ok {
		t, w, reason := r.needed(n, 1)
		if reason != "" {
			return 0, reason
		}
		s := r.b.Shape(in)
		if len(t.Dims) != 2 || s[len(s)-1] != int(t.Dims[0]) || s.Size() != int(t.Dims[0]) {
			return 0, fmt.Sprintf("a product of %v with dimensions %v", s, t.Dims)
		}
		out := append(slices.Clone(s[:len(s)-1]), int(t.Dims[1]))
		layer := r.b.Dense(in, int(t.Dims[1]), transposed(w, int(t.Dims[0]), int(t.Dims[1])), nil)
		if len(out) > 1 && r.b.err == nil {
			layer = r.b.Reshape(layer, out...)
		}
		return layer, ""
	}
	in, ok := r.layer(n, 1)
	if !ok {
		return 0, "both inputs are constant"
	}
	t, w, reason := r.needed(n, 0)
	if reason != "" {
		return 0, reason
	}
	s := r.b.Shape(in)
	if len(t.Dims) != 2 || len(s) != 2 || s[1] != 1 || s[0] != int(t.Dims[1]) {
		return 0, fmt.Sprintf("a product of dimensions %v with %v", t.Dims, s)
	}
	layer := r.b.Dense(in, int(t.Dims[0]), w, nil)
	if r.b.err != nil {
		return 0, ""
	}
	return r.b.Reshape(layer, int(t.Dims[0]), 1), ""
}

func (r *reader) batchNorm(n *onnxfile.Node) (int, string) {
	in, ok := r.layer(n, 0)
	if !ok || n.Int("training_mode", 0) != 0 {
		return 0, "a constant input, or training mode"
	}
	var v [4][]float64
	for i := range v {
		_, values, reason := r.needed(n, i+1)
		if reason != "" {
			return 0, reason
		}
		v[i] = values
	}
	return r.b.BatchNorm(in, v[0], v[1], v[2], v[3], float64(n.Float("epsilon", 1e-5))), ""
}
