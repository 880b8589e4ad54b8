package loss

import . "github.com/gomlx/gomlx/core/graph"

// JSD is the loss of AugMix (Hendrycks et al. 2019, arXiv 1912.02781, equations 2 and 3) for v
// views of each image, logits [v, N, K], the first of which is the image itself. With p_j =
// softmax(z_j) and M = clamp(Σ_j p_j/v, 10⁻⁷, 1), the mean over the images of
//
//	CE(p_0, y) + weight·(1/v) Σ_j KL(p_j ‖ M).
func JSD(logits, labels *Node, weight float64) []Term {
	logP := LogSoftmax(logits)
	middle := atLeast(logMean(logP), 1e-7)
	return []Term{
		{"cross-entropy", CrossEntropy(first(logits), labels)},
		{"jsd", MulScalar(ReduceAllMean(kl(logP, InsertAxes(middle, 0))), weight)},
	}
}

// first is x[0].
func first(x *Node) *Node { return Squeeze(Slice(x, AxisRange(0, 1)), 0) }
