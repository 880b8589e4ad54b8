package loss

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// CATRS is the loss of confidence-aware training (Jeong, Kim and Shin 2023, arXiv 2212.09000) for m noise samples of
// each image, logits [m, N, K]. The logits attacked [m, N, K] are of the same image under noises that an adversary has
// moved by at most ε. Let ℓ_(1) ≤ … ≤ ℓ_(m) be the sorted cross-entropies of the logits, p the share of them whose
// largest entry is the label's, and k ~ Bin(m, p), at least 1. The loss is the mean over the images of
//
//	(1/m) Σ_{i ≤ k} ℓ_(i) + λ·[k = m]·max_i KL(ŷ ‖ softmax(attacked_i)).
//
// The first sum is divided by m, not by k, as in the authors' code. Soft is ŷ [N, K], probabilities. Draws [N, m] are
// uniform on [0, 1): k is how many of an image's are below p. Neither k nor the order is differentiated.
func CATRS(logits, attacked, labels, soft, draws *Node, lambda float64) []Term {
	m, dtype := logits.Shape().Dim(0), logits.DType()
	each := crossEntropies(logits, labels)
	top := ArgMax(logits, -1, dtypes.Int32)
	right := ConvertDType(Equal(top, BroadcastToShape(InsertAxes(labels, 0), top.Shape())), dtype)
	p := InsertAxes(ReduceMean(right, 0), -1)
	k := ReduceSum(ConvertDType(LessThan(ConvertDType(draws, dtype), BroadcastToShape(p, draws.Shape())), dtype), -1)
	k = MaxScalar(k, 1.0)

	// The place of each among the m: how many are smaller, or as large and before it.
	a, b := InsertAxes(each, 1), InsertAxes(each, 0) // [m, 1, N], [1, m, N]
	shape := each.Shape().Clone()
	shape.Dimensions = append([]int{m}, shape.Dimensions...)
	a, b = BroadcastToShape(a, shape), BroadcastToShape(b, shape)
	index := shape.Clone()
	index.DType = dtypes.Int32
	before := LessThan(Iota(logits.Graph(), index, 1), Iota(logits.Graph(), index, 0))
	place := ReduceSum(ConvertDType(LogicalOr(LessThan(b, a), LogicalAnd(Equal(b, a), before)), dtype), 1) // [m, N]
	among := LessThan(place, BroadcastToShape(InsertAxes(k, 0), place.Shape()))
	low := DivScalar(ReduceAllSum(Where(among, each, ZerosLike(each))), float64(m*labels.Shape().Dim(0)))

	worst := ReduceMax(softKL(soft, LogSoftmax(attacked)), 0)
	all := GreaterOrEqual(k, Scalar(k.Graph(), dtype, float64(m)))
	high := ReduceAllMean(Where(all, worst, ZerosLike(worst)))
	return []Term{{"cross-entropy", low}, {"worst noise", MulScalar(high, lambda)}}
}

// softKL is Σ_c ŷ_c·(log ŷ_c − log q_c) with 0·log 0 = 0, of probabilities ŷ [N, K] and logarithms [m, N, K]: [m, N].
func softKL(soft, logQ *Node) *Node {
	y := ConvertDType(soft, logQ.DType())
	entropy := Mul(y, Log(MaxScalar(y, 1e-30)))
	return ReduceSum(Sub(InsertAxes(entropy, 0), Mul(InsertAxes(y, 0), logQ)), -1)
}

// NoiseKL is the sum over images and noise samples of KL(ŷ ‖ softmax(logits)), logits [m, N, K], which the adversary of
// CATRS raises.
func NoiseKL(logits, soft *Node) *Node { return ReduceAllSum(softKL(soft, LogSoftmax(logits))) }

// SmoothMix is the loss of Jeong et al. 2021 (arXiv 2111.09277, equations 8 to 10) for m noise samples of each image,
// logits [m, N, K], and the logits mixed [m, N, K] of x + t·(x̃ − x) under the same noises. Here x̃ is an attacked
// image and t [N] lies in [0, 1/2]. With p̄ the mean of the softmax of the logits over the noises, it is the mean over
// the images of
//
//	(1/m) Σ_i CE(p_i, y)  and of  [arg max p̄ = y]·(1/m) Σ_i KL((1−t)·p̄ + t/K ‖ softmax(mixed_i)),
//
// two terms, the second without its weight. The target, too, is differentiated.
func SmoothMix(logits, mixed, labels, t *Node) []Term {
	k, dtype := logits.Shape().Dim(-1), logits.DType()
	mean := logMean(LogSoftmax(logits))
	t = InsertAxes(ConvertDType(t, dtype), -1)
	target := Add(Mul(OneMinus(t), Exp(mean)), DivScalar(t, float64(k)))
	right := Equal(ArgMax(mean, -1, dtypes.Int32), labels)
	each := ReduceMean(softKL(target, LogSoftmax(mixed)), 0)
	return []Term{
		{"cross-entropy", CrossEntropy(logits, labels)},
		{"mixup", ReduceAllMean(Where(right, each, ZerosLike(each)))},
	}
}
