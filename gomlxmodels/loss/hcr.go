package loss

import . "github.com/gomlx/gomlx/core/graph"

// HCR is the hierarchical consistency regularisation of Sun et al. 2021 (arXiv 2112.00659,
// equations 3 and 4) for v views of each image with s noises each, logits [v, s, N, K]; the first
// view is the image itself. With p_ji = softmax(z_ji), p̄_j = Σ_i p_ji/s and p̄ = Σ_j p̄_j/v,
// clamped to [10⁻⁷, 1] in the logarithm, the mean over the images of
//
//	(1/s) Σ_i CE(p_0i, y) + (1/v) Σ_j [ λ·KL(p̄_j ‖ p̄) + η·(1/s) Σ_i KL(p_ji ‖ p̄_j) ].
//
// With reverse, the innermost divergence is KL(p̄_j ‖ p_ji), the direction of Consistency.
func HCR(logits, labels *Node, lambda, eta float64, reverse bool) []Term {
	logP := Transpose(LogSoftmax(logits), 0, 1) // [s, v, N, K]
	views := logMean(logP)                      // [v, N, K]
	each := InsertAxes(views, 0)
	noises := kl(logP, each)
	if reverse {
		noises = kl(each, logP)
	}
	all := atLeast(logMean(views), 1e-7)
	return []Term{
		{"cross-entropy", CrossEntropy(first(logits), labels)},
		{"views", MulScalar(ReduceAllMean(kl(views, InsertAxes(all, 0))), lambda)},
		{"noises", MulScalar(ReduceAllMean(noises), eta)},
	}
}
