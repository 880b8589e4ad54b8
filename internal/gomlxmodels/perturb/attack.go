// Package perturb searches for perturbations that mislead a network: projected gradient steps (Madry et al. 2018, arXiv
// 1706.06083) on the network itself and on its smoothed form, and attacks on its confidence.
//
// The network is frozen: batch normalisation uses its running averages. Every step is one compiled graph, and the loop
// around it runs on the host, so a long attack compiles no longer than a short one. Images are [N, height, width,
// channels], float32, in units of the full range. Perturbed images stay within [0, 1] where the images do, and a value
// outside that range never moves further out.
package perturb

import (
	"errors"
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
)

// Forward builds a network's graph for evaluation, from images and its tensors by name to logits [N, classes].
type Forward func(images *Node, lookup netgraph.Lookup) *Node

// Network is a network as the compiled steps see it: its tensors are their last arguments, in the order of Tensors.
type Network struct {
	Backend *backend.Backend
	Forward Forward
	Tensors []nets.Tensor
}

// step compiles a step of fixed inputs, the images' logits by means of forward.
func (n *Network) step(inputs int, build func(in []*Node, forward func(images *Node) *Node) []*Node) (*Exec, error) {
	exec, err := NewExec(n.Backend.Backend, func(in []*Node) []*Node {
		lookup := func(name string) *Node {
			for i, t := range n.Tensors {
				if t.Name == name {
					return in[inputs+i]
				}
			}
			return nil
		}
		return build(in[:inputs], func(images *Node) *Node { return n.Forward(images, lookup) })
	})
	if err != nil {
		return nil, fmt.Errorf("attack: %w", err)
	}
	exec.SetMaxCache(-1)
	return exec, nil
}

// call runs a step.
func call(exec *Exec, inputs, weights []*tensors.Tensor) ([]*tensors.Tensor, error) {
	args := make([]any, 0, len(inputs)+len(weights))
	for _, t := range inputs {
		args = append(args, t)
	}
	for _, t := range weights {
		args = append(args, t)
	}
	outputs, err := exec.Call(args...)
	if err != nil {
		return nil, fmt.Errorf("attack: %w", err)
	}
	return outputs, nil
}

// release frees device memory, which the garbage collector does not see.
func release(list ...*tensors.Tensor) error {
	var errs []error
	for _, t := range list {
		if t != nil {
			errs = append(errs, t.FinalizeAll())
		}
	}
	return errors.Join(errs...)
}

// inRange clips x + γ to [0, 1], or to x where that lies outside, and returns what is left of γ.
func inRange(x, gamma *Node) *Node {
	low, high := MinScalar(x, 0.0), MaxScalar(x, 1.0)
	return Sub(Max(low, Min(high, Add(x, gamma))), x)
}

// perImage gives v [N] the rank of an image.
func perImage(v *Node) *Node { return Reshape(v, -1, 1, 1, 1) }

// unit is g divided by its Euclidean norm, image by image; where g is zero it is that of instead,
// and zero where both are.
func unit(g, instead *Node) *Node {
	largest := func(x *Node) *Node { return ReduceAndKeep(Abs(x), ReduceMax, 1, 2, 3) }
	if instead != nil {
		still := BroadcastToShape(Equal(largest(g), ScalarZero(g.Graph(), g.DType())), g.Shape())
		g = Where(still, instead, g)
	}
	top := largest(g)
	// Divided by the largest entry first, no square is too small or too large for the format.
	g = Div(g, Where(Equal(top, ZerosLike(top)), OnesLike(top), top))
	length := Sqrt(ReduceAndKeep(Mul(g, g), ReduceSum, 1, 2, 3))
	return Div(g, MaxScalar(length, 1.0))
}

// shorten scales γ down to a Euclidean norm of at most ε, image by image.
func shorten(gamma, epsilon *Node) *Node {
	length := Sqrt(ReduceAndKeep(Mul(gamma, gamma), ReduceSum, 1, 2, 3))
	factor := Div(epsilon, Max(length, BroadcastToShape(MaxScalar(epsilon, 1e-30), length.Shape())))
	return Mul(gamma, MinScalar(factor, 1.0))
}
