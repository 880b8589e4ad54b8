package nets

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/pixel"
)

// Lookup gives the node of a tensor by name.
type Lookup func(name string) *Node

// Forward builds the network for evaluation, with the running averages of batch
// normalisation. It may be differentiated with respect to images and tensors.
func (a Architecture) Forward(images *Node, lookup Lookup) (logits *Node) {
	return a.build(&builder{lookup: lookup}, images)
}

// Averages are the new values of the running averages, by the name of the tensor.
type Averages map[string]*Node

// ForwardTraining builds the network for training: batch normalisation with the mean and
// variance of the batch, which is differentiated through. Averages holds what the running
// averages become: 0.9 of the old value and 0.1 of that of the batch, the variance
// unbiased (divided by n−1).
func (a Architecture) ForwardTraining(images *Node, lookup Lookup) (logits *Node, averages Averages) {
	b := &builder{lookup: lookup, averages: Averages{}}
	return a.build(b, images), b.averages
}

func (a Architecture) build(b *builder, images *Node) *Node {
	images.AssertDims(-1, a.Shape.Height, a.Shape.Width, a.Shape.Channels)
	b.native = images.Graph().Backend().String() != "go"
	if b.native {
		b.unit = runtimeOne(b.lookup("head/bias"))
	}
	return b.network(a, value{node: images, shape: a.Shape}).node
}

// builder walks the definition of a network. Without a lookup it only lists the tensors.
type builder struct {
	tensors []Tensor

	lookup   Lookup
	averages Averages // nil in evaluation
	native   bool     // the backend has a fast convolution
	unit     *Node    // see barrier
}

// value is an activation: its size, and its node once a graph is built.
type value struct {
	node  *Node
	shape pixel.Shape
}

// tensor declares a tensor and, when a graph is built, returns its node.
func (b *builder) tensor(name string, init initializer, running bool, shape ...int) *Node {
	b.tensors = append(b.tensors, Tensor{Name: name, Shape: shape, Running: running, init: init})
	if b.lookup == nil {
		return nil
	}
	node := b.lookup(name)
	if node == nil {
		panic(fmt.Sprintf("nets: no tensor %q", name))
	}
	node.AssertDims(shape...)
	return node
}

func (b *builder) network(a Architecture, images value) value {
	if err := a.Check(); err != nil {
		panic(err.Error())
	}
	x := b.input(a, images)
	switch a.Name {
	case SmallCNN:
		return b.smallCNN(x, a.Classes)
	case ResNet50:
		return b.resnet50(x, a.Classes)
	case PreActResNet18:
		return b.preActResNet18(x, a.Classes)
	}
	return b.resnet(x, blocksPerStage[a.Name], a.Classes)
}

// Means and deviations of the channels of the CIFAR-10 training set, and of ImageNet's, as torchvision has them.
var (
	cifarMean         = []float64{0.4914, 0.4822, 0.4465}
	cifarDeviation    = []float64{0.2023, 0.1994, 0.2010}
	imageNetMean      = []float64{0.485, 0.456, 0.406}
	imageNetDeviation = []float64{0.229, 0.224, 0.225}
)

// Normalization is the input layer, (x − mean[c]) / deviation[c] per channel c. An empty
// slice stands for zeros or ones.
func (a Architecture) Normalization() (mean, deviation []float64) {
	switch a.Input {
	case InputCenter:
		return cifarMean, nil
	case InputStandardize:
		return cifarMean, cifarDeviation
	case InputImageNet:
		return imageNetMean, imageNetDeviation
	}
	return nil, nil
}

func (b *builder) input(a Architecture, x value) value {
	if x.node == nil {
		return x
	}
	mean, deviation := a.Normalization()
	if mean != nil {
		x.node = Sub(x.node, perChannel(x.node, mean))
	}
	if deviation != nil {
		x.node = Div(x.node, perChannel(x.node, deviation))
	}
	return x
}

func perChannel(like *Node, values []float64) *Node {
	return Reshape(ConstAsDType(like.Graph(), like.DType(), values), 1, 1, 1, len(values))
}
