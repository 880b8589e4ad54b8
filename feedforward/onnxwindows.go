package feedforward

import (
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/graph"
	"github.com/certspec/certspec/internal/onnxfile"
)

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
	if len(w.Dims) != 4 {
		return 0, fmt.Sprintf("weights of dimensions %v, want four", w.Dims)
	}
	if k := graph.Ints(n.Ints("kernel_shape")); k != nil && !slices.Equal(k, w.Dims[2:]) {
		return 0, fmt.Sprintf("kernel_shape %v and weights of dimensions %v", k, w.Dims)
	}
	shape := r.b.Shape(in)
	o, reason := r.window(n, shape, w.Dims[2:])
	if reason != "" {
		return 0, reason
	}
	if o.Groups = int(n.Int("group", 1)); o.Groups < 1 || shape[0]%o.Groups != 0 || w.Dims[1] != shape[0]/o.Groups {
		return 0, fmt.Sprintf("weights of dimensions %v in %d groups for an input of shape %v", w.Dims, o.Groups, shape)
	}
	return r.b.Conv(in, w.Dims[0], o, w.Real, b), ""
}

func (r *reader) pool(n *onnxfile.Node) (int, string) {
	in, _, reason := r.result(n)
	if reason != "" {
		return 0, reason
	}
	o := PoolOptions{CountPadding: n.Int("count_include_pad", 0) != 0, CeilMode: n.Int("ceil_mode", 0) != 0}
	global := n.Op == "GlobalAveragePool" || n.Op == "GlobalMaxPool"
	if !global {
		w, reason := r.window(n, r.b.Shape(in), graph.Ints(n.Ints("kernel_shape")))
		if reason != "" {
			return 0, reason
		}
		o.Kernel, o.Stride, o.Dilation, o.Pad = w.Kernel, w.Stride, w.Dilation, w.Pad
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

// window reads kernel, strides, dilations and padding.
func (r *reader) window(n *onnxfile.Node, in Shape, kernel []int) (ConvOptions, string) {
	o := ConvOptions{}
	if len(in) != 3 || len(kernel) != 2 {
		return o, fmt.Sprintf("kernel %v on %v; images of two dimensions are read", kernel, in)
	}
	o.Kernel = [2]int(kernel)
	o.Stride, o.Dilation = [2]int{1, 1}, [2]int{1, 1}
	for name, to := range map[string]*[2]int{"strides": &o.Stride, "dilations": &o.Dilation} {
		if v := graph.Ints(n.Ints(name)); v != nil {
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
	pads := graph.Ints(n.Ints("pads"))
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
