package loss

import . "github.com/gomlx/gomlx/core/graph"

// Consistency is the regularised loss of Jeong and Shin 2020 (arXiv 2006.04062, equations 6 and 7)
// for m noise samples of each image, logits [m, N, K]. With p_i = softmax(z_i) and p̄ = Σ_i p_i/m,
// the mean over the images of
//
//	(1/m) Σ_i CE(p_i, y) + λ·(1/m) Σ_i KL(p̄ ‖ p_i) + η·H(p̄),  H(p̄) = −Σ_c p̄_c log max(p̄_c, 10⁻²⁰).
func Consistency(logits, labels *Node, lambda, eta float64) []Term {
	logP := LogSoftmax(logits)
	mean := logMean(logP)
	entropy := Neg(ReduceSum(Mul(Exp(mean), atLeast(mean, 1e-20)), -1))
	return []Term{
		{"cross-entropy", CrossEntropy(logits, labels)},
		{"consistency", MulScalar(ReduceAllMean(kl(InsertAxes(mean, 0), logP)), lambda)},
		{"entropy", MulScalar(ReduceAllMean(entropy), eta)},
	}
}
