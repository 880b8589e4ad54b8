package feedforward

import (
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/onnxfile"
)

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
