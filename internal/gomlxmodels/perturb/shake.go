package perturb

import (
	"errors"

	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/loss"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Shake is the compiled form of Noises on a network.
type Shake struct {
	attack *attack.Noises
	step   *Exec
}

// NewShake prepares attacks on a network; it is compiled at the first Run with batches of a size.
func NewShake(n *Network, a *attack.Noises) (*Shake, error) {
	step, err := n.step(6, func(in []*Node, forward func(*Node) *Node) []*Node {
		x, drawn, delta, soft, epsilon, length := in[0], in[1], in[2], in[3], in[4], in[5]
		logits := forward(Noisy(x, delta))
		logits = Reshape(logits, -1, x.Shape().Dimensions[0], logits.Shape().Dimensions[1])
		gradient := Gradient(loss.NoiseKL(logits, soft), delta)[0]
		moved := Add(delta, Mul(unit(gradient, nil), length))
		moved = Add(drawn, shorten(Sub(moved, drawn), epsilon))
		mean, size := moments(moved)
		wantMean, wantSize := moments(drawn)
		return []*Node{Add(wantMean, Mul(Div(Sub(moved, mean), size), wantSize))}
	})
	if err != nil {
		return nil, err
	}
	return &Shake{a, step}, nil
}

// moments are the mean of each image's values, and the root of the mean of their squares, at least a tiny number.
func moments(x *Node) (mean, size *Node) {
	mean = ReduceAndKeep(x, ReduceMean, 1, 2, 3)
	return mean, MaxScalar(Sqrt(ReduceAndKeep(Mul(x, x), ReduceMean, 1, 2, 3)), 1e-20)
}

// Run returns the noises that an attack within ε finds for images x [N, …], noises [m·N, …] and probabilities soft [N,
// K]. All remain the caller's; weights are the network's.
func (s *Shake) Run(epsilon float64, x, noises, soft *tensors.Tensor, weights []*tensors.Tensor) (*tensors.Tensor,
	error) {
	ball, length := tensors.FromScalar(float32(epsilon)), tensors.FromScalar(float32(2*epsilon/float64(s.attack.Steps)))
	defer release(ball, length)
	delta := noises
	for range s.attack.Steps {
		out, err := call(s.step, []*tensors.Tensor{x, noises, delta, soft, ball, length}, weights)
		if delta != noises {
			err = errors.Join(err, release(delta))
		}
		if err != nil {
			return nil, err
		}
		delta = out[0]
	}
	return delta, nil
}

// Close frees what was compiled.
func (s *Shake) Close() { s.step.Finalize() }
