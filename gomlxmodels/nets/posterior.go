package nets

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

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

// quarter is the mean over 2×2 pixels.
func quarter(x *Node) *Node {
	d := x.Shape().Dimensions
	h, w := d[1]/2, d[2]/2
	if d[1]%2+d[2]%2 > 0 {
		x = Slice(x, AxisRange(), AxisRange(0, 2*h), AxisRange(0, 2*w), AxisRange())
	}
	return ReduceMean(Reshape(x, d[0], h, 2, w, 2, d[3]), 2, 4)
}

// joined is the posterior of logits f [N, K] and h [N, 1], moved by a shift. In training no
// gradient flows from it to h where that is apart.
func (g *grapher) joined(f, h span, shift float64, apart bool) span {
	k := f.centre.Shape().Dimensions[1]
	join := func(logP, h *Node) *Node {
		x := AddScalar(Add(MaxScalar(logP, netparts.LeastLogP), h), math.Log(float64(k))+shift)
		return Softplus(x)
	}
	if f.radius == nil {
		value := h.centre
		if g.averages != nil && apart {
			value = StopGradient(value)
		}
		return span{join(LogSoftmax(f.centre), value), nil}
	}
	// Of log p_k, −ln(1 + Σ_{j≠k} exp(u_j − l_k)) and the same with l and u exchanged.
	against := func(others, mine *Node) *Node {
		x := Sub(InsertAxes(others, 1), InsertAxes(mine, -1))
		same := BroadcastToShape(InsertAxes(Diagonal(x.Graph(), k), 0), x.Shape())
		x = Where(same, ZerosLike(x), x)
		top := StopGradient(ReduceAndKeep(x, ReduceMax, -1))
		return Neg(Add(Log(ReduceSum(Exp(Sub(x, top)), -1)), Squeeze(top, -1)))
	}
	lower, upper := Sub(f.centre, f.radius), Add(f.centre, f.radius)
	c, r := fromEnds(
		join(against(upper, lower), Sub(h.centre, h.radius)),
		join(against(lower, upper), Add(h.centre, h.radius)))
	return span{c, r}
}

// Intervals builds lower and upper bounds on the values of a layer for all images between centre − radius and centre +
// radius; see Differences. A nil radius gives the values twice. It panics if the architecture does not pass Check, or
// has no layer of that name.
func (a Architecture) Intervals(layer string, centre, radius *Node, lookup Lookup) (lower, upper *Node) {
	d := a.must()
	_, values := d.spans(centre, radius, lookup, nil)
	for i, l := range d.layers {
		if l.Name == layer {
			x := values[i]
			if x.radius == nil {
				return x.centre, x.centre
			}
			return Sub(x.centre, x.radius), Add(x.centre, x.radius)
		}
	}
	panic("nets: no layer " + layer)
}
