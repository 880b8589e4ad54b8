package feedforward

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/internal/onnxfile"
)

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
