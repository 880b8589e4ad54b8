package feedforward

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/certspec/certspec/internal/onnxfile"
)

// operators are the readers of nodes with at least one input that is a layer.
var operators map[string]func(r *reader, n *onnxfile.Node) (layer int, reason string)

func init() { // a table that its own functions name
	operators = map[string]func(r *reader, n *onnxfile.Node) (int, string){
		"Conv": (*reader).conv, "Gemm": (*reader).gemm, "MatMul": (*reader).matMul,
		"Add": (*reader).arithmetic, "Sub": (*reader).arithmetic, "Mul": (*reader).arithmetic, "Div": (*reader).arithmetic,
		"BatchNormalization": (*reader).batchNorm,
		"Relu":               one((*Builder).ReLU), "Sigmoid": one((*Builder).Sigmoid), "Tanh": one((*Builder).Tanh), "Softplus": one((*Builder).Softplus),
		"LogSoftmax": (*reader).logSoftmax,
		"LeakyRelu":  (*reader).leaky, "Clip": (*reader).clip,
		"AveragePool": (*reader).pool, "MaxPool": (*reader).pool, "GlobalAveragePool": (*reader).pool, "GlobalMaxPool": (*reader).pool,
		"ReduceLogSumExp": (*reader).reduceLogSumExp, "ReduceMean": (*reader).reduceMean, "Pad": (*reader).pad,
		"Flatten": (*reader).reshape, "Reshape": (*reader).reshape, "Squeeze": (*reader).reshape, "Unsqueeze": (*reader).reshape,
		"Transpose": (*reader).transpose, "Concat": (*reader).concat,
		"Identity": same, "Dropout": same, "Cast": same,
	}
}

