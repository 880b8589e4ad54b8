package netgraph

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
)

// mixture is ln of the two densities: of w = x·T + s and a component, ln weight − d/2·ln σ² − (|w|²
// − 2·w·µ + |µ|²)/2σ².
func (g *grapher) mixture(x span, lookup Lookup) span {
	take := func(name string) *Node { return lookup(netparts.Densities + "/" + name) }
	transform := take("transform")
	if g.averages != nil { // they stay
		for _, name := range []string{"transform", "shift", "in/log-weights", "out/log-weights"} {
			g.averages[netparts.Densities+"/"+name] = take(name)
		}
	}
	w := x.both(flatten).linear(
		func(x *Node) *Node { return g.dense(x, transform, take("shift")) },
		func(r *Node) *Node { return MatMul(r, absolute(transform)) })
	d := transform.Shape().Dimensions[0]
	norm := w.squares()
	var all []span
	for _, side := range netparts.MixtureSides {
		means, variances := take(side+"/means"), take(side+"/log-variances")
		half := MulScalar(Exp(Neg(variances)), 0.5) // [components]
		slopes := Transpose(Mul(means, MulScalar(InsertAxes(half, -1), 2)), 0, 1)
		offset := Sub(Sub(take(side+"/log-weights"), MulScalar(variances, float64(d)/2)),
			Mul(half, ReduceSum(Mul(means, means), -1)))
		row := func(x *Node) *Node { return Reshape(x, 1, -1) }
		terms := w.linear(
			func(w *Node) *Node { return Add(MatMul(w, slopes), row(offset)) },
			func(r *Node) *Node { return MatMul(r, absolute(slopes)) })
		terms.centre = Sub(terms.centre, Mul(norm.centre, row(half)))
		if terms.radius != nil {
			terms.radius = Add(terms.radius, Mul(norm.radius, row(half)))
		}
		all = append(all, terms.monotone(logSum))
	}
	return span{Concatenate([]*Node{all[0].centre, all[1].centre}, -1), joinRadii(all)}
}

func joinRadii(all []span) *Node {
	if all[0].radius == nil {
		return nil
	}
	return Concatenate([]*Node{all[0].radius, all[1].radius}, -1)
}

// logSum is ln Σ exp over the last axis, which stays with one value.
func logSum(x *Node) *Node {
	top := StopGradient(ReduceAndKeep(x, ReduceMax, -1))
	return Add(top, Log(ReduceAndKeep(Exp(Sub(x, top)), ReduceSum, -1)))
}

// squares is the sum of squares of a row.
func (s span) squares() span {
	sum := func(x *Node) *Node { return ReduceAndKeep(x, ReduceSum, -1) }
	if s.radius == nil {
		return span{sum(Mul(s.centre, s.centre)), nil}
	}
	size := Abs(s.centre)
	most, least := Add(size, s.radius), MaxScalar(Sub(size, s.radius), 0)
	c, r := fromEnds(sum(Mul(least, least)), sum(Mul(most, most)))
	return span{c, r}
}

// odds is h of what stands beside a classifier: its one value, or the difference of two.
func (s span) odds() span {
	if s.centre.Shape().Dimensions[1] == 1 {
		return s
	}
	at := func(x *Node, i int) *Node { return Slice(x, AxisRange(), AxisRange(i, i+1)) }
	h := span{Sub(at(s.centre, 0), at(s.centre, 1)), nil}
	if s.radius != nil {
		h.radius = Add(at(s.radius, 0), at(s.radius, 1))
	}
	return h
}
