package nets

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
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
	a := d.architecture
	images.AssertDims(-1, a.Shape.Height, a.Shape.Width, a.Shape.Channels)
	g := &grapher{averages: averages, native: images.Graph().Backend().String() != "go"}
	nodes := map[string]*Node{}
	for _, t := range d.tensors {
		node := lookup(t.Name)
		if node == nil {
			panic(fmt.Sprintf("nets: no tensor %q", t.Name))
		}
		node.AssertDims(t.Shape...)
		nodes[t.Name] = node
		if g.native && len(t.Shape) == 1 && !t.Running { // the last one, a bias of the head
			g.unit = node
		}
	}
	if g.unit != nil {
		g.unit = runtimeOne(g.unit)
	}
	values := make([]*Node, len(d.layers))
	for i, l := range d.layers {
		tensor := func(name string) *Node { return nodes[l.Name+"/"+name] }
		var x *Node
		if len(l.Inputs) > 0 {
			x = values[l.Inputs[0]]
		}
		switch l.Kind {
		case ImagesLayer:
			x = a.normalize(images)
		case ConvLayer:
			x = g.conv(x, tensor("kernel"), l.Stride)
			if l.Bias {
				x = Add(x, alongChannels(tensor("bias")))
			}
		case NormLayer:
			x = g.norm(l.Name, x, tensor)
		case ReLULayer:
			zero := ZerosLike(x)
			x = Where(LessOrEqual(x, zero), zero, x)
		case AddLayer:
			x = Add(x, values[l.Inputs[1]])
		case MaxPoolLayer:
			x = g.maxPool(x)
		case MeanPoolLayer:
			x = ReduceMean(x, 1, 2)
		case DenseLayer:
			if x.Rank() != 2 {
				x = Reshape(x, x.Shape().Dimensions[0], -1)
			}
			x = Add(MatMul(x, tensor("kernel")), Reshape(tensor("bias"), 1, l.Shape.Channels))
		}
		if l.guarded {
			x = g.gradientBarrier(x)
		}
		if l.shared {
			x = g.barrier(x)
		}
		values[i] = x
	}
	return values[len(values)-1]
}

// grapher builds the graph of layers.
type grapher struct {
	averages Averages // nil in evaluation
	native   bool     // the backend has a fast convolution
	unit     *Node    // see barrier
}

// normalize applies the input layer.
func (a Architecture) normalize(x *Node) *Node {
	mean, deviation := a.Normalization()
	if mean != nil {
		x = Sub(x, perChannel(x, mean))
	}
	if deviation != nil {
		x = Div(x, perChannel(x, deviation))
	}
	return x
}

func perChannel(like *Node, values []float64) *Node {
	return Reshape(ConstAsDType(like.Graph(), like.DType(), values), 1, 1, 1, len(values))
}