func operatorNames() []string {
	names := []string{"Constant", "Shape", "Gather", "Softmax and LogSoftmax at the end"}
	for name := range operators {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func one(f func(b *Builder, in int) int) func(r *reader, n *onnxfile.Node) (int, string) {
	return func(r *reader, n *onnxfile.Node) (int, string) {
		in, ok := r.layer(n, 0)
		if !ok {
			return 0, "its input is constant"
		}
		return f(r.b, in), ""
	}
}

// same is a layer that changes nothing in inference.
func same(r *reader, n *onnxfile.Node) (int, string) {
	in, ok := r.layer(n, 0)
	if !ok {
		return 0, "its input is constant"
	}
	if n.Op == "Dropout" && len(n.Inputs) > 2 && n.Inputs[2] != "" {
		if _, v, reason := r.constant(n, 2); reason != "" || len(v) != 1 || v[0] != 0 {
			return 0, "in training mode"
		}
	}
	if n.Op == "Cast" {
		switch to := onnxfile.Type(n.Int("to", 0)); to {
		case onnxfile.Float32, onnxfile.Float64:
		default:
			return 0, fmt.Sprintf("to type %v, which rounds", to)
		}
	}
	return in, ""
}

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

func (r *reader) logSoftmax(n *onnxfile.Node) (int, string) {
	in, ok := r.layer(n, 0)
	if !ok {
		return 0, "its input is constant"
	}
	if axis := int(n.Int("axis", -1)); len(r.b.Shape(in)) != 1 || axis != -1 && axis != 1 {
		return 0, fmt.Sprintf("along axis %d of %v; that of all values is read", axis, r.b.Shape(in))
	}
	return r.b.LogSoftmax(in), ""
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

// arithmetic is Add, Sub, Mul or Div with a constant, or Add or Sub of two results.
func (r *reader) arithmetic(n *onnxfile.Node) (int, string) {
	x, okX := r.layer(n, 0)
	y, okY := r.layer(n, 1)
	if okX && okY {
		if n.Op == "Mul" && x == y {
			return r.b.Square(x), ""
		}
		sign := map[string]float64{"Add": 1, "Sub": -1}[n.Op]
		if sign == 0 {
			return 0, "of two results"
		}
		for _, pair := range [][2]*int{{&x, &y}, {&y, &x}} { // a single value beside several
			if to := r.b.Shape(*pair[1]); r.b.Shape(*pair[0]).Size() == 1 && to.Size() > 1 && len(r.b.Shape(*pair[0])) <= len(to) {
				*pair[0] = r.b.Repeat(*pair[0], to...)
			}
		}
		return r.b.Sum([]float64{1, sign}, x, y), ""
	}
	in, at := x, 1
	if okY {
		in, at = y, 0
	}
	t, c, reason := r.needed(n, at)
	if reason != "" {
		return 0, reason
	}
	shape := append(Shape{1}, r.b.Shape(in)...)
	c, ok := broadcast(c, toInts(t.Dims), shape)
	if !ok {
		return 0, fmt.Sprintf("a constant of dimensions %v with %v", t.Dims, shape)
	}
	s, o := make([]float64, len(c)), make([]float64, len(c))
	for i, v := range c {
		switch {
		case n.Op == "Add":
			s[i], o[i] = 1, v
		case n.Op == "Sub" && at == 1:
			s[i], o[i] = 1, -v
		case n.Op == "Sub":
			s[i], o[i] = -1, v
		case n.Op == "Mul":
			s[i] = v
		case at == 1 && v != 0:
			s[i] = 1 / v
		default:
			return 0, "a division by 0, or by a result"
		}
	}
	return r.b.Scale(in, s, o, nil), ""
}

// broadcast repeats a constant of dimensions dims to a shape, by NumPy's rule; ok is false where it does not fit.
func broadcast(c []float64, dims []int, shape Shape) (out []float64, ok bool) {
	for len(dims) > len(shape) && dims[0] == 1 {
		dims = dims[1:]
	}
	if len(dims) > len(shape) || Shape(dims).Size() != len(c) {
		return nil, false
	}
	padded := append(slices.Repeat([]int{1}, len(shape)-len(dims)), dims...)
	strides := stridesOf(padded)
	for i, d := range padded {
		switch d {
		case shape[i]:
		case 1:
			strides[i] = 0
		default:
			return nil, false
		}
	}
	out = make([]float64, 0, shape.Size())
	each(shape, func(index []int) {
		at := 0
		for i, v := range index {
			at += v * strides[i]
		}
		out = append(out, c[at])
	})
	return out, true
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

func (r *reader) leaky(n *onnxfile.Node) (int, string) {
	in, ok := r.layer(n, 0)
	if !ok {
		return 0, "its input is constant"
	}
	return r.b.LeakyReLU(in, float64(n.Float("alpha", 0.01))), ""
}

func (r *reader) clip(n *onnxfile.Node) (int, string) {
	in, ok := r.layer(n, 0)
	if !ok {
		return 0, "its input is constant"
	}
	ends := [2]float64{math.Inf(-1), math.Inf(1)}
	for i, name := range []string{"min", "max"} {
		if n.Attribute(name) != nil {
			ends[i] = float64(n.Float(name, 0))
		}
		t, v, reason := r.constant(n, i+1)
		if reason != "" {
			return 0, reason
		}
		if t != nil && len(v) == 1 {
			ends[i] = v[0]
		}
	}
	return r.b.Clip(in, ends[0], ends[1]), ""
}

func (r *reader) pool(n *onnxfile.Node) (int, string) {
	in, ok := r.layer(n, 0)
	if !ok {
		return 0, "its input is constant"
	}
	if len(n.Outputs) > 1 && n.Outputs[1] != "" {
		return 0, "indices as a second output"
	}
	o := PoolOptions{CountPadding: n.Int("count_include_pad", 0) != 0, CeilMode: n.Int("ceil_mode", 0) != 0}
	global := n.Op == "GlobalAveragePool" || n.Op == "GlobalMaxPool"
	if !global {
		var reason string
		if o.ConvOptions, reason = r.window(n, r.b.Shape(in), toInts(n.Ints("kernel_shape"))); reason != "" {
			return 0, reason
		}
	}
	if n.Op == "AveragePool" || n.Op == "GlobalAveragePool" {
		return r.b.AveragePool(in, o), ""
	}
	return r.b.MaxPool(in, o), ""
}

// reduceMean is global average pooling where the axes are those of the image.
func (r *reader) reduceMean(n *onnxfile.Node) (int, string) {
	in, ok := r.layer(n, 0)
	if !ok {
		return 0, "its input is constant"
	}
	axes, reason := r.integers(n, 1, "axes")
	if reason != "" {
		return 0, reason
	}
	rank := len(r.b.Shape(in)) + 1
	for i, a := range axes {
		if a < 0 {
			axes[i] += rank
		}
	}
	slices.Sort(axes)
	if rank != 4 || !slices.Equal(axes, []int{2, 3}) {
		return 0, fmt.Sprintf("over axes %v of %d; the mean over height and width is read", axes, rank)
	}
	pooled := r.b.AveragePool(in, PoolOptions{})
	if n.Int("keepdims", 1) == 0 && r.b.err == nil {
		pooled = r.b.Reshape(pooled, r.b.Shape(pooled)[0])
	}
	return pooled, ""
}

func (r *reader) reduceLogSumExp(n *onnxfile.Node) (int, string) {
	in, ok := r.layer(n, 0)
	if !ok {
		return 0, "its input is constant"
	}
	axes, reason := r.integers(n, 1, "axes")
	if reason != "" {
		return 0, reason
	}
	if shape := r.b.Shape(in); len(shape) != 1 || len(axes) != 1 || axes[0] != 1 && axes[0] != -1 || n.Int("keepdims", 1) == 0 {
		return 0, fmt.Sprintf("over axes %v of %v; that of all values is read, with keepdims", axes, shape)
	}
	return r.b.LogSumExp(in), ""
}

func (r *reader) pad(n *onnxfile.Node) (int, string) {
	in, ok := r.layer(n, 0)
	if !ok {
		return 0, "its input is constant"
	}
	if mode := n.Text("mode", "constant"); mode != "constant" {
		return 0, fmt.Sprintf("mode %q", mode)
	}
	if len(n.Inputs) > 3 && n.Inputs[3] != "" {
		return 0, "axes"
	}
	pads, reason := r.integers(n, 1, "pads")
	if reason != "" {
		return 0, reason
	}
	rank := len(r.b.Shape(in)) + 1
	if len(pads) != 2*rank || pads[0] != 0 || pads[rank] != 0 {
		return 0, fmt.Sprintf("pads %v of %d axes", pads, rank)
	}
	value := float64(n.Float("value", 0))
	if _, v, reason := r.constant(n, 2); reason != "" {
		return 0, reason
	} else if len(v) == 1 {
		value = v[0]
	}
	return r.b.Pad(in, pads[1:rank], pads[rank+1:], value), ""
}

// reshape is Flatten, Reshape, Squeeze or Unsqueeze.
func (r *reader) reshape(n *onnxfile.Node) (int, string) {
	in, ok := r.layer(n, 0)
	if !ok {
		return 0, "its input is constant"
	}
	from := r.b.Shape(in)
	rank := len(from) + 1
	to := slices.Clone(from)
	var reason string
	switch n.Op {
	case "Flatten":
		axis := int(n.Int("axis", 1))
		if axis < 0 {
			axis += rank
		}
		if axis != 1 {
			return 0, fmt.Sprintf("at axis %d; 1 is read", axis)
		}
		to = Shape{from.Size()}
	case "Reshape":
		dims, why := r.integers(n, 1, "shape")
		if why != "" {
			return 0, why
		}
		if to, reason = reshaped(from, dims); reason != "" {
			return 0, reason
		}
	case "Squeeze", "Unsqueeze":
		axes, why := r.integers(n, 1, "axes")
		if why != "" {
			return 0, why
		}
		if to, reason = squeezed(from, axes, n.Op == "Unsqueeze"); reason != "" {
			return 0, reason
		}
	}
	if slices.Equal(to, from) {
		return in, ""
	}
	return r.b.Reshape(in, to...), ""
}

func squeezed(from Shape, axes []int, insert bool) (Shape, string) {
	rank := len(from) + 1
	if insert {
		rank += len(axes)
	}
	set := map[int]bool{}
	for _, a := range axes {
		if a < 0 {
			a += rank
		}
		if a < 1 || a >= rank {
			return nil, fmt.Sprintf("axes %v of %v", axes, from)
		}
		set[a] = true
	}
	var out Shape
	if insert {
		next := 0
		for a := 1; a < rank; a++ {
			if set[a] {
				out = append(out, 1)
				continue
			}
			out = append(out, from[next])
			next++
		}
		return out, ""
	}
	for i, d := range from {
		if set[i+1] || len(axes) == 0 && d == 1 {
			if d != 1 {
				return nil, fmt.Sprintf("axes %v of %v", axes, from)
			}
			continue
		}
		out = append(out, d)
	}
	if len(out) == 0 {
		out = Shape{1}
	}
	return out, ""
}

func (r *reader) transpose(n *onnxfile.Node) (int, string) {
	in, ok := r.layer(n, 0)
	if !ok {
		return 0, "its input is constant"
	}
	order := toInts(n.Ints("perm"))
	rank := len(r.b.Shape(in)) + 1
	if len(order) != rank || order[0] != 0 {
		return 0, fmt.Sprintf("order %v of %d axes; the batch stays first", order, rank)
	}
	shifted := make([]int, rank-1)
	for i := range shifted {
		shifted[i] = order[i+1] - 1
	}
	return r.b.Transpose(in, shifted...), ""
}

func (r *reader) concat(n *onnxfile.Node) (int, string) {
	var layers []int
	for i := range n.Inputs {
		l, ok := r.layer(n, i)
		if !ok {
			return 0, "results and constants together"
		}
		layers = append(layers, l)
	}
	axis := int(n.Int("axis", 0))
	if axis < 0 {
		axis += len(r.b.Shape(layers[0])) + 1
	}
	if axis < 1 {
		return 0, "along the batch"
	}
	return r.b.Concat(axis-1, layers...), ""
}
