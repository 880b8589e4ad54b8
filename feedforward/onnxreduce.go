package feedforward

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/internal/onnxfile"
)

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
