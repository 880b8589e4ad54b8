package nets

import "fmt"

// resnet is the residual network of 6n+2 layers: a convolution to 16 channels, three stages
// of n blocks with 16, 32 and 64 channels at full, half and quarter size, global average
// pooling and a dense layer.
type resnet int

func (n resnet) Name() string { return fmt.Sprintf("resnet%d", 6*n+2) }

func (n resnet) Layers(b *Builder, x Value, classes int) Value {
	x = b.ReLU(b.Norm("bn", b.Conv("conv", x, ConvOptions{Size: 3, Channels: b.Width(16)})))
	for stage, channels := range []int{16, 32, 64} {
		for block := range int(n) {
			x = b.residual(blockName(stage, block), x, b.Width(channels), blockStride(stage, block))
		}
	}
	return b.Dense("head", b.MeanPool("pool", x), classes)
}

// residual is a basic block with the initial values of the networks for CIFAR.
func (b *Builder) residual(name string, x Value, channels, stride int) Value {
	return residuals{scale: constant(1)}.basic(b, name, x, channels, stride)
}

// residuals are the blocks of a residual network with initial values of their own.
type residuals struct {
	o     ConvOptions
	scale initializer // of normalisation
}

func (r residuals) conv(size, channels, stride int) ConvOptions {
	o := r.o
	o.Size, o.Channels, o.Stride = size, channels, stride
	return o
}

// basic is conv–norm–ReLU–conv–norm, added to its input, then ReLU. Where size or width
// change, the input passes through a 1×1 convolution and a normalisation first.
func (r residuals) basic(b *Builder, name string, x Value, channels, stride int) Value {
	h := b.ReLU(b.norm(name+"/bn1", b.Conv(name+"/conv1", x, r.conv(3, channels, stride)), r.scale))
	h = b.norm(name+"/bn2", b.Conv(name+"/conv2", h, r.conv(3, channels, 1)), r.scale)
	return r.join(b, name, h, x, stride)
}

// join adds a block to its input, brought to the block's size, and takes what is positive.
func (r residuals) join(b *Builder, name string, h, x Value, stride int) Value {
	if stride != 1 || x.shape.Channels != h.shape.Channels {
		x = b.Conv(name+"/shortcut/conv", x, r.conv(1, h.shape.Channels, stride))
		x = b.norm(name+"/shortcut/bn", x, r.scale)
	}
	return b.guard(b.ReLU(b.Add(name+"/sum", h, x)))
}

func blockName(stage, block int) string { return fmt.Sprintf("stage%d/block%d", stage+1, block) }

// blockStride halves the size in the first block of a stage, but for the first stage.
func blockStride(stage, block int) int {
	if stage > 0 && block == 0 {
		return 2
	}
	return 1
}
