package nets

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
)

// preActResNet18 is the pre-activation residual network of 18 layers in its CIFAR form (He et al. 2016b,
// arXiv 1603.05027): a convolution to 64 channels, four stages of two blocks with 64 to 512 channels at full to an eighth of the
// size, a last normalisation and ReLU, global average pooling and a dense layer. With 10 classes it has
// 11,172,170 parameters.
func (b *builder) preActResNet18(x value, classes int) value {
	return b.preActivations(x, 64, []int{2, 2, 2, 2}, classes)
}

// preActivations is such a network of a width, with so many blocks in each stage.
func (b *builder) preActivations(x value, width int, blocks []int, classes int) value {
	x = b.shared(b.conv("conv", x, 3, width, 1))
	for stage, n := range blocks {
		for block := range n {
			stride := 1
			if stage > 0 && block == 0 {
				stride = 2
			}
			x = b.preActivation(fmt.Sprintf("stage%d/block%d", stage+1, block), x, width<<stage, stride)
		}
	}
	x = b.shared(b.relu(b.norm("bn", x)))
	if x.node != nil {
		x.node = ReduceMean(x.node, 1, 2)
	}
	return b.dense("head", x, x.shape.Channels, classes)
}

// preActivation is norm–ReLU–conv–norm–ReLU–conv, added to its input. Where size or width change, the input's place is taken
// by a 1×1 convolution of what the first ReLU gives.
func (b *builder) preActivation(name string, x value, channels, stride int) value {
	h := b.shared(b.relu(b.norm(name+"/bn1", x)))
	shortcut := x
	if stride != 1 || x.shape.Channels != channels {
		shortcut = b.conv(name+"/shortcut/conv", h, 1, channels, stride)
	}
	h = b.conv(name+"/conv1", h, 3, channels, stride)
	h = b.shared(b.relu(b.norm(name+"/bn2", h)))
	h = b.conv(name+"/conv2", h, 3, channels, 1)
	if h.node != nil {
		h.node = b.gradientBarrier(Add(h.node, shortcut.node))
	}
	return b.shared(h)
}
