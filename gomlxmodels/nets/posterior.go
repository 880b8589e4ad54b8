package nets

import (
	"math"

	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
	"github.com/certspec/certspec/pixel"
)

// ProoD is the posterior of Meinke, Bitterwolf and Hein 2022 (arXiv 2106.04260). Beside the classifier f stands a
// discriminator h, and
//
//	p(k|x) = π·softmax_k(f(x)) + (1 − π)/K,  π = 1/(1 + exp(−h(x) − Δ)).
//
// Δ is Architecture.Shift: the discriminator learns as if own and foreign images were equally likely, and of real
// images most are own. A larger Δ costs less accuracy and guarantees less. A bound on h alone bounds the confidence,
// Conf ≤ π̄ + (1 − π̄)/K, whatever the classifier is.
//
// The network gives z_k = ln(1 + K·exp(h + Δ)·p_k) = ln p(k|x) up to a constant that is the same for all k. So
// softmax(z) is the posterior, and intervals of z give that bound, since log p_k is at most 0. A log p_k below −100
// counts as −100.
//
// The discriminator is their network: convolutions of 3×3 pixels with 128, 256 (stride 2) and 256 channels, the mean
// over 2×2 pixels, a dense layer of 128 and one with a single output. The weights of the last are negative, so that h
// is small far from all images. For images of 32×32×3 it has 2,986,241 parameters.
const ProoD = "prood"

func (b *Builder) prood(images, logits Value) {
	x := images
	for i, channels := range []int{128, 256, 256} {
		o := ConvOptions{Size: 3, Channels: b.Width(channels), Bias: true, Uniform: true, Stride: []int{1, 2, 1}[i]}
		x = b.ReLU(b.Conv([]string{"discriminator/conv1", "discriminator/conv2", "discriminator/conv3"}[i], x, o))
	}
	if x.shape.Height > 1 && x.shape.Width > 1 {
		x = b.halve("discriminator/pool", x)
	}
	x = b.ReLU(b.Dense("discriminator/dense", x, b.Width(128)))
	h := b.Dense(netparts.DiscriminatorHead, x, 1)
	b.layers[h.at].Negative = true
	inputs := float64(x.shape.Len())
	kernel := &b.tensors[len(b.tensors)-2]
	kernel.init, kernel.ibp = around(-math.Log(inputs), 1/math.Sqrt(inputs)), nil // that of −exp(kernel)
	b.add(layer{Kind: netparts.Join, Name: "posterior", Inputs: []int{logits.at, h.at}, Shape: logits.shape, Flat: true})
}

func (b *Builder) halve(name string, x Value) Value {
	return b.add(layer{Kind: netparts.Halve, Name: name, Inputs: []int{x.at}, Shape: pixel.Shape{
		Height: x.shape.Height / 2, Width: x.shape.Width / 2, Channels: x.shape.Channels}})
}
