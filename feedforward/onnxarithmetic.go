package feedforward

import (
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/array"
	"github.com/certspec/certspec/internal/onnxfile"
)

// arithmetic is Add, Sub, Mul or Div with a constant, or Add, Sub or Mul of two results.
func (r *reader) arithmetic(n *onnxfile.Node) (int, string) {
	var dims [2][]int
	for i, name := range n.Inputs {
		var reason string
		if dims[i], reason = r.dimsOf(name); reason != "" {
			return 0, reason
		}
	}
	together, ok := array.Broadcast(dims[0], dims[1])
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
	case n.Op == "Mul":
		return r.b.Product(layers[0], layers[1]), ""
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
	for missing := len(shape) - len(c.Dims); kept > 0 && (kept <= missing || c.Dims[kept-1-missing] == 1); {
		kept--
	}
	l := &scale{times: array.Size(shape[kept:])}
	changing := array.Size(shape[:kept])
	if reason := r.b.room(nil, 0, 16*changing); reason != "" {
		return 0, reason
	}
	values := c.Reshaped(c.Dims[:max(0, len(c.Dims)-len(shape)+kept)]).Spread(shape[:kept])
	l.s, l.t = make([]float64, changing), make([]float64, changing)
	for i, v := range values.Real {
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
	if err := finite(values.Real); err != nil {
		return 0, err.Error()
	}
	l.fold = folding{array.Largest(l.s), array.Largest(l.t), 1}
	return r.b.scale(in, l), ""
}

// where is a result where a condition holds, and a constant elsewhere, or the other way round.
func (r *reader) where(n *onnxfile.Node) (int, string) {
	condition, reason := r.value(n.Inputs[0])
	if reason != "" {
		return 0, "its condition " + reason
	}
	at := 1 // of the result
	in, ok := r.layer(n, at)
	if !ok {
		at = 2
		in, _ = r.layer(n, at)
	} else if _, both := r.layer(n, 2); both {
		return 0, "of two results; expected a constant and a result"
	}
	c, reason := r.parameter(n, 3-at)
	if reason != "" {
		return 0, reason
	}
	dims, _ := r.dimsOf(n.Inputs[at])
	all, ok := array.Broadcast(dims, c.Dims)
	if ok {
		all, ok = array.Broadcast(all, condition.Dims)
	}
	if !ok || len(all) != len(dims) || condition.Kind != onnxfile.Bool || slices.Contains(condition.Sized, true) {
		return 0, fmt.Sprintf("a condition of %v%v, a constant of %v and a result of %v", condition.Kind,
			condition.Dims, c.Dims, dims)
	}
	if reason := r.b.room(all, 16, 0); reason != "" {
		return 0, reason
	}
	if in, reason = r.repeated(in, all); reason != "" || r.b.err != nil {
		return 0, reason
	}
	s, t := make([]float64, array.Size(all)), slices.Clone(c.Spread(all).Real)
	for i, holds := range condition.Spread(all).Whole {
		if (holds != 0) == (at == 1) {
			s[i], t[i] = 1, 0
		}
	}
	return r.b.Scale(in, s, t, nil), ""
}
