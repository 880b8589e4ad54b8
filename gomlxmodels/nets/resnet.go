package nets

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
)

// resnet is the residual network of 6n+2 layers: a convolution to 16 channels, three stages
// of n blocks with 16, 32 and 64 channels at full, half and quarter size, global average
// pooling and a dense layer.
func (b *builder) resnet(x value, n, classes int) value {
	x = b.conv("conv", x, 3, 16, 1)
	x = b.norm("bn", x)
	x = b.shared(b.relu(x))
	for stage, channels := range []int{16, 32, 64} {
		for block := range n {
			stride := 1
			if stage > 0 && block == 0 {
				stride = 2
			}
			x = b.residual(fmt.Sprintf("stage%d/block%d", stage+1, block), x, channels, stride)
		}
	}
	if x.node != nil {
		x.node = ReduceMean(x.node, 1, 2)
	}
	return b.dense("head", x, x.shape.Channels, classes)
}

// residual is conv–norm–ReLU–conv–norm, added to its input, then ReLU. Where size or width
// change, the input passes through a 1×1 convolution and a normalisation first.
func (b *builder) residual(name string, x value, channels, stride int) value {
	h := b.conv(name+"/conv1", x, 3, channels, stride)
	h = b.norm(name+"/bn1", h)
	h = b.shared(b.relu(h))
	h = b.conv(name+"/conv2", h, 3, channels, 1)
	h = b.norm(name+"/bn2", h)
	if stride != 1 || x.shape.Channels != channels {
		x = b.conv(name+"/shortcut/conv", x, 1, channels, stride)
		x = b.norm(name+"/shortcut/bn", x)
	}
	if h.node != nil {
		h.node = b.gradientBarrier(Add(h.node, x.node))
	}
	h = b.shared(b.relu(h))
	if h.node != nil {
		h.node = b.gradientBarrier(h.node)
	}
	return h
}
