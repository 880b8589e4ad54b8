// Package outlierloss holds the losses of images that are none of the classes.
package outlierloss

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// The losses of images that are none of the classes give a value for each of M images, [M], so that
// a method may choose among them.

// LogConfidence is log max_k p_k of logits [M, K], for p = softmax(z): the out-loss of CEDA (Hein, Andriushchenko and
// Bitterwolf 2019). Its gradient is e_k* − p, with k* the first of equal classes; its minimum is −log K.
func LogConfidence(logits *Node) *Node { return largest(LogSoftmax(logits)) }

// Uniform is the cross-entropy −(1/K) Σ_k log p_k of logits [M, K] to the uniform distribution: the out-loss of outlier
// exposure (Hendrycks, Mazeika and Dietterich 2019). Its minimum is log K.
func Uniform(logits *Node) *Node { return Neg(ReduceMean(LogSoftmax(logits), -1)) }

// Span is max_k z_k − min_k z_k of logits [M, K]: the largest difference of two.
func Span(logits *Node) *Node { return Add(largest(logits), largest(Neg(logits))) }

// Widest is v = max_kl U_kl of bounds U [M, K, K] on differences of logits, at least 0 since U_kk = 0. Its gradient is
// the one of the first of equal pairs.
func Widest(u *Node) *Node { return largest(Reshape(u, u.Shape().Dimensions[0], -1)) }

// UpperBound is the loss log(1 + v²/2) of Bitterwolf, Meinke and Hein 2020 (equation 8). Here v ≥ 0 is an upper bound
// on the differences of logits, with log Conf ≤ v − log K. It is quadratic near 0 and logarithmic in large bounds.
func UpperBound(v *Node) *Node { return Log1P(MulScalar(Mul(v, v), 0.5)) }

// Smallest is true for the m smallest of M values [M], the first of equal ones. It has no gradient.
func Smallest(v *Node, m int) *Node {
	rank := ranks(v)
	return LessThan(rank, Scalar(v.Graph(), rank.DType(), m))
}

// Others are the rows [M−m, …] of [M, …] that Smallest leaves of values [M], in the order of these.
func Others(rows, v *Node, m int) *Node {
	rank, g := ranks(v), v.Graph()
	n := v.Shape().Dimensions[0]
	pairs := rank.Shape().Clone()
	pairs.Dimensions = []int{n - m, n}
	chosen := Equal(BroadcastToShape(InsertAxes(rank, 0), pairs), AddScalar(Iota(g, pairs, 0), float64(m)))
	places := Iota(g, pairs, 1)
	return Gather(rows, ReduceAndKeep(Where(chosen, places, ZerosLike(places)), ReduceSum, -1))
}

// ranks are the places of values [M] in their order, the first of equal ones first: the number of
// those before each, counted pair by pair, so that nothing is sorted.
func ranks(v *Node) *Node {
	v = StopGradient(v)
	n, g := v.Shape().Dimensions[0], v.Graph()
	square := v.Shape().Clone()
	square.Dimensions = []int{n, n}
	mine, other := BroadcastToShape(InsertAxes(v, 1), square), BroadcastToShape(InsertAxes(v, 0), square)
	place := v.Shape().Clone()
	place.DType, place.Dimensions = dtypes.Int32, []int{n, n}
	earlier := LessThan(Iota(g, place, 1), Iota(g, place, 0))
	before := LogicalOr(LessThan(other, mine), LogicalAnd(Equal(other, mine), earlier))
	return ReduceSum(ConvertDType(before, dtypes.Int32), -1)
}

// largest is the maximum over the last axis; the gradient goes to the first of equal ones.
func largest(x *Node) *Node {
	at := OneHot(ArgMax(x, -1, dtypes.Int32), x.Shape().Dim(-1), x.DType())
	return ReduceSum(Where(Equal(at, OnesLike(at)), x, ZerosLike(x)), -1)
}

// Share is the sum over the chosen of M values, divided by M.
func Share(values, chosen *Node) *Node {
	return MulScalar(ReduceAllSum(Where(chosen, values, ZerosLike(values))), 1/float64(values.Shape().Dimensions[0]))
}
