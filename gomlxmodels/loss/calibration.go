package loss

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Calibration is the calibration error of the smoothed confidences under a given assignment to M bins, the second term
// of ACCE-ACT* (Emde et al. 2025, appendix L), for m noise samples of each image, logits [m, N, K]. With the smoothed
// confidence z_n = (1/m) Σ_i softmax(z_i)[class_n], c_n = 1 where class_n is the label, and the assignment a [N, M],
// which is held constant, it is
//
//	Σ_b |Σ_n (z_n − c_n)·a_nb|,
//
// a sum over the batch, as in the paper, and no mean. Class is [N], int32.
func Calibration(logits, labels, class, assignment *Node) *Node {
	p := Exp(logMean(LogSoftmax(logits)))
	z := ReduceSum(Mul(p, OneHot(class, p.Shape().Dim(-1), p.DType())), -1)
	gap := Sub(z, ConvertDType(Equal(class, labels), z.DType()))
	sums := ReduceSum(Mul(InsertAxes(gap, -1), StopGradient(assignment)), 0)
	return ReduceAllSum(Abs(sums))
}

// Entropy is the mean over all noise samples of −Σ_c p_c log p_c, p = softmax(z).
func Entropy(logits *Node) *Node {
	logP := LogSoftmax(logits)
	return Neg(ReduceAllMean(ReduceSum(Mul(Exp(logP), logP), -1)))
}

// Confidence returns the logarithm of the smoothed confidence (1/m) Σ_i softmax(z_i)[class] for m noise samples of each
// image, logits [m, N, K], and the class. A negative class is replaced by the class of the largest confidence.
func Confidence(logits, class *Node) (logZ, found *Node) {
	logP := logMean(LogSoftmax(logits))
	found = Where(LessThan(class, ZerosLike(class)), ArgMax(logP, -1, dtypes.Int32), class)
	return ReduceSum(Mul(logP, OneHot(found, logP.Shape().Dim(-1), logP.DType())), -1), found
}
