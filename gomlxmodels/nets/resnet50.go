package nets

// bottlenecks is a residual network for larger images: a convolution of 7×7 pixels to Width
// channels and a maximum over 3×3 pixels, both halving the size, then so many bottleneck blocks in
// each stage.
type bottlenecks struct {
	name   string
	width  int
	blocks [4]int
}

// resNet50 is the residual network of 50 layers for ImageNet (He et al. 2016, table 1), with the
// stride in the 3×3 convolution. With 1,000 classes it has 25,557,032 parameters.
var resNet50 = bottlenecks{"resnet50", 64, [4]int{3, 4, 6, 3}}

func (n bottlenecks) Name() string { return n.name }

func (n bottlenecks) Layers(b *Builder, x Value, classes int) Value {
	x = b.ReLU(b.Norm("bn", b.Conv("conv", x, ConvOptions{Size: 7, Channels: b.Width(n.width), Stride: 2})))
	x = b.MaxPool("maximum", x)
	for stage, blocks := range n.blocks {
		for block := range blocks {
			x = b.bottleneck(blockName(stage, block), x, b.Width(n.width<<stage), blockStride(stage, block))
		}
	}
	return b.Dense("head", b.MeanPool("pool", x), classes)
}

// bottleneck is three convolutions of 1×1, 3×3 and 1×1 pixels, to width, width and 4·width
// channels, added to the input, then ReLU. Where size or width change, the input passes through a
// 1×1 convolution and a normalisation first.
func (b *Builder) bottleneck(name string, x Value, width, stride int) Value {
	h := b.ReLU(b.Norm(name+"/bn1", b.Conv(name+"/conv1", x, ConvOptions{Size: 1, Channels: width})))
	h = b.ReLU(b.Norm(name+"/bn2", b.Conv(name+"/conv2", h, ConvOptions{Size: 3, Channels: width, Stride: stride})))
	h = b.Norm(name+"/bn3", b.Conv(name+"/conv3", h, ConvOptions{Size: 1, Channels: 4 * width}))
	return residuals{scale: constant(1)}.join(b, name, h, x, stride)
}
