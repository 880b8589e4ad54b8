package nets

import (
	"math"
	"strconv"
)

// vgg is VGG of 16 layers (Simonyan and Zisserman 2015, configuration D) in the form for CIFAR of
// the literature on pruning: thirteen 3×3 convolutions with 64 to 512 channels, each with batch
// normalisation and ReLU, a maximum over 2×2 pixels after the first four groups, the mean over all
// pixels after the fifth, and one dense layer. With 10 classes it has 14,728,266 parameters;
// unbiased, without biases in convolutions and head, 14,724,032.
type vgg struct{ unbiased bool }

func (n vgg) Name() string {
	if n.unbiased {
		return "vgg16-unbiased"
	}
	return "vgg16"
}

func (n vgg) Layers(b *Builder, x Value, classes int) Value {
	at := 0
	for group, convolutions := range []int{2, 2, 3, 3, 3} {
		for range convolutions {
			at++
			number := strconv.Itoa(at)
			x = b.Conv("conv"+number, x, ConvOptions{Size: 3, Channels: b.Width(min(64<<group, 512)), Bias: !n.unbiased,
				FanIn: true})
			x = b.ReLU(b.norm("bn"+number, x, familyScale(n.unbiased)))
		}
		if group < 4 {
			x = b.MaxPool2("half"+strconv.Itoa(group+1), x)
		}
	}
	return b.familyHead(b.MeanPool("pool", x), classes, n.unbiased)
}

// The networks of the literature on pruning come in two families: that of OpenLTH has biases and
// begins with scales of normalisation uniform in [0, 1); that of hidden-networks has no biases and
// scales of 1. Kernels of both are normal with variance 2/inputs.

func familyScale(unbiased bool) initializer {
	if unbiased {
		return constant(1)
	}
	return share
}

func (b *Builder) familyHead(x Value, classes int, unbiased bool) Value {
	if unbiased {
		return b.linear("head", x, classes)
	}
	inputs := float64(x.shape.Len())
	return b.dense("head", x, classes, normal(2/inputs), uniform(1/math.Sqrt(inputs)))
}
