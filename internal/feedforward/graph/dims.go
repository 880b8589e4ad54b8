package graph

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/array"
	"github.com/certspec/certspec/internal/onnxfile"
)

// Lists gives the integers of an input or, where that is left out, of an attribute; nil where there are none.
type Lists func(input int, attribute string) (values []int, reason string)

// NewDims are the dimensions that Reshape, Flatten, Squeeze or Unsqueeze gives to values of others.
func NewDims(n *onnxfile.Node, from []int, list Lists) (dims []int, reason string) {
	if n.Op == "Flatten" {
		axis := int(n.Int("axis", 1))
		if axis < 0 {
			axis += len(from)
		}
		if axis < 0 || axis > len(from) {
			return nil, fmt.Sprintf("at axis %d of dimensions %v", n.Int("axis", 1), from)
		}
		return []int{array.Size(from[:axis]), array.Size(from[axis:])}, ""
	}
	name := "axes"
	if n.Op == "Reshape" {
		name = "shape"
	}
	values, reason := list(1, name)
	if reason != "" {
		return nil, reason
	}
	if n.Op == "Reshape" {
		return reshaped(from, values, n.Int("allowzero", 0) != 0)
	}
	if n.Op == "Unsqueeze" {
		return unsqueezed(from, values)
	}
	if values == nil {
		return slices.DeleteFunc(slices.Clone(from), func(d int) bool { return d == 1 }), ""
	}
	set, reason := Axes(values, len(from))
	dims = []int{}
	for i, d := range from {
		switch {
		case !set[i]:
			dims = append(dims, d)
		case d != 1:
			return nil, fmt.Sprintf("axes %v of dimensions %v", values, from)
		}
	}
	return dims, reason
}

func unsqueezed(from, axes []int) (dims []int, reason string) {
	rank := len(from) + len(axes)
	set, reason := Axes(axes, rank)
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

// reshaped resolves a list of dimensions: 0 keeps one, unless zeros are allowed, and one −1 takes the rest.
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
	all := array.Size(from)
	known, ok := array.Fits(dims)
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

// Permutation is the order of axes that Transpose makes, all turned around where it names none.
func Permutation(n *onnxfile.Node, rank int) ([]int, string) {
	order := Ints(n.Ints("perm"))
	if order == nil {
		for i := range rank {
			order = append(order, rank-1-i)
		}
	}
	if set, reason := Axes(order, rank); reason != "" || len(set) != rank || len(order) > 0 && slices.Min(order) < 0 {
		return nil, fmt.Sprintf("order %v of %d axes", order, rank)
	}
	return order, ""
}

// Axis is an axis counted from the front.
func Axis(axis, rank int) (int, bool) {
	if axis < 0 {
		axis += rank
	}
	return axis, axis >= 0 && axis < rank
}

// Axes are different axes counted from the front.
func Axes(axes []int, rank int) (map[int]bool, string) {
	set := map[int]bool{}
	for _, a := range axes {
		axis, ok := Axis(a, rank)
		if !ok || set[axis] {
			return nil, fmt.Sprintf("axes %v of %d", axes, rank)
		}
		set[axis] = true
	}
	return set, ""
}

// Ints are the integers of an attribute; nil stays nil.
func Ints(v []int64) []int {
	if v == nil {
		return nil
	}
	out := make([]int, len(v))
	for i, x := range v {
		out[i] = int(x)
	}
	return out
}
