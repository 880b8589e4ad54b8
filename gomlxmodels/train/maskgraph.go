package train

import (
	"math"
	"math/bits"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/internal/gomlxmodels/prune"
)

// keepInGraph is prune.Keep as a graph, of the same result: keep is a scalar of type int32, at least 1.
// It sorts nothing: for each bit of a magnitude, and then of a place among equals, it counts once.
func keepInGraph(tensors []*Node, keep *Node) (masks []*Node) {
	var flat []*Node
	for _, t := range tensors {
		flat = append(flat, Reshape(t, -1))
	}
	all := flat[0]
	if len(flat) > 1 {
		all = Concatenate(flat, 0)
	}
	g, n := all.Graph(), all.Shape().Size()
	whole := func(v int) *Node { return Const(g, int32(v)) }
	count := func(x *Node) *Node { return ReduceAllSum(ConvertDType(x, dtypes.Int32)) }

	magnitude := BitwiseAnd(Bitcast(all, dtypes.Int32), whole(math.MaxInt32))
	threshold := whole(0)
	for bit := 30; bit >= 0; bit-- {
		next := Add(threshold, whole(1<<bit))
		threshold = Where(GreaterOrEqual(count(GreaterOrEqual(magnitude, next)), keep), next, threshold)
	}
	above, equal := GreaterThan(magnitude, threshold), Equal(magnitude, threshold)
	ties := Sub(keep, count(above))
	// The last of the equal ones that stays is at the largest place with fewer than ties of them before it.
	place := Iota(g, magnitude.Shape(), 0)
	last := whole(0)
	for bit := bits.Len(uint(n)) - 1; bit >= 0; bit-- {
		next := Add(last, whole(1<<bit))
		last = Where(LessThan(count(And(equal, LessThan(place, next))), ties), next, last)
	}
	mask := Or(above, And(equal, LessOrEqual(place, last)))
	at := 0
	for _, t := range tensors {
		size := t.Shape().Size()
		masks = append(masks, Reshape(Slice(mask, AxisRange(at, at+size)), t.Shape().Dimensions...))
		at += size
	}
	return masks
}

// masked is x where a mask has it, and 0 elsewhere.
func masked(mask, x *Node) *Node { return Where(mask, x, ZerosLike(x)) }

// effectiveWeights are the weights that a network has, of frozen ones W under a mask, for a method that learns scores.
func effectiveWeights(m prune.Method, mask, weights *Node) *Node {
	if _, ok := m.(prune.BiProp); !ok {
		return masked(mask, weights)
	}
	kept := ConvertDType(masked(mask, Abs(weights)), dtypes.Float64) // a sum of millions in float32 would be off
	alpha := Div(ReduceAllSum(kept), ReduceAllSum(ConvertDType(mask, dtypes.Float64)))
	return masked(mask, Mul(Sign(weights), ConvertDType(alpha, weights.DType())))
}

// scoreGradient is ∂L/∂s of ∂L/∂W_eff, straight through the mask: the gradient of |s| is
// ∂L/∂W_eff·W, for BiProp as ∂L/∂W_eff·sign(W)·|W|.
func scoreGradient(gradient, weights, scores *Node) *Node {
	return Mul(Mul(gradient, weights), Sign(scores))
}
