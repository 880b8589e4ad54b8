package nets

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
)

// Lookup gives the node of a tensor by name.
type Lookup func(name string) *Node

// Forward builds the network for evaluation, with the running averages of batch
// normalisation. It may be differentiated with respect to images and tensors.
// It panics where the architecture does not pass Check.
func (a Architecture) Forward(images *Node, lookup Lookup) (logits *Node) {
	return a.must().graph(images, lookup, nil)
}

// Averages are the new values of the running averages, by the name of the tensor.
type Averages map[string]*Node

// ForwardTraining builds the network for training: batch normalisation with the mean and
// variance of the batch, which is differentiated through. Averages holds what the running
// averages become: 0.9 of the old value and 0.1 of that of the batch, the variance
// unbiased (divided by n−1).
func (a Architecture) ForwardTraining(images *Node, lookup Lookup) (logits *Node, averages Averages) {
	averages = Averages{}
	return a.must().graph(images, lookup, averages), averages
}

// graph builds the layers; averages are nil in evaluation.
func (d *definition) graph(images *Node, lookup Lookup, averages Averages) *Node {
	_, values := d.spans(images, nil, lookup, averages)
	return values[len(values)-1].centre
}

// spans are what the layers give; the radius is nil but for a bounded forward pass, which is in evaluation.
func (d *definition) spans(images, radius *Node, lookup Lookup, averages Averages) (*grapher, []span) {
	a := d.architecture
	images.AssertDims(-1, a.Shape.Height, a.Shape.Width, a.Shape.Channels)
	if radius != nil {
		checkRadius(images, radius)
	}
	g := &grapher{averages: averages, native: images.Graph().Backend().String() != "go"}
	nodes := map[string]*Node{}
	for _, t := range d.tensors {
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
	values := make([]span, len(d.layers))
	for i, l := range d.layers {
		tensor := func(name string) *Node { return nodes[l.Name+"/"+name] }
		var x span
		if len(l.Inputs) > 0 {
			x = values[l.Inputs[0]]
		}
		switch l.Kind {
		case netparts.Images:
			if x = (span{images, radius}); a.Denoiser == 0 {
				x = a.normalize(x)
			}
		case netparts.Normalize:
			x = a.normalize(x)
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
			x = g.joined(x, values[l.Inputs[1]].odds(), a.Shift, a.Posterior == ProoD)
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
func (a Architecture) normalize(x span) span {
	mean, deviation := a.Normalization()
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
