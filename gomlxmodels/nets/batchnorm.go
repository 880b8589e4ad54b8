package nets

import . "github.com/gomlx/gomlx/core/graph"

// NormEpsilon is added to the variance in batch normalisation.
const NormEpsilon = 1e-5

const normMomentum = 0.1 // weight of the newest batch in the running averages

// norm is batch normalisation (Ioffe and Szegedy 2015) per channel:
//
//	y = scale·(x − mean)/√(variance + 1e-5) + shift
//
// In training, mean and variance are those of the batch, the variance divided by n; in
// evaluation they are the running averages. Its tensors are NAME/scale, shift, mean and
// variance, of [channels].
func (b *builder) norm(name string, x value) value {
	c := x.shape.Channels
	scale := b.tensor(name+"/scale", constant(1), false, c)
	shift := b.tensor(name+"/shift", constant(0), false, c)
	runningMean := b.tensor(name+"/mean", constant(0), true, c)
	runningVariance := b.tensor(name+"/variance", constant(1), true, c)
	if x.node == nil {
		return x
	}
	if b.averages == nil {
		factor := Mul(scale, inverseDeviation(runningVariance))
		x.node = Add(Mul(x.node, alongChannels(factor)), alongChannels(Sub(shift, Mul(runningMean, factor))))
		return x
	}
	y, mean, variance := b.batchNorm(x.node, scale, shift)
	n := float64(x.node.Shape().Size() / c)
	b.averages[name+"/mean"] = average(runningMean, mean)
	b.averages[name+"/variance"] = average(runningVariance, MulScalar(variance, n/max(n-1, 1)))
	x.node = y
	return x
}

// batchNorm normalises by the statistics of the batch. Its gradient is the closed form
//
//	dx = scale·r·(dy − mean(dy) − x̂·mean(dy·x̂)),  x̂ = (x − mean)·r,  r = 1/√(variance + ε)
//
// which needs two sums where differentiation step by step needs more.
func (b *builder) batchNorm(x, scale, shift *Node) (y, mean, variance *Node) {
	c := scale.Shape().Dimensions[0]
	n := float64(x.Shape().Size() / c)
	var centered, r *Node
	y = withGradient([]*Node{x, scale, shift}, func(in []*Node) *Node {
		x, scale, shift := in[0], in[1], in[2]
		mean = MulScalar(b.channelSums(x), 1/n)
		centered = Sub(x, alongChannels(mean))
		variance = MulScalar(b.channelSums(Mul(centered, centered)), 1/n)
		r = inverseDeviation(variance)
		factor := Mul(scale, r)
		return Add(Mul(x, alongChannels(factor)), alongChannels(Sub(shift, Mul(mean, factor))))
	}, func(dy *Node) []*Node {
		dShift := b.channelSums(dy)
		dScale := Mul(b.channelSums(Mul(dy, centered)), r)
		factor := Mul(scale, r)
		slope := MulScalar(Mul(Mul(factor, r), dScale), -1/n)
		offset := MulScalar(Mul(factor, dShift), -1/n)
		dx := Add(Mul(dy, alongChannels(factor)), Add(Mul(centered, alongChannels(slope)), alongChannels(offset)))
		if b.unit != nil {
			dx = Div(dx, b.unit)
		}
		return []*Node{dx, dScale, dShift}
	})
	return y, StopGradient(mean), StopGradient(variance)
}

func inverseDeviation(variance *Node) *Node {
	return Reciprocal(Sqrt(AddScalar(variance, NormEpsilon)))
}

func average(running, batch *Node) *Node {
	return Add(MulScalar(running, 1-normMomentum), MulScalar(batch, normMomentum))
}

// alongChannels reshapes [C] for use beside [N, H, W, C].
func alongChannels(x *Node) *Node { return Reshape(x, 1, 1, 1, x.Shape().Dimensions[0]) }
