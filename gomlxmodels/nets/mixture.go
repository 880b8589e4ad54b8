package nets

import (
	"math"

	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
	"github.com/certspec/certspec/pixel"
)

// CCU is the posterior of Meinke and Hein 2020 (arXiv 1909.12180; Bitterwolf, Meinke and Hein 2020, equation 12).
// Beside the classifier stand two Gaussian mixtures, of images of the classes and of others, and
//
//	p(k|x) = (p_k·p(x|in) + (1/K)·p(x|out)) / (p(x|in) + p(x|out)).
//
// With h = ln p(x|in) − ln p(x|out) this is the posterior of ProoD, and the network gives the same z_k = ln(1 +
// K·exp(h)·p_k). The mixtures are round in whitened coordinates x·transform + shift; internal/ood/mixture/fit fits
// them.
// Transform, shift and weights of the components are not trained.
const CCU = "ccu"

func (b *Builder) ccu(images, logits Value) {
	if in := b.architecture.Input; in != "" && in != inputNone {
		b.misfit("its mixtures are of images as they are, and the input layer is %q", in)
	}
	d := images.shape.Len()
	b.tensor(netparts.Densities, "transform", identityMatrix, true, d, d)
	b.tensor(netparts.Densities, "shift", constant(0), true, d)
	for i, side := range netparts.MixtureSides {
		b.tensor(netparts.Densities+"/"+side, "means", uniform(1), false, netparts.MixtureComponents, d)
		b.tensor(netparts.Densities+"/"+side, "log-variances", constant(float32(i)*float32(math.Log(4))), false,
			netparts.MixtureComponents)
		b.tensor(netparts.Densities+"/"+side, "log-weights", constant(float32(-math.Log(netparts.MixtureComponents))), true,
			netparts.MixtureComponents)
	}
	x := b.add(layer{Kind: netparts.Mixture, Name: netparts.Densities, Inputs: []int{images.at}, Flat: true,
		Shape: pixel.Shape{Height: 1, Width: 1, Channels: len(netparts.MixtureSides)}})
	b.add(layer{Kind: netparts.Join, Name: "posterior", Inputs: []int{logits.at, x.at}, Shape: logits.shape, Flat: true})
}
