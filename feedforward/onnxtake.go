package feedforward

import (
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/array"
	"github.com/certspec/certspec/internal/feedforward/graph"
	"github.com/certspec/certspec/internal/onnxfile"
)

// take is an operator that moves values: the same operator on their places says where each comes from.
func (r *reader) take(n *onnxfile.Node) (int, string) {
	in, dims, reason := r.result(n)
	if reason == "" && r.open {
		reason = r.takesAll(n, dims)
	}
	if reason != "" {
		return 0, reason
	}
	places := r.places(dims)
	inputs := []*graph.Constant{places}
	for _, name := range n.Inputs[1:] {
		var c *graph.Constant
		if name != "" {
			if c, reason = r.value(name); reason == "" && slices.Contains(c.Sized, true) {
				reason = fmt.Sprintf("input %q depends on the number of images", name)
			}
			if reason != "" {
				return 0, reason
			}
		}
		inputs = append(inputs, c)
	}
	c, reason := graph.Fold(n, inputs, r.room)
	if reason != "" {
		return 0, reason
	}
	if n.Op == "GatherND" {
		before := len(inputs[1].Dims) - 1
		if r.batch[n.Outputs[0]] = before + r.batch[n.Inputs[0]] - inputs[1].Dims[before]; r.batch[n.Outputs[0]] < before {
			return 0, "it gathers along the batch; expected a Transpose in front that puts it behind"
		}
	}
	return r.placed(n, in, c, r.batch[n.Outputs[0]])
}

func (r *reader) places(dims []int) *graph.Constant {
	c := &graph.Constant{Kind: onnxfile.Int64, Dims: dims}
	for i := range array.Size(dims) {
		c.Whole = append(c.Whole, int64(i))
	}
	return c
}

// placed is a layer of the values at places, of dimensions with the batch at an axis.
func (r *reader) placed(n *onnxfile.Node, in int, places *graph.Constant, batch int) (int, string) {
	if batch >= len(places.Dims) || places.Dims[batch] != 1 || len(places.Dims) < 2 {
		return 0, fmt.Sprintf("a result of dimensions %v; expected that of the batch at axis %d", places.Dims, batch)
	}
	from, next := make([]float64, len(places.Whole)), 0
	for i, v := range places.Whole {
		from[i] = float64(v)
	}
	shape := slices.Delete(slices.Clone(places.Dims), batch, batch+1)
	return r.b.Name(n.Name).with(from).arrange("Take", in, shape, 0, func([]int) int {
		next++
		return int(places.Whole[next-1])
	}), ""
}

// takesAll says why Slice or Gather of a batch of any size may not take all images.
func (r *reader) takesAll(n *onnxfile.Node, dims []int) string {
	const reason = "it takes some images of a batch, or joins them; expected another axis than the first"
	switch n.Op {
	case "Gather":
		if axis, _ := graph.Axis(int(n.Int("axis", 0)), len(dims)); axis == 0 {
			return reason
		}
	case "Slice":
		var lists [4][]int
		for i, name := range []string{"starts", "ends", "axes", "steps"} {
			var why string
			if lists[i], why = r.integers(n, 1+i, name); why != "" {
				return why
			}
		}
		for i, start := range lists[0] {
			axis, step := i, 1
			if i < len(lists[2]) {
				axis, _ = graph.Axis(lists[2][i], len(dims))
			}
			if i < len(lists[3]) {
				step = lists[3][i]
			}
			if axis == 0 && (start != 0 || step != 1 || i >= len(lists[1]) || lists[1][i] < math.MaxInt32) {
				return reason
			}
		}
	}
	return ""
}

// split names the parts of a result along an axis.
func (r *reader) split(n *onnxfile.Node) (layer int, reason string) {
	in, dims, reason := r.result(n)
	if reason != "" {
		return 0, reason
	}
	axis, sizes, reason := graph.Parts(n, dims, r.lists(n))
	if reason == "" && axis == 0 {
		reason = "it splits the batch"
	}
	if reason != "" {
		return 0, reason
	}
	from, strides := 0, array.Strides(dims)
	for i := len(sizes) - 1; i >= 0; i-- { // node names the first part
		from += sizes[i]
		part := slices.Clone(dims)
		part[axis] = sizes[i]
		start := (dims[axis] - from) * strides[axis]
		c := r.places(dims).Taken(part, func(index []int) int { return start + array.At(index, strides) })
		if layer, reason = r.placed(n, in, c, 0); reason != "" || r.b.err != nil {
			return 0, reason
		}
		if name := n.Outputs[i]; name != "" && i > 0 {
			r.layers[name], r.types[name] = layer, r.kind
		}
	}
	return layer, ""
}

// concat joins results and constants along an axis.
func (r *reader) concat(n *onnxfile.Node) (int, string) {
	at := slices.IndexFunc(n.Inputs, func(name string) bool { _, ok := r.layers[name]; return ok })
	rank := len(r.b.Shape(r.layers[n.Inputs[at]])) + 1
	axis, ok := graph.Axis(int(n.Int("axis", 0)), rank)
	if !ok || axis == 0 {
		return 0, fmt.Sprintf("along axis %d of %d; expected another than that of the batch", n.Int("axis", 0), rank)
	}
	var layers []int
	for i := range n.Inputs {
		l, ok := r.layer(n, i)
		if !ok {
			c, reason := r.parameter(n, i)
			if reason == "" && (len(c.Dims) != rank || c.Dims[0] != 1) {
				reason = fmt.Sprintf("a constant of dimensions %v beside results of rank %d, with one image", c.Dims, rank)
			}
			if reason != "" {
				return 0, reason
			}
			l = r.constant(c)
		}
		layers = append(layers, l)
	}
	return r.b.Concat(axis-1, layers...), ""
}

// constant is a layer that has the values of a constant, whatever the image is.
func (r *reader) constant(c *graph.Constant) int {
	zero := r.b.arrange("Take", 0, c.Dims[1:], 0, func([]int) int { return -1 })
	return r.b.Scale(zero, slices.Repeat([]float64{1}, c.Size()), c.Real, nil)
}
