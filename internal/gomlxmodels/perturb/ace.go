package perturb

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// ACE are the settings of an (η, ω)-ACE attack (Emde et al. 2025, equation 2), which changes the confidence of a
// network and leaves its predictions as they are:
//
//	maximise η·CE(f(x + γ), ω)  subject to  ‖γ‖∞ ≤ ε,  arg max f(x + γ) = arg max f(x),  x + γ ∈ [0, 1].
//
// A step adds the gradient of the image's own loss, times Rate. If the loss has not risen for Patience steps, the rate
// falls by Factor, image by image. An image whose prediction changes stops there. The answer is the perturbation with
// the highest loss of those that left the prediction as it was. 0 is one of them: the last one can be worse.
type ACE struct {
	Raise     bool // η = 1, which lowers the confidence in ω; otherwise η = −1, which raises it
	Predicted bool // ω is the prediction; otherwise the label
	Epsilon   float64
	Steps     int     // default 100
	Rate      float64 // default 10
	Patience  int     // default 10
	Factor    float64 // default 0.1
}

// ACEAttacks are the four configurations in the order of the paper's Table 1: (−1, y), (1, y), (−1, ŷ), (1, ŷ).
func ACEAttacks(epsilon float64) []ACE {
	return []ACE{
		{Epsilon: epsilon},
		{Raise: true, Epsilon: epsilon},
		{Predicted: true, Epsilon: epsilon},
		{Raise: true, Predicted: true, Epsilon: epsilon},
	}
}

// String is (η, ω).
func (o ACE) String() string {
	eta, omega := "-1", "y"
	if o.Raise {
		eta = "1"
	}
	if o.Predicted {
		omega = "ŷ"
	}
	return fmt.Sprintf("(%s,%s)", eta, omega)
}

func (o ACE) withDefaults() (ACE, error) {
	o.Steps = cmp.Or(o.Steps, 100)
	o.Rate = cmp.Or(o.Rate, 10)
	o.Patience = cmp.Or(o.Patience, 10)
	o.Factor = cmp.Or(o.Factor, 0.1)
	switch {
	case !(o.Epsilon >= 0) || math.IsInf(o.Epsilon, 0):
		return o, fmt.Errorf("attack: epsilon is %v; expected a finite number of at least 0", o.Epsilon)
	case o.Steps < 1 || o.Patience < 1:
		return o, fmt.Errorf("attack: %d steps with patience %d; expected at least 1", o.Steps, o.Patience)
	case !(o.Rate > 0) || math.IsInf(o.Rate, 0) || !(o.Factor > 0 && o.Factor <= 1):
		return o, fmt.Errorf("attack: rate %v with factor %v; expected a finite rate above 0 and a factor in (0, 1]",
			o.Rate, o.Factor)
	}
	return o, nil
}

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

// ACE attacks images x [N, …], which the caller keeps, whose predictions are given with their labels, and returns γ on
// the device, which the caller frees.
func (p *Plain) ACE(ctx context.Context, o ACE, x *tensors.Tensor, labels, predicted []int32,
	weights []*tensors.Tensor) (*tensors.Tensor, error) {
	o, err := o.withDefaults()
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
