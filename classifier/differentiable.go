package classifier

import "context"

// Differentiable is a model that gives gradients of its logits, in evaluation mode.
type Differentiable interface {
	// VectorJacobian sets gradient to vᵢ·∂f/∂x at each of N images, f the logits. images and
	// gradient are N×height×width×channel, in units of the full range; v is N×classes. Values that
	// are not finite come back as they are. It is safe for concurrent use.
	VectorJacobian(ctx context.Context, images, v, gradient []float32) error
}
