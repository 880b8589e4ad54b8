package perturb

import (
	"context"
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/internal/gomlxmodels/ace"
)

// newACEStep compiles a step: outputs are loss and prediction at γ, γ after the step, and the best
// γ and its loss so far.
func newACEStep(n *Network) (*Exec, error) {
	return n.step(9, func(in []*Node, forward func(*Node) *Node) []*Node {
		x, gamma, best, bestLoss, omega, predicted := in[0], in[1], in[2], in[3], in[4], in[5]
		eta, rate, epsilon := in[6], in[7], in[8]
		logits := forward(Add(x, gamma))
		each := Mul(crossEntropies(logits, omega), eta)
		class := ArgMax(logits, -1, dtypes.Int32)
		better := LogicalAnd(Equal(class, predicted), GreaterThan(each, bestLoss))
		gradient := Gradient(ReduceAllSum(each), gamma)[0]
		moved := Add(gamma, Mul(gradient, perImage(rate)))
		moved = inRange(x, Max(Neg(epsilon), Min(epsilon, moved)))
		return []*Node{each, class, moved, Where(better, gamma, best), Where(better, each, bestLoss)}
	})
}

// ACE attacks the confidences of the images x [N, …], which the caller keeps; see package ace. It takes
// their labels and what is predicted for them, and returns γ on the device, which the caller frees.
func (p *Plain) ACE(ctx context.Context, o ace.Attack, x *tensors.Tensor, labels, predicted []int32,
	weights []*tensors.Tensor) (*tensors.Tensor, error) {
	o, err := o.WithDefaults()
	if err != nil {
		return nil, err
	}
	n := len(labels)
	omega, eta := labels, float32(-1)
	if o.Predicted {
		omega = predicted
	}
	if o.Raise {
		eta = 1
	}
	rates, top, since := make([]float32, n), make([]float32, n), make([]int, n)
	for i := range rates {
		rates[i], top[i] = float32(o.Rate), float32(math.Inf(-1))
	}
	gamma, best := tensors.FromShape(x.Shape()), tensors.FromShape(x.Shape())
	bestLoss := tensors.FromFlatDataAndDimensions(top, n)
	fixed := []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(omega, n), tensors.FromFlatDataAndDimensions(predicted, n),
		tensors.FromScalar(eta), tensors.FromScalar(float32(o.Epsilon)),
	}
	defer func() { release(append(fixed, gamma, bestLoss)...) }()
	fail := func(err error) (*tensors.Tensor, error) {
		release(best)
		return nil, err
	}
	top = append([]float32(nil), top...)
	// The perturbation after the last step is looked at, too.
	for range o.Steps + 1 {
		if ctx.Err() != nil {
			return fail(context.Cause(ctx))
		}
		rate := tensors.FromFlatDataAndDimensions(append([]float32(nil), rates...), n)
		outputs, err := call(p.ace, []*tensors.Tensor{x, gamma, best, bestLoss, fixed[0], fixed[1], fixed[2], rate,
			fixed[3]}, weights)
		release(rate)
		if err != nil {
			return fail(err)
		}
		losses, err := tensors.CopyFlatData[float32](outputs[0])
		if err != nil {
			return fail(fmt.Errorf("attack: %w", err))
		}
		classes, err := tensors.CopyFlatData[int32](outputs[1])
		if err != nil {
			return fail(fmt.Errorf("attack: %w", err))
		}
		if err := release(outputs[0], outputs[1], gamma, best, bestLoss); err != nil {
			return nil, err
		}
		gamma, best, bestLoss = outputs[2], outputs[3], outputs[4]
		for i, v := range losses {
			since[i]++
			switch {
			case classes[i] != predicted[i]:
				rates[i] = 0
			case v > top[i]:
				top[i], since[i] = v, 0
			case since[i] > o.Patience:
				rates[i], since[i] = rates[i]*float32(o.Factor), 0
			}
		}
	}
	return best, nil
}
