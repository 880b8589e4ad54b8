package nets

import "strconv"

// conv8 is four pairs of 3×3 convolutions with 64 to 512 channels, each pair followed by a maximum
// over 2×2 pixels, and dense layers to 256, 256 and the classes: no biases, no normalisation
// (Ramanujan et al. 2020, arXiv 1911.13299, appendix; after Frankle and Carbin 2019). With 10
// classes it has 5,275,840 parameters.
type conv8 struct{}

func (conv8) Name() string { return "conv8" }

func (conv8) Layers(b *Builder, x Value, classes int) Value {
	for i := range 8 {
		pair := i / 2
		x = b.ReLU(b.Conv("conv"+strconv.Itoa(i+1), x, ConvOptions{Size: 3, Channels: b.Width(64 << pair),
			FanIn: true}))
		if i%2 == 1 {
			x = b.MaxPool2("half"+strconv.Itoa(pair+1), x)
		}
	}
	for _, name := range []string{"dense1", "dense2"} {
		x = b.ReLU(b.linear(name, x, b.Width(256)))
	}
	return b.linear("head", x, classes)
}

// linear is a dense layer without bias, normal with variance 2/inputs at the beginning.
func (b *Builder) linear(name string, x Value, outputs int) Value {
	return b.dense(name, x, outputs, normal(2/float64(x.shape.Len())), nil)
}
