// Package loss holds the losses of training as GoMLX graphs.
//
// Logits are [N, K] for N images in K classes, [m, N, K] with m noise samples of each image, or [v, m, N, K] with v
// views of m noise samples each. Labels are [N], int32. Every loss is a mean over the N images, in nats. Nothing in it
// is held constant under differentiation unless its comment says so. Float32 and float64 both work.
package loss

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
)

// Term is a summand of a loss, a scalar, with the weight already in it.
type Term struct {
	Name  string // e.g. "cross-entropy"
	Value *Node
}

// CrossEntropy is the mean over all noise samples of log Σ_c exp(z_c) − z_label.
func CrossEntropy(logits, labels *Node) *Node { return ReduceAllMean(crossEntropies(logits, labels)) }

// crossEntropies is that of each noise sample.
func crossEntropies(logits, labels *Node) *Node {
	z := Sub(logits, StopGradient(ReduceAndKeep(logits, ReduceMax, -1)))
	right := overSamples(OneHot(labels, z.Shape().Dim(-1), z.DType()), z)
	return Sub(Log(ReduceSum(Exp(z), -1)), ReduceSum(Mul(right, z), -1))
}

// overSamples gives x [N, K] the leading axes of like, of length 1.
func overSamples(x, like *Node) *Node {
	for x.Rank() < like.Rank() {
		x = InsertAxes(x, 0)
	}
	return x
}

// logMean is the logarithm of the mean over the first axis of probabilities that are given by their logarithms.
func logMean(logP *Node) *Node {
	top := StopGradient(ReduceAndKeep(logP, ReduceMax, 0))
	return Add(Squeeze(top, 0), Log(ReduceMean(Exp(Sub(logP, top)), 0)))
}

// kl is the divergence Σ_c p_c·(log p_c − log q_c) over the last axis, of distributions given by their logarithms.
func kl(logP, logQ *Node) *Node {
	return ReduceSum(Mul(Exp(logP), Sub(logP, logQ)), -1)
}

// atLeast is log(max(p, floor)) of log p.
func atLeast(logP *Node, floor float64) *Node {
	return MaxScalar(logP, math.Log(floor))
}
