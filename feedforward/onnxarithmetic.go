package feedforward

import (
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/onnxfile"
)

func (r *reader) logSoftmax(n *onnxfile.Node) (int, string) {
	in, _, reason := r.result(n)
	if reason != "" {
		return 0, reason
	}
	if axis := int(n.Int("axis", -1)); len(r.b.Shape(in)) != 1 || axis != -1 && axis != 1 {
		return 0, fmt.Sprintf("along axis %d of %v; that of all values is read", axis, r.b.Shape(in))
	}
	return r.b.LogSoftmax(in), ""
}

// arithmetic is Add, Sub, Mul or Div with a constant, or Add or Sub of two results.
func (r *reader) arithmetic(n *onnxfile.Node) (int, string) {
	var dims [2][]int
	for i, name := range n.Inputs {
		var reason string
		if dims[i], reason = r.dimsOf(name); reason != "" {
			return 0, reason
		}
	}
	together, ok := broadcast(dims[0], dims[1])
	if !ok {
		return 0, fmt.Sprintf("dimensions %v with %v", dims[0], dims[1])
	}
	if reason := r.b.room(together, 0, 0); reason != "" {
		return 0, reason
	}
	at := 1 // of the constant, if there is one
	var layers [2]int
	for i := range layers {
		layer, isLayer := r.layer(n, i)
		if !isLayer {
			at = i
			continue
		}
		if r.open && len(dims[i]) != len(together) {
			return 0, fmt.Sprintf("dimensions %v with %v, which moves the images of a batch to another axis", dims[0],
				dims[1])
		}
		var reason string
		if layers[i], reason = r.repeated(layer, together); reason != "" {
			return 0, reason
		}
	}
	if r.b.err != nil {
		return 0, ""
	}
	if _, isLayer := r.layer(n, at); !isLayer {
		return r.withConstant(n, layers[1-at], at)
	}
	sign := map[string]float64{"Add": 1, "Sub": -1}[n.Op]
	switch {
	case n.Op == "Mul" && layers[0] == layers[1]:
		return r.b.Square(layers[0]), ""
	case sign == 0:
		return 0, "of two results"
	}
	return r.b.Sum([]float64{1, sign}, layers[0], layers[1]), ""
}

// withConstant is arithmetic on a layer and the constant that an input names.
func (r *reader) withConstant(n *onnxfile.Node, in, at int) (int, string) {
	c, reason := r.parameter(n, at)
	if reason != "" {
		return 0, reason
	}
	shape := append([]int{1}, r.b.Shape(in)...)
	kept := len(shape) // axes up to the last one along which the constant changes
	for missing := len(shape) - len(c.dims); kept > 0 && (kept <= missing || c.dims[kept-1-missing] == 1); {
		kept--
	}
	l := &scale{times: Shape(shape[kept:]).Size()}
	changing := Shape(shape[:kept]).Size()
	if reason := r.b.room(nil, 0, 16*changing); reason != "" {
		return 0, reason
	}
	values := c.reshaped(c.dims[:max(0, len(c.dims)-len(shape)+kept)]).spread(shape[:kept])
	l.s, l.t = make([]float64, changing), make([]float64, changing)
	for i, v := range values.real {
		switch {
		case n.Op == "Add":
			l.s[i], l.t[i] = 1, v
		case n.Op == "Sub" && at == 1:
			l.s[i], l.t[i] = 1, -v
		case n.Op == "Sub":
			l.s[i], l.t[i] = -1, v
		case n.Op == "Mul":
			l.s[i] = v
		case at == 1 && math.Abs(v) >= tiny:
			l.s[i] = 1 / v
		case at == 1:
			return 0, fmt.Sprintf("a division by %v, which may be flushed to 0", v)
		default:
			return 0, "a division by a result"
		}
	}
	if err := finite(values.real); err != nil {
		return 0, err.Error()
	}
	l.fold = folding{largest(l.s), largest(l.t), 1}
	return r.b.scale(in, l), ""
}

func (r *reader) leaky(n *onnxfile.Node) (int, string) {
	in, _, reason := r.result(n)
	if reason != "" {
		return 0, reason
	}
	return r.b.LeakyReLU(in, float64(n.Float("alpha", 0.01))), ""
}

func (r *reader) clip(n *onnxfile.Node) (int, string) {
	in, _, reason := r.result(n)
	if reason != "" {
		return 0, reason
	}
	ends := [2]float64{math.Inf(-1), math.Inf(1)}
	for i, name := range []string{"min", "max"} {
		if n.Attribute(name) != nil {
			ends[i] = float64(n.Float(name, 0))
		}
		switch c, reason := r.parameter(n, i+1); {
		case reason != "":
			return 0, reason
		case c != nil && (c.size() != 1 || len(c.dims) > 0):
			return 0, fmt.Sprintf("an end of dimensions %v, want a single number", c.dims)
		case c != nil:
			ends[i] = c.real[0]
		}
	}
	return r.b.Clip(in, ends[0], ends[1]), ""
}

func (r *reader) pool(n *onnxfile.Node) (int, string) {
	in, _, reason := r.result(n)
	if reason != "" {
		return 0, reason
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
	if pad := &r.b.net.nodes[in]; !global && pad.padsZeros() && !r.b.net.nonNegative(pad.in[0]) {
		return 0, "behind a Pad by 0 of values that may be negative: ONNX Runtime moves such a Pad into the windows, " +
			"where padding is no value; expected MaxPool's own pads, or a Relu in front"
	}
	return r.b.MaxPool(in, o), ""
}

// padsZeros says whether a layer puts zeros around values.
func (nd *node) padsZeros() bool {
	l, ok := nd.layer.(*arrange)
	return ok && l.constant == 0 && slices.ContainsFunc(l.from, func(i int32) bool { return i < 0 })
}

// nonNegative says whether the values of a layer are at least 0, whatever enters it.
func (n *Network) nonNegative(layer int) bool {
	nd := &n.nodes[layer]
	switch l := nd.layer.(type) {
	case *activation:
		return l.f(-math.MaxFloat64) >= 0
	case *arrange:
		if l.constant < 0 {
			return false
		}
	case *maximum, *concat:
	default:
		return false
	}
	return !slices.ContainsFunc(nd.in, func(in int) bool { return !n.nonNegative(in) })
}

// reduceMean is global average pooling where the axes are those of the image.
func (r *reader) reduceMean(n *onnxfile.Node) (int, string) {
	in, _, reason := r.result(n)
	if reason != "" {
		return 0, reason
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
	in, _, reason := r.result(n)
	if reason != "" {
		return 0, reason
	}
	axes, reason := r.integers(n, 1, "axes")
	if reason != "" {
		return 0, reason
	}
	if shape := r.b.Shape(in); len(shape) != 1 || len(axes) != 1 || axes[0] != 1 && axes[0] != -1 ||
		n.Int("keepdims", 1) == 0 {
		return 0, fmt.Sprintf("over axes %v of %v; that of all values is read, with keepdims", axes, shape)
	}
	return r.b.LogSumExp(in), ""
}
