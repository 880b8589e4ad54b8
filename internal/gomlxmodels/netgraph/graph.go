// Package netgraph makes GoMLX graphs of the networks of package nets. One description runs on XLA, with native
// convolutions, and on GoMLX's Go backend, with convolutions as matrix products.
package netgraph

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
)

// Network is an architecture whose graph is built. Its methods panic where the architecture does not pass Check.
type Network struct{ nets.Architecture }

// Lookup gives the node of a tensor by name.
type Lookup func(name string) *Node

// Forward builds the network for evaluation, with the running averages of batch
// normalisation. It may be differentiated with respect to images and tensors.
func (n Network) Forward(images *Node, lookup Lookup) (logits *Node) {
	return n.graph(images, lookup, nil)
}

// Averages are the new values of the running averages, by the name of the tensor.
type Averages map[string]*Node

// ForwardTraining builds the network for training: batch normalisation with the mean and
// variance of the batch, which is differentiated through. Averages holds what the running
// averages become: 0.9 of the old value and 0.1 of the batch's, the variance
// unbiased (divided by n−1).
func (n Network) ForwardTraining(images *Node, lookup Lookup) (logits *Node, averages Averages) {
	averages = Averages{}
	return n.graph(images, lookup, averages), averages
}

// ForwardDenoised is Forward of a network with a denoiser, with the denoised images [N, H, W, C], too.
func (n Network) ForwardDenoised(images *Node, lookup Lookup) (denoised, logits *Node) {
	_, values := n.spans(images, nil, lookup, nil)
	for i, l := range n.Layers() {
		if l.Name == netparts.Denoised {
			denoised = values[i].centre
		}
	}
	return denoised, values[len(values)-1].centre
}

// graph builds the layers; averages are nil in evaluation.
func (n Network) graph(images *Node, lookup Lookup, averages Averages) *Node {
	_, values := n.spans(images, nil, lookup, averages)
	return values[len(values)-1].centre
}

// spans are what the layers give; the radius is nil but for a bounded forward pass, which is in evaluation.
func (n Network) spans(images, radius *Node, lookup Lookup, averages Averages) (*grapher, []span) {
	layers := n.Layers()
	images.AssertDims(-1, n.Shape.Height, n.Shape.Width, n.Shape.Channels)
	if radius != nil {
		checkRadius(images, radius)
	}
	g := &grapher{averages: averages, native: images.Graph().Backend().String() != "go"}
	nodes := map[string]*Node{}
	for _, t := range n.Tensors() {
		node := lookup(t.Name)
		if node == nil {
			panic(fmt.Sprintf("nets: no tensor %q", t.Name))
		}
		node.AssertDims(t.Shape...)
		nodes[t.Name] = node
		if g.native && !t.Running && (len(t.Shape) == 1 || g.unit == nil) { // the last vector, a bias of the head
			g.unit = node
		}
	}
	if g.unit != nil {
		g.unit = runtimeOne(g.unit)
	}
	values := make([]span, len(layers))
	for i, l := range layers {
		tensor := func(name string) *Node { return nodes[l.Name+"/"+name] }
		var x span
		if len(l.Inputs) > 0 {
			x = values[l.Inputs[0]]
		}
		switch l.Kind {
		case netparts.Images:
			if x = (span{images, radius}); n.Denoiser == 0 {
				x = n.normalize(x)
			}
		case netparts.Normalize:
			x = n.normalize(x)
		case netparts.Unfold:
			x = x.both(unfolded)
		case netparts.Conv:
			kernel := tensor("kernel")
			x = x.linear(
				func(x *Node) *Node { return g.conv(x, kernel, l.Stride) },
				func(r *Node) *Node { return g.conv(r, absolute(kernel), l.Stride) })
			if l.Bias {
				x.centre = Add(x.centre, alongChannels(tensor("bias")))
			}
		case netparts.Norm:
			x = g.norm(l.Name, x, tensor)
		case netparts.ReLU:
			x = x.monotone(positive)
		case netparts.Add:
			y := values[l.Inputs[1]]
			x = span{Add(x.centre, y.centre), x.radius}
			if x.radius != nil {
				x.radius = Add(x.radius, y.radius)
			}
		case netparts.MaxPool:
			x = x.monotone(func(x *Node) *Node { return g.maxPool(x, l.Size) })
		case netparts.MeanPool:
			x = x.both(func(x *Node) *Node { return ReduceMean(x, 1, 2) })
		case netparts.Halve:
			x = x.both(quarter)
		case netparts.Join:
			x = g.joined(x, values[l.Inputs[1]].odds(), n.Shift, n.Posterior == nets.ProoD)
		case netparts.Mixture:
			x = g.mixture(x, lookup)
		case netparts.Dense:
			kernel := tensor("kernel")
			if l.Negative {
				kernel = Neg(Exp(kernel))
			}
			x = x.both(flatten).linear(
				func(x *Node) *Node { return g.dense(x, kernel, tensor("bias")) },
				func(r *Node) *Node { return MatMul(r, absolute(kernel)) })
		}
		if l.Guarded {
			x = x.both(g.gradientBarrier)
		}
		if l.Shared {
			x = x.both(g.barrier)
		}
		values[i] = x
	}
	return g, values
}

// grapher builds the graph of layers.
type grapher struct {
	averages Averages // nil in evaluation
	native   bool     // the backend has a fast convolution
	unit     *Node    // see barrier
}

// positive is max(x, 0) with derivative 0 at 0, and NaN for NaN.
func positive(x *Node) *Node {
	zero := ZerosLike(x)
	return Where(LessOrEqual(x, zero), zero, x)
}

// dense is x·kernel + bias, where there is a bias.
func (g *grapher) dense(x, kernel, bias *Node) *Node {
	y := MatMul(x, kernel)
	if bias == nil {
		return y
	}
	return Add(y, Reshape(bias, 1, bias.Shape().Dimensions[0]))
}

// normalize applies the input layer.
func (n Network) normalize(x span) span {
	mean, deviation := n.Normalization()
	if mean != nil {
		x.centre = Sub(x.centre, perChannel(x.centre, mean))
	}
	if deviation != nil {
		x = x.both(func(x *Node) *Node { return Div(x, perChannel(x, deviation)) })
	}
	return x
}

func perChannel(like *Node, values []float64) *Node {
	return Reshape(ConstAsDType(like.Graph(), like.DType(), values), 1, 1, 1, len(values))
}
