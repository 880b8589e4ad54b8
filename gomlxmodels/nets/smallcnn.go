package nets

// smallCNN is three convolutions of 3×3 pixels with 16, 32 and 64 channels, the second and
// third halving the size, each with batch normalisation and ReLU, and a dense layer on all
// that is left. At 28×28×1 with 10 classes it has 54,778 parameters and takes 1.95 million
// multiply-adds.
type smallCNN struct{}

func (smallCNN) Name() string { return "small-cnn" }

func (smallCNN) Layers(b *Builder, x Value, classes int) Value {
	for i, layer := range []string{"1", "2", "3"} {
		x = b.Conv("conv"+layer, x, ConvOptions{Size: 3, Channels: b.Width(16 << i), Stride: min(i+1, 2)})
		x = b.ReLU(b.Norm("bn"+layer, x))
	}
	return b.Dense("head", x, classes)
}
