package feedforward

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/array"
	"github.com/certspec/certspec/internal/feedforward/graph"
	"github.com/certspec/certspec/internal/onnxfile"
)

// reduceMean is global average pooling where the axes are the image's; other axes become axes of length one.
func (r *reader) reduceMean(n *onnxfile.Node) (int, string) {
	in, dims, reason := r.result(n)
	if reason != "" {
		return 0, reason
	}
	axes, reason := r.integers(n, 1, "axes")
	if reason != "" {
		return 0, reason
	}
	over, reason := graph.Axes(axes, len(dims))
	if reason != "" || len(axes) == 0 || over[0] {
		return 0, fmt.Sprintf("over axes %v of %d; the mean over others than the batch is read", axes, len(dims))
	}
	var kept, order, last, to []int
	for i, d := range dims[1:] {
		switch {
		case !over[1+i]:
			kept, order, to = append(kept, d), append(order, i), append(to, d)
			continue
		case n.Int("keepdims", 1) != 0:
			to = append(to, 1)
		}
		last = append(last, i)
	}
	if !slices.Equal(dims, []int{1, array.Size(kept), dims[len(dims)-2], dims[len(dims)-1]}) || len(last) != 2 {
		if order = append(order, last...); !slices.IsSorted(order) {
			in = r.b.Transpose(in, order...)
		}
		in = r.b.Reshape(in, array.Size(kept), array.Size(dims)/array.Size(kept), 1)
	}
	if in = r.b.AveragePool(in, PoolOptions{}); r.b.err != nil {
		return 0, ""
	}
	if !slices.Equal(r.b.Shape(in), to) {
		in = r.b.Reshape(in, to...)
	}
	return in, ""
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
