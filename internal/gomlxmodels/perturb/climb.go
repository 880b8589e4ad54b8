package perturb

import (
	"math"

	"github.com/certspec/certspec/gomlxmodels/loss"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Climb is an Ascent on a network.
type Climb struct {
	attack *loss.Ascent
	step   *Exec
}

// NewClimb compiles the step of an attack.
func NewClimb(n *Network, a *loss.Ascent) (*Climb, error) {
	step, err := n.step(6, func(in []*Node, forward func(images *Node) *Node) []*Node {
		x, z, best, highest, epsilon, length := in[0], in[1], in[2], in[3], in[4], in[5]
		value := a.Loss(forward(z))
		gradient := Gradient(ReduceAllSum(value), z)[0]
		better := GreaterThan(value, highest)
		best = Where(BroadcastToShape(perImage(better), z.Shape()), z, best)
		low, high := Max(Sub(x, epsilon), MinScalar(x, 0.0)), Min(Add(x, epsilon), MaxScalar(x, 1.0))
		next := Max(low, Min(high, Add(z, Mul(length, Sign(gradient)))))
		return []*Node{next, best, Where(better, value, highest)}
	})
	if err != nil {
		return nil, err
	}
	return &Climb{a, step}, nil
}

// Run gives the points that an attack within ε finds of images, which it consumes; weights are the network's.
func (c *Climb) Run(epsilon float64, images *tensors.Tensor, weights []*tensors.Tensor) (*tensors.Tensor, error) {
	n := images.Shape().Dimensions[0]
	lowest := make([]float32, n)
	for i := range lowest {
		lowest[i] = float32(math.Inf(-1))
	}
	ball, length := tensors.FromScalar(float32(epsilon)),
		tensors.FromScalar(float32(2*epsilon/float64(c.attack.Steps+1)))
	z, best, highest := images, images, tensors.FromFlatDataAndDimensions(lowest, n)
	defer func() { release(ball, length) }()
	for range c.attack.Steps + 1 { // the last only scores the last point
		out, err := call(c.step, []*tensors.Tensor{images, z, best, highest, ball, length}, weights)
		if err != nil {
			return images, err
		}
		if z != images {
			release(z, best)
		}
		release(highest)
		z, best, highest = out[0], out[1], out[2]
	}
	return best, release(z, highest, images)
}

// Close frees what was compiled.
func (c *Climb) Close() { c.step.Finalize() }
