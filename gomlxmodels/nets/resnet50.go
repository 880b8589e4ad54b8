package nets

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/pixel"
)

// resnet50 is the residual network of 50 layers for ImageNet (He et al. 2016, table 1), with the stride in the 3×3 convolution:
// a convolution of 7×7 pixels to 64 channels and a maximum over 3×3 pixels, both halving the size, then bottleneck blocks.
// With 1,000 classes it has 25,557,032 parameters.
func (b *builder) resnet50(x value, classes int) value {
	return b.bottlenecks(x, 64, []int{3, 4, 6, 3}, classes)
}

// bottlenecks is such a network of a width, with so many blocks in each stage.
func (b *builder) bottlenecks(x value, width int, blocks []int, classes int) value {
	x = b.conv("conv", x, 7, width, 2)
	x = b.norm("bn", x)
	x = b.maxPool(b.shared(b.relu(x)))
	for stage, n := range blocks {
		for block := range n {
			stride := 1
			if stage > 0 && block == 0 {
				stride = 2
			}
			x = b.bottleneck(fmt.Sprintf("stage%d/block%d", stage+1, block), x, width<<stage, stride)
		}
	}
	if x.node != nil {
		x.node = ReduceMean(x.node, 1, 2)
	}
	return b.dense("head", x, x.shape.Channels, classes)
}

// bottleneck is three convolutions of 1×1, 3×3 and 1×1 pixels, to width, width and 4·width channels, added to the input, then
// ReLU. Where size or width change, the input passes through a 1×1 convolution and a normalisation first.
func (b *builder) bottleneck(name string, x value, width, stride int) value {
	h := b.conv(name+"/conv1", x, 1, width, 1)
	h = b.shared(b.relu(b.norm(name+"/bn1", h)))
	h = b.conv(name+"/conv2", h, 3, width, stride)
	h = b.shared(b.relu(b.norm(name+"/bn2", h)))
	h = b.conv(name+"/conv3", h, 1, 4*width, 1)
	h = b.norm(name+"/bn3", h)
	if stride != 1 || x.shape.Channels != 4*width {
		x = b.conv(name+"/shortcut/conv", x, 1, 4*width, stride)
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

// maxPool is the maximum over 3×3 pixels with stride 2 and a border of one pixel, of values that are not negative.
func (b *builder) maxPool(x value) value {
	y := value{shape: pixel.Shape{Height: (x.shape.Height-1)/2 + 1, Width: (x.shape.Width-1)/2 + 1, Channels: x.shape.Channels}}
	switch {
	case x.node == nil:
	case b.native:
		y.node = MaxPool(x.node).Window(3).Strides(2).PaddingPerDim([][2]int{{1, 1}, {1, 1}}).Done()
	default:
		for i, tap := range taps(x.node, 3, 2) {
			if i == 0 {
				y.node = tap
			} else {
				y.node = Max(y.node, tap)
			}
		}
	}
	return y
}
