package feedforward

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/internal/onnxfile"
)

// dimsOf are the dimensions of a result, with a batch of one in front of a layer's, or of a constant.
func (r *reader) dimsOf(name string) ([]int, string) {
	if layer, ok := r.layers[name]; ok {
		return append([]int{1}, r.b.Shape(layer)...), ""
	}
	c, reason := r.value(name)
	if reason != "" {
		return nil, reason
	}
	return c.dims, ""
}

// axisOf is an axis counted from the front.
func axisOf(axis, rank int) (int, bool) {
	if axis < 0 {
		axis += rank
	}
	return axis, axis >= 0 && axis < rank
}

// axesOf are different axes counted from the front.
func axesOf(axes []int, rank int) (map[int]bool, string) {
	set := map[int]bool{}
	for _, a := range axes {
		axis, ok := axisOf(a, rank)
		if !ok || set[axis] {
			return nil, fmt.Sprintf("axes %v of %d", axes, rank)
		}
		set[axis] = true
	}
	return set, ""
}

// broadcast are the dimensions that two arrays have together by NumPy's rule.
func broadcast(x, y []int) (dims []int, ok bool) {
	if len(x) < len(y) {
		x, y = y, x
	}
	dims = slices.Clone(x)
	for i, d := range y {
		switch at := &dims[len(x)-len(y)+i]; {
		case *at == 1:
			*at = d
		case d != 1 && d != *at:
			return nil, false
		}
	}
	return dims, true
}

// newDims are the dimensions that Reshape, Flatten, Squeeze or Unsqueeze gives to values of others.
func (r *reader) newDims(n *onnxfile.Node, from []int) (dims []int, reason string) {
	if n.Op == "Flatten" {
		axis := int(n.Int("axis", 1))
		if axis < 0 {
			axis += len(from)
		}
		if axis < 0 || axis > len(from) {
			return nil, fmt.Sprintf("at axis %d of dimensions %v", n.Int("axis", 1), from)
		}
		return []int{Shape(from[:axis]).Size(), Shape(from[axis:]).Size()}, ""
	}
	name := "axes"
	if n.Op == "Reshape" {
		name = "shape"
	}
	list, reason := r.integers(n, 1, name)
	if reason != "" {
		return nil, reason
	}
	if n.Op == "Reshape" {
		return reshaped(from, list, n.Int("allowzero", 0) != 0)
	}
	if n.Op == "Unsqueeze" {
		return unsqueezed(from, list)
	}
	if list == nil {
		return slices.DeleteFunc(slices.Clone(from), func(d int) bool { return d == 1 }), ""
	}
	set, reason := axesOf(list, len(from))
	dims = []int{}
	for i, d := range from {
		switch {
		case !set[i]:
			dims = append(dims, d)
		case d != 1:
			return nil, fmt.Sprintf("axes %v of dimensions %v", list, from)
		}
	}
	return dims, reason
}

func unsqueezed(from, axes []int) (dims []int, reason string) {
	rank := len(from) + len(axes)
	set, reason := axesOf(axes, rank)
	if reason != "" {
		return nil, reason
	}
	for i := range rank {
		if set[i] {
			dims = append(dims, 1)
			continue
		}
		dims, from = append(dims, from[0]), from[1:]
	}
	return dims, ""
}

// reshaped is what a list of dimensions with zeros (keep, unless these are allowed) and one −1 (the rest) stands for.
func reshaped(from, list []int, zeros bool) (dims []int, reason string) {
	dims = slices.Clone(list)
	rest := -1
	for i, d := range list {
		switch {
		case d == 0 && !zeros && i < len(from):
			dims[i] = from[i]
		case d == -1 && rest < 0:
			rest, dims[i] = i, 1
		case d < 0 || d == 0 && !zeros:
			return nil, fmt.Sprintf("dimensions %v to %v", from, list)
		}
	}
	all := Shape(from).Size()
	known, ok := sizeOf(dims)
	if rest >= 0 && ok && all%known == 0 {
		dims[rest] = all / known
		known = all
	}
	if all == 0 && rest < 0 && slices.Contains(dims, 0) {
		return dims, ""
	}
	if !ok || known != all {
		return nil, fmt.Sprintf("dimensions %v to %v", from, list)
	}
	return dims, ""
}

// permutation is the order of axes that Transpose makes, all turned around where it names none.
func permutation(n *onnxfile.Node, rank int) ([]int, string) {
	order := toInts(n.Ints("perm"))
	if order == nil {
		for i := range rank {
			order = append(order, rank-1-i)
		}
	}
	if set, reason := axesOf(order, rank); reason != "" || len(set) != rank || len(order) > 0 && slices.Min(order) < 0 {
		return nil, fmt.Sprintf("order %v of %d axes", order, rank)
	}
	return order, ""
}

// reshape is Flatten, Reshape, Squeeze or Unsqueeze.
func (r *reader) reshape(n *onnxfile.Node) (int, string) {
	in, from, reason := r.result(n)
	if reason != "" {
		return 0, reason
	}
	dims, reason := r.newDims(n, from)
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
		first := len(c.whole) > 0 && (c.whole[0] == -1 || c.whole[0] == 0 && n.Int("allowzero", 0) == 0 ||
			c.sized != nil && c.sized[0])
		if !first || c.sized != nil && slices.Contains(c.sized[1:], true) {
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
		if set, reason := axesOf(axes, rank); reason != "" || set[0] || axes == nil {
			return joins
		}
	}
	return ""
}

// shaped is a layer with other dimensions, of which the first is that of the batch.
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

// repeated is a layer with larger dimensions by NumPy's rule, of which the first is that of the batch.
func (r *reader) repeated(in int, dims []int) (int, string) {
	if Shape(dims).Size() == r.b.Shape(in).Size() {
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
	order, reason := permutation(n, len(dims))
	if reason != "" {
		return 0, reason
	}
	if order[0] != 0 {
		return 0, fmt.Sprintf("order %v; the batch stays first", order)
	}
	shifted := make([]int, len(order)-1)
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
	rank := len(r.b.Shape(layers[0])) + 1
	axis, ok := axisOf(int(n.Int("axis", 0)), rank)
	if !ok || axis == 0 {
		return 0, fmt.Sprintf("along axis %d of %d; expected another than that of the batch", n.Int("axis", 0), rank)
	}
	return r.b.Concat(axis-1, layers...), ""
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
	if _, reason := axesOf(axes, len(dims)); reason != "" || len(pads) != 2*len(axes) {
		return 0, fmt.Sprintf("pads %v along axes %v of dimensions %v", pads, axes, dims)
	}
	before, after := make([]int, len(dims)), make([]int, len(dims))
	for i, a := range axes {
		axis, _ := axisOf(a, len(dims))
		before[axis], after[axis] = pads[i], pads[len(axes)+i]
	}
	if before[0] != 0 || after[0] != 0 {
		return 0, fmt.Sprintf("pads %v along the batch", pads)
	}
	value := float64(n.Float("value", 0))
	switch c, reason := r.parameter(n, 2); {
	case reason != "":
		return 0, reason
	case c != nil && c.size() != 1:
		return 0, fmt.Sprintf("%d values to pad with", c.size())
	case c != nil:
		value = c.real[0]
	}
	return r.b.Pad(in, before[1:], after[1:], value), ""
}
