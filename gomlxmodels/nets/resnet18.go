package nets

// postActivations is the residual network of 18 layers (He et al. 2016, table 1) in its CIFAR form:
// a 3×3 convolution to 64 channels, four stages of two basic blocks with 64 to 512 channels, the
// size halved by the first block of all stages but the first, global average pooling and a dense
// layer. With 10 classes it has 11,173,962 parameters; unbiased, without a bias in the head,
// 11,173,952.
type postActivations struct{ unbiased bool }

func (n postActivations) Name() string {
	if n.unbiased {
		return "resnet18-unbiased"
	}
	return "resnet18"
}

func (n postActivations) Layers(b *Builder, x Value, classes int) Value {
	r := residuals{o: ConvOptions{FanIn: true}, scale: familyScale(n.unbiased)}
	x = b.ReLU(b.norm("bn", b.Conv("conv", x, r.conv(3, b.Width(64), 1)), r.scale))
	for stage := range 4 {
		for block := range 2 {
			x = r.basic(b, blockName(stage, block), x, b.Width(64<<stage), blockStride(stage, block))
		}
	}
	return b.familyHead(b.MeanPool("pool", x), classes, n.unbiased)
}
