package netgraph

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
)

const normMomentum = 0.1 // weight of the newest batch in the running averages

// norm is batch normalisation; see Builder.Norm.
func (g *grapher) norm(name string, x span, tensor func(name string) *Node) span {
	d := x.centre.Shape().Dimensions
	if len(d) == 2 { // behind a dense layer
		y := g.norm(name, x.both(func(x *Node) *Node { return Reshape(x, x.Shape().Dimensions[0], 1, 1, d[1]) }),
			tensor)
		return y.both(func(y *Node) *Node { return Reshape(y, y.Shape().Dimensions[0], d[1]) })
	}
	scale, shift, runningMean, runningVariance := tensor("scale"), tensor("shift"), tensor("mean"), tensor("variance")
	if g.averages == nil {
		factor := Mul(scale, inverseDeviation(runningVariance))
		return x.linear(
			func(x *Node) *Node {
				return Add(Mul(x, alongChannels(factor)), alongChannels(Sub(shift, Mul(runningMean, factor))))
			},
			func(r *Node) *Node { return Mul(r, alongChannels(absolute(factor))) })
	}
	y, mean, variance := g.batchNorm(x.centre, scale, shift)
	n := float64(x.centre.Shape().Size() / d[3])
	g.averages[name+"/mean"] = average(runningMean, mean)
	g.averages[name+"/variance"] = average(runningVariance, MulScalar(variance, n/max(n-1, 1)))
	return span{y, nil}
}

// batchNorm normalises by the statistics of the batch. Its gradient is the closed form
//
//	dx = scale·r·(dy − mean(dy) − x̂·mean(dy·x̂)),  x̂ = (x − mean)·r,  r = 1/√(variance + ε)
//
// which needs two sums where differentiation step by step needs more.
func (g *grapher) batchNorm(x, scale, shift *Node) (y, mean, variance *Node) {
	c := scale.Shape().Dimensions[0]
	n := float64(x.Shape().Size() / c)
	var centered, r *Node
	y = withGradient([]*Node{x, scale, shift}, func(in []*Node) *Node {
		x, scale, shift := in[0], in[1], in[2]
		mean = MulScalar(g.channelSums(x), 1/n)
		centered = Sub(x, alongChannels(mean))
		variance = MulScalar(g.channelSums(Mul(centered, centered)), 1/n)
		r = inverseDeviation(variance)
		factor := Mul(scale, r)
		return Add(Mul(x, alongChannels(factor)), alongChannels(Sub(shift, Mul(mean, factor))))
	}, func(dy *Node) []*Node {
		dShift := g.channelSums(dy)
		dScale := Mul(g.channelSums(Mul(dy, centered)), r)
		factor := Mul(scale, r)
		slope := MulScalar(Mul(Mul(factor, r), dScale), -1/n)
		offset := MulScalar(Mul(factor, dShift), -1/n)
		dx := Add(Mul(dy, alongChannels(factor)), Add(Mul(centered, alongChannels(slope)), alongChannels(offset)))
		if g.unit != nil {
			dx = Div(dx, g.unit)
		}
		return []*Node{dx, dScale, dShift}
	})
	return y, StopGradient(mean), StopGradient(variance)
}

func inverseDeviation(variance *Node) *Node {
	return Reciprocal(Sqrt(AddScalar(variance, netparts.NormEpsilon)))
}

func average(running, batch *Node) *Node {
	return Add(MulScalar(running, 1-normMomentum), MulScalar(batch, normMomentum))
}

// alongChannels reshapes [C] for use beside [N, H, W, C].
func alongChannels(x *Node) *Node { return Reshape(x, 1, 1, 1, x.Shape().Dimensions[0]) }
