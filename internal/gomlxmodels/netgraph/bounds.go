package netgraph

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
)

// Ball returns the box of images around images [N, H, W, C] that differ by at most ε, a scalar, in every value: z with
// |z − x| ≤ ε, and with clip also 0 ≤ z ≤ 1. It returns centres [N, H, W, C] and radii, [1, H, W, C] if all images have
// the same.
func Ball(images, epsilon *Node, clip bool) (centre, radius *Node) {
	if !clip {
		d := images.Shape().Dimensions
		return images, BroadcastToDims(epsilon, 1, d[1], d[2], d[3])
	}
	epsilon = BroadcastToShape(epsilon, images.Shape())
	lower, upper := MaxScalar(Sub(images, epsilon), 0.0), MinScalar(Add(images, epsilon), 1.0)
	return fromEnds(lower, upper)
}

// Differences builds upper bounds U [N, K, K] on the differences of logits, U_kl ≥ f_k(z) − f_l(z), for all images z
// between centre − radius and centre + radius. It uses interval bound propagation (Gowal et al. 2018; Bitterwolf,
// Meinke and Hein 2020, equation 3), with batch normalisation by its running averages:
//
//	affine   c ← W·c + b,  r ← |W|·r                  zero padding has radius 0
//	ReLU     at the ends c − r and c + r
//	last     U_kl = (W_k − W_l)·c + |W_k − W_l|·r + b_k − b_l, and exactly 0 for k = l
//
// A network that does not end in a dense layer has U_kl = (c_k + r_k) − (c_l − r_l) of its logits. The radius is at
// least 0, with N or 1 as its first dimension. Gradients flow to the images and all tensors; that of |w| is 0 at w = 0.
// The bounds are in the arithmetic of the graph, without regard to rounding; package feedforward has those that hold in
// floating point.
func (n Network) Differences(centre, radius *Node, lookup Lookup) *Node {
	g, values := n.spans(centre, radius, lookup, nil)
	layers := n.Layers()
	last := layers[len(layers)-1]
	if last.Kind == netparts.Dense {
		var bias *Node
		if last.Bias {
			bias = lookup(last.Name + "/bias")
		}
		return g.merged(values[last.Inputs[0]], lookup(last.Name+"/kernel"), bias)
	}
	x := values[len(values)-1]
	u := Sub(InsertAxes(Add(x.centre, x.radius), -1), InsertAxes(Sub(x.centre, x.radius), 1))
	same := InsertAxes(Diagonal(u.Graph(), n.Classes), 0)
	return Where(BroadcastToShape(same, u.Shape()), ZerosLike(u), u)
}

// Intervals builds lower and upper bounds on the values of a layer for all images between centre − radius and centre +
// radius; see Differences. A nil radius gives the values twice. It panics if
// there is no layer of that name.
func (n Network) Intervals(layer string, centre, radius *Node, lookup Lookup) (lower, upper *Node) {
	_, values := n.spans(centre, radius, lookup, nil)
	for i, l := range n.Layers() {
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

// span is the output of a layer: values, and of a bounded forward pass how far they may be from them
// on both sides, else nil. The radius may be of one image for all.
type span struct{ centre, radius *Node }

func fromEnds(lower, upper *Node) (centre, radius *Node) {
	return MulScalar(Add(lower, upper), 0.5), MulScalar(Sub(upper, lower), 0.5)
}

// monotone applies a function that does not decrease.
func (s span) monotone(f func(x *Node) *Node) span {
	if s.radius == nil {
		return span{f(s.centre), nil}
	}
	c, r := fromEnds(f(Sub(s.centre, s.radius)), f(Add(s.centre, s.radius)))
	return span{c, r}
}

// linear applies a linear function to the values, and the function by the magnitudes of its weights to the radii.
func (s span) linear(f, magnitudes func(x *Node) *Node) span {
	if s.radius == nil {
		return span{f(s.centre), nil}
	}
	return span{f(s.centre), magnitudes(s.radius)}
}

// both applies a function to values and radii.
func (s span) both(f func(x *Node) *Node) span { return s.linear(f, f) }

// absolute is |w|, whose derivative at 0 is 0.
func absolute(w *Node) *Node { return Mul(w, StopGradient(Sign(w))) }

// merged are the differences of the outputs of a last dense layer.
func (g *grapher) merged(x span, kernel, bias *Node) *Node {
	x = x.both(flatten)
	n, k := x.centre.Shape().Dimensions[0], kernel.Shape().Dimensions[1]
	logits := g.dense(x.centre, kernel, bias)
	u := Sub(InsertAxes(logits, -1), InsertAxes(logits, 1))
	// A column a pair k < l; both constants have one 1, or 1 and −1, where it matters, so that the products are exact.
	pairs := k * (k - 1) / 2
	apart, place := make([][]float64, k), make([][]float64, pairs)
	for i := range apart {
		apart[i] = make([]float64, pairs)
	}
	p := 0
	for i := range k {
		for j := i + 1; j < k; j++ {
			apart[i][p], apart[j][p] = 1, -1
			place[p] = make([]float64, k*k)
			place[p][i*k+j], place[p][j*k+i] = 1, 1
			p++
		}
	}
	constant := func(v [][]float64) *Node { return ConstAsDType(kernel.Graph(), kernel.DType(), v) }
	radii := MatMul(MatMul(x.radius, absolute(MatMul(kernel, constant(apart)))), constant(place))
	if radii.Shape().Dimensions[0] != n {
		radii = BroadcastToDims(radii, n, k*k)
	}
	return Add(u, Reshape(radii, n, k, k))
}

func flatten(x *Node) *Node {
	if x.Rank() == 2 {
		return x
	}
	return Reshape(x, x.Shape().Dimensions[0], -1)
}

// checkRadius panics where radii do not fit the images.
func checkRadius(images, radius *Node) {
	have, want := radius.Shape().Dimensions, images.Shape().Dimensions
	for i, d := range want {
		if radius.Rank() != len(want) || have[i] != d && (i > 0 || have[i] != 1) {
			panic(fmt.Sprintf("nets: radii of shape %v for images of shape %v", have, want))
		}
	}
}
