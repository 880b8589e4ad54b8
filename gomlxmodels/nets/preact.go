package nets

// preActivations is a pre-activation residual network in its CIFAR form (He et al. 2016b, arXiv
// 1603.05027): a convolution, stages of so many blocks whose channels double and whose size halves
// from stage to stage, a last normalisation and ReLU, global average pooling and a dense layer.
type preActivations struct {
	name   string
	width  int
	blocks [4]int
}

// preActResNet18 has four stages of two blocks with 64 to 512 channels. With 10 classes it has 11,172,170 parameters.
var preActResNet18 = preActivations{"preact-resnet18", 64, [4]int{2, 2, 2, 2}}

func (n preActivations) Name() string { return n.name }

func (n preActivations) Layers(b *Builder, x Value, classes int) Value {
	x = b.share(b.Conv("conv", x, ConvOptions{Size: 3, Channels: b.Width(n.width)}))
	for stage, blocks := range n.blocks {
		for block := range blocks {
			x = b.preActivation(blockName(stage, block), x, b.Width(n.width<<stage), blockStride(stage, block))
		}
	}
	x = b.ReLU(b.Norm("bn", x))
	return b.Dense("head", b.MeanPool("pool", x), classes)
}

// preActivation is norm–ReLU–conv–norm–ReLU–conv, added to its input. Where size or width change,
// the input's place is taken by a 1×1 convolution of what the first ReLU gives.
func (b *Builder) preActivation(name string, x Value, channels, stride int) Value {
	h := b.ReLU(b.Norm(name+"/bn1", x))
	shortcut := x
	if stride != 1 || x.shape.Channels != channels {
		shortcut = b.Conv(name+"/shortcut/conv", h, ConvOptions{Size: 1, Channels: channels, Stride: stride})
	}
	h = b.Conv(name+"/conv1", h, ConvOptions{Size: 3, Channels: channels, Stride: stride})
	h = b.ReLU(b.Norm(name+"/bn2", h))
	h = b.Conv(name+"/conv2", h, ConvOptions{Size: 3, Channels: channels})
	return b.share(b.Add(name+"/sum", h, shortcut))
}
