package feedforward

import (
	"context"
	"math"
	"slices"
)

// ConfidenceGradients gives, at each point, the probability of a class, by the softmax of the outputs, and its
// gradient by the point. Errors: as of VectorJacobians.
func (n *Network) ConfidenceGradients(ctx context.Context, points [][]float64, classes []int32) (
	confidences []float64, gradients [][]float64, err error) {
	confidences = make([]float64, len(points))
	_, gradients, err = n.VectorJacobians(ctx, points, func(i int, logits []float64) (v []float64) {
		confidences[i], v = softmaxGradient(logits, int(classes[i]))
		return v
	})
	return confidences, gradients, err
}

// softmaxGradient is the probability of a class, and its gradient by the logits.
func softmaxGradient(logits []float64, class int) (p float64, gradient []float64) {
	most, sum := slices.Max(logits), 0.0
	gradient = make([]float64, len(logits))
	for k, v := range logits {
		gradient[k] = math.Exp(v - most)
		sum += gradient[k]
	}
	p = gradient[class] / sum
	for k := range gradient {
		gradient[k] *= -p / sum
	}
	gradient[class] += p
	return p, gradient
}
