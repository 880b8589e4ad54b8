package nets

import "fmt"

// plainCNN is five convolutions of 3×3 pixels with biases, the third of which halves the size, and
// dense layers, a ReLU after each but the last, without normalisation. All weights and biases are
// uniform in ±1/√(inputs of an output), as PyTorch has them.
type plainCNN struct {
	name     string
	channels int // of the first two convolutions; the others have twice as many
	hidden   int // dense layers of 512 before the last
}

// large and extraLarge are networks of Bitterwolf, Meinke and Hein 2020 (table 2).
var (
	// large is the network of Gowal et al. 2018 (arXiv 1810.12715, table 1, "large"). For MNIST it
	// has 13,257,290 parameters.
	large = plainCNN{"l", 64, 1}
	// extraLarge is a wider relative. For CIFAR-10 it has 35,449,226 parameters.
	extraLarge = plainCNN{"xl", 128, 2}
)

func (n plainCNN) Name() string { return n.name }

func (n plainCNN) Layers(b *Builder, x Value, classes int) Value {
	for i, factor := range []int{1, 1, 2, 2, 2} {
		o := ConvOptions{Size: 3, Channels: b.Width(factor * n.channels), Bias: true, Uniform: true}
		if i == 2 {
			o.Stride = 2
		}
		x = b.ReLU(b.Conv(fmt.Sprintf("conv%d", i+1), x, o))
	}
	for i := range n.hidden {
		x = b.ReLU(b.Dense(fmt.Sprintf("dense%d", i+1), x, b.Width(512)))
	}
	return b.Dense("head", x, classes)
}
