package loss

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// MACER is the loss of Zhai et al. 2020 (arXiv 2001.02378, equation 10), which maximises the certified radius, for m
// noise samples of each image, logits [m, N, K]. With p̂ = (1/m) Σ_i softmax(z_i), q = (1/m) Σ_i softmax(β·z_i), whose
// two largest entries are q₁ ≥ q₂, and ξ = Φ⁻¹(q₁) − Φ⁻¹(q₂), it is the mean over the images of
//
//	−log(p̂_y + 10⁻¹⁰) + λ·(σ/2)·(γ − ξ).
//
// The second part counts for the images whose q₁ is that of y and whose ξ is finite and at most γ.
func MACER(logits, labels *Node, sigma, lambda, gamma, beta float64) []Term {
	k := logits.Shape().Dim(-1)
	right := OneHot(labels, k, logits.DType())
	p := ReduceSum(Mul(Exp(logMean(LogSoftmax(logits))), right), -1)

	q := Exp(logMean(LogSoftmax(MulScalar(logits, beta))))
	top := ArgMax(q, -1, dtypes.Int32)
	isTop := OneHot(top, k, q.DType())
	q1 := ReduceSum(Mul(q, isTop), -1)
	rest := Sub(StopGradient(q), MulScalar(isTop, 2))
	q2 := ReduceSum(Mul(q, OneHot(ArgMax(rest, -1, dtypes.Int32), k, q.DType())), -1)

	x1, x2 := normalQuantile(StopGradient(q1)), normalQuantile(StopGradient(q2))
	margin := Sub(x1, x2)
	counts := LogicalAnd(Equal(top, labels), LogicalAnd(IsFinite(margin),
		LessOrEqual(margin, Scalar(q.Graph(), q.DType(), gamma))))
	radius := Sub(through(q1, x1, counts), through(q2, x2, counts))
	robust := Where(counts, MulScalar(AddScalar(Neg(radius), gamma), sigma/2), ZerosLike(radius))
	return []Term{
		{"classification", Neg(ReduceAllMean(Log(AddScalar(p, 1e-10))))},
		{"robustness", MulScalar(ReduceAllMean(robust), lambda)},
	}
}

// through is x = Φ⁻¹(q) with the derivative 1/φ(x), and 0 where it does not count.
func through(q, x, counts *Node) *Node {
	x = Where(counts, x, ZerosLike(x))
	density := MulScalar(Exp(MulScalar(Mul(x, x), -0.5)), 1/math.Sqrt(2*math.Pi))
	return Add(x, Div(Sub(q, StopGradient(q)), density))
}
