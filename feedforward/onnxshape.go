package feedforward

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/array"

	"github.com/certspec/certspec/internal/feedforward/graph"
	"github.com/certspec/certspec/internal/onnxfile"
)

// reshape is Flatten, Reshape, Squeeze or Unsqueeze.
func (r *reader) reshape(n *onnxfile.Node) (int, string) {
	in, from, reason := r.result(n)
	if reason != "" {
		return 0, reason
	}
	dims, reason := graph.NewDims(n, from, r.lists(n))
	if reason == "" && r.open {
		reason = r.keepsBatch(n)
	}
	if reason != "" {
		return 0, reason
	}
	return r.shaped(in, dims)
}

// keepsBatch says why a reshape of a batch of any size may give another axis than the first to its images.
func (r *reader) keepsBatch(n *onnxfile.Node) string {
	joins := "joins images of a batch, or moves them to another axis"
	switch n.Op {
	case "Flatten":
		if n.Int("axis", 1) == 0 {
			return joins
		}
	case "Reshape":
		c, reason := r.value(n.Inputs[1])
		if reason != "" {
			return reason
		}
		first := len(c.Whole) > 0 && (c.Whole[0] == -1 || c.Whole[0] == 0 && n.Int("allowzero", 0) == 0 ||
			c.Sized != nil && c.Sized[0])
		if !first || c.Sized != nil && slices.Contains(c.Sized[1:], true) {
			return joins
		}
	default:
		axes, reason := r.integers(n, 1, "axes")
		if reason != "" {
			return reason
		}
		rank := len(r.b.Shape(r.layers[n.Inputs[0]])) + 1
		if n.Op == "Unsqueeze" {
			rank += len(axes)
		}
		if set, reason := graph.Axes(axes, rank); reason != "" || set[0] || axes == nil {
			return joins
		}
	}
	return ""
}

// shaped is a layer with other dimensions, of which the first is the batch.
func (r *reader) shaped(in int, dims []int) (int, string) {
	switch shape := r.b.Shape(in); {
	case len(dims) == 0 || dims[0] != 1:
		return 0, fmt.Sprintf("%v to dimensions %v, of which the first is not that of the batch", append([]int{1},
			shape...), dims)
	case slices.Equal(dims[1:], shape):
		return in, ""
	}
	return r.b.Reshape(in, dims[1:]...), ""
}

// repeated is a layer with larger dimensions by NumPy's rule, of which the first is the batch.
func (r *reader) repeated(in int, dims []int) (int, string) {
	if array.Size(dims) == r.b.Shape(in).Size() {
		return r.shaped(in, dims)
	}
	if dims[0] != 1 {
		return 0, fmt.Sprintf("%v to dimensions %v, along the batch", append([]int{1}, r.b.Shape(in)...), dims)
	}
	return r.b.Repeat(in, dims[1:]...), ""
}

func (r *reader) transpose(n *onnxfile.Node) (int, string) {
	in, dims, reason := r.result(n)
	if reason != "" {
		return 0, reason
	}
	order, reason := graph.Permutation(n, len(dims))
	if reason != "" {
		return 0, reason
	}
	if at := slices.Index(order, r.batch[n.Inputs[0]]); order[0] != 0 || at != 0 {
		r.batch[n.Outputs[0]] = at
		return r.take(n)
	}
	shifted := make([]int, len(order)-1)
	for i := range shifted {
		shifted[i] = order[i+1] - 1
	}
	return r.b.Transpose(in, shifted...), ""
}

func (r *reader) pad(n *onnxfile.Node) (int, string) {
	in, dims, reason := r.result(n)
	if reason != "" {
		return 0, reason
	}
	if mode := n.Text("mode", "constant"); mode != "constant" {
		return 0, fmt.Sprintf("mode %q", mode)
	}
	pads, reason := r.integers(n, 1, "pads")
	if reason != "" {
		return 0, reason
	}
	axes, reason := r.integers(n, 3, "axes")
	if reason != "" {
		return 0, reason
	}
	if axes == nil {
		for i := range dims {
			axes = append(axes, i)
		}
	}
	if _, reason := graph.Axes(axes, len(dims)); reason != "" || len(pads) != 2*len(axes) {
		return 0, fmt.Sprintf("pads %v along axes %v of dimensions %v", pads, axes, dims)
	}
	before, after := make([]int, len(dims)), make([]int, len(dims))
	for i, a := range axes {
		axis, _ := graph.Axis(a, len(dims))
		before[axis], after[axis] = pads[i], pads[len(axes)+i]
	}
	if before[0] != 0 || after[0] != 0 {
		return 0, fmt.Sprintf("pads %v along the batch", pads)
	}
	value := float64(n.Float("value", 0))
	switch c, reason := r.parameter(n, 2); {
	case reason != "":
		return 0, reason
	case c != nil && c.Size() != 1:
		return 0, fmt.Sprintf("%d values to pad with", c.Size())
	case c != nil:
		value = c.Real[0]
	}
	return r.b.Pad(in, before[1:], after[1:], value), ""
}
