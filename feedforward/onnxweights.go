package feedforward

import (
	"cmp"
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
	if min(slices.Min(o.Kernel[:]), slices.Min(o.Stride[:]), slices.Min(o.Dilation[:])) < 1 {
		return o, fmt.Sprintf("kernel %v, strides %v and dilations %v; each is at least 1", o.Kernel, o.Stride,
			o.Dilation)
	}
	pads := toInts(n.Ints("pads"))
	if len(pads) == 4 {
		o.Pad = [4]int(pads)
	}
	mode := n.Text("auto_pad", "NOTSET")
	upper := mode == "SAME_UPPER"
	switch {
	case pads != nil && len(pads) != 4:
		return o, fmt.Sprintf("pads %v", pads)
	case mode == "NOTSET":
	case o.Pad != [4]int{}:
		return o, fmt.Sprintf("pads %v beside auto_pad %q", pads, mode)
	case mode == "VALID":
	case !upper && mode != "SAME_LOWER":
		return o, fmt.Sprintf("auto_pad %q", mode)
	case o.Dilation != [2]int{1, 1} || o.Kernel[0] < o.Stride[0] || o.Kernel[1] < o.Stride[1]:
		return o, fmt.Sprintf("auto_pad %q with kernel %v, strides %v, dilations %v: engines disagree; expected pads",
			mode, o.Kernel, o.Stride, o.Dilation)
	default:
		for i := range 2 {
			out := (in[i+1] + o.Stride[i] - 1) / o.Stride[i]
			total := max(0, (out-1)*o.Stride[i]+o.Kernel[i]-in[i+1])
			o.Pad[i], o.Pad[i+2] = total/2, total-total/2
			if !upper {
				o.Pad[i], o.Pad[i+2] = o.Pad[i+2], o.Pad[i]
			}
		}
	}
	return o, ""
}

func (r *reader) conv(n *onnxfile.Node) (int, string) {
	in, _, reason := r.result(n)
	if reason != "" {
		return 0, reason
	}
	w, reason := r.parameter(n, 1)
	if reason != "" {
		return 0, reason
	}
	b, reason := r.vector(n, 2)
	if reason != "" {
		return 0, reason
	}
	if len(w.dims) != 4 {
		return 0, fmt.Sprintf("weights of dimensions %v, want four", w.dims)
	}
	if k := toInts(n.Ints("kernel_shape")); k != nil && !slices.Equal(k, w.dims[2:]) {
		return 0, fmt.Sprintf("kernel_shape %v and weights of dimensions %v", k, w.dims)
	}
	shape := r.b.Shape(in)
	o, reason := r.window(n, shape, w.dims[2:])
	if reason != "" {
		return 0, reason
	}
	if o.Groups = int(n.Int("group", 1)); o.Groups < 1 || shape[0]%o.Groups != 0 || w.dims[1] != shape[0]/o.Groups {
		return 0, fmt.Sprintf("weights of dimensions %v in %d groups for an input of shape %v", w.dims, o.Groups, shape)
	}
	return r.b.Conv(in, w.dims[0], o, w.real, b), ""
}

// gemm is αx·W + βc. Where α or β is not 1 it is two layers, since what is summed is scaled afterwards.
func (r *reader) gemm(n *onnxfile.Node) (int, string) {
	in, dims, reason := r.result(n)
	if reason != "" || n.Int("transA", 0) != 0 {
		return 0, cmp.Or(reason, "its first input is transposed")
	}
	weights, reason := r.parameter(n, 1)
	if reason != "" {
		return 0, reason
	}
	c, reason := r.parameter(n, 2)
	if reason != "" {
		return 0, reason
	}
	if len(weights.dims) != 2 || len(dims) != 2 {
		return 0, fmt.Sprintf("a product of dimensions %v with %v", dims, weights.dims)
	}
	w, rows, cols := weights.real, weights.dims[0], weights.dims[1]
	if n.Int("transB", 0) == 0 {
		if reason := r.b.room(nil, 0, 8*len(w)); reason != "" {
			return 0, reason
		}
		w = transposed(w, rows, cols)
		rows, cols = cols, rows
	}
	if cols != dims[1] {
		return 0, fmt.Sprintf("weights for %d values, the input has %d", cols, dims[1])
	}
	alpha, beta := float64(n.Float("alpha", 1)), float64(n.Float("beta", 1))
	var bias []float64
	if c != nil && beta != 0 {
		full := c.spread([]int{1, rows})
		if full == nil {
			return 0, fmt.Sprintf("a bias of dimensions %v for %d outputs", c.dims, rows)
		}
		bias = full.real
	}
	if alpha == 1 && (beta == 1 || bias == nil) {
		return r.b.Dense(in, rows, w, bias), ""
	}
	layer := r.b.Dense(in, rows, w, nil)
	if r.b.err != nil {
		return 0, ""
	}
	s := slices.Repeat([]float64{alpha}, rows)
	t := make([]float64, rows)
	for i, v := range bias {
		t[i] = beta * v
	}
	layer = r.b.Scale(layer, s, t, nil)
	if r.b.err == nil {
		f := &r.b.net.nodes[layer].folding
		f.term = largest(bias) * largest([]float64{beta})
	}
	return layer, ""
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

// matMul is x·W for a row of values, or W·x for a column, [n, 1].
func (r *reader) matMul(n *onnxfile.Node) (int, string) {
	in, row := r.layer(n, 0)
	at := 1
	if !row {
		in, _ = r.layer(n, 1)
		at = 0
	} else if _, both := r.layer(n, 1); both {
		return 0, "of two results"
	}
	c, reason := r.parameter(n, at)
	if reason != "" {
		return 0, reason
	}
	dims := append([]int{1}, r.b.Shape(in)...)
	axis := len(dims) - 1 - (1 - at) // of the input, over which it is summed
	if len(c.dims) != 2 || len(dims) < 3-at || Shape(dims).Size() != dims[axis] || c.dims[1-at] != dims[axis] {
		return 0, fmt.Sprintf("a result of dimensions %v times a constant of %v; a row times a matrix, or a matrix "+
			"times a column, is read",
			dims, c.dims)
	}
	w := c.real
	if row {
		if reason := r.b.room(nil, 0, 8*len(w)); reason != "" {
			return 0, reason
		}
		w = transposed(w, c.dims[0], c.dims[1])
	}
	dims[axis] = c.dims[at]
	layer := r.b.Dense(in, dims[axis], w, nil)
	if r.b.err != nil {
		return 0, ""
	}
	return r.shaped(layer, dims)
}

func (r *reader) batchNorm(n *onnxfile.Node) (int, string) {
	in, _, reason := r.result(n)
	switch {
	case reason != "":
		return 0, reason
	case n.Int("training_mode", 0) != 0:
		return 0, "in training mode"
	case n.Int("spatial", 1) != 1:
		return 0, "with statistics of each pixel"
	}
	var v [4][]float64
	for i := range v {
		if v[i], reason = r.vector(n, i+1); reason != "" {
			return 0, reason
		}
	}
	return r.b.BatchNorm(in, v[0], v[1], v[2], v[3], float64(n.Float("epsilon", 1e-5))), ""
}
