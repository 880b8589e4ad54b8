// Package fouriermix is augment.FourierMix as a GoMLX graph: all of its chance is drawn on the
// host, by the same streams, and goes into the graph as tensors; spectra, affine maps and mixing
// are the graph's. In float32, views agree with those of the host to within 2·10⁻⁶ for images in
// [0, 1], or 10⁻³ on a GPU that rounds the factors of products to TF32; an affine map by the
// nearest pixel reads the very same pixels.
package fouriermix

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/augment"
)

// Inputs is the number of inputs of Mix behind the images.
const Inputs = 7

// Mix is the views of images [N, H, W, C], float32, by the draws of M = V·N views, which are inputs
// as Draws.Tensors makes them: row v·N + n of the result [M, H, W, C] is view v of image n.
//
// Transforms are products with constant matrices of cosines and sines, for sides of any length.
func Mix(f augment.FourierMix, images *Node, draws []*Node) *Node {
	keep, weight, share, amplitude, phase, maps := draws[0], draws[1], draws[2], draws[3], draws[4], draws[5:]
	d := images.Shape().Dimensions
	n, h, w, c := d[0], d[1], d[2], d[3]
	m, chains := weight.Shape().Dimensions[0], weight.Shape().Dimensions[1]
	t := newTransform(images.Graph(), images.DType(), h, w, f.RealMode == "hermitian" || f.RealMode == "")

	x := repeat(t.forward(TransposeAllDims(images, 0, 3, 1, 2)), m/n) // [M, C, H, K]
	factor := complexNode{Mul(amplitude, Cos(phase)), Mul(amplitude, Sin(phase))}
	spectralShare := Reshape(Mul(weight, share), m, chains, 1, 1, 1)
	affineShare := Reshape(Mul(weight, OneMinus(share)), m, chains, 1, 1)

	var spectral, moved *Node // [M, C, H, W] and [M, H·W, C], summed over the chains
	if f.RealMode == "abs" || f.AffineOf == "spectral" {
		each := t.inverse(complexNode{InsertAxes(x.re, 1), InsertAxes(x.im, 1)}.times(factor),
			f.RealMode == "abs")
		spectral = ReduceSum(Mul(each, spectralShare), 1)
		if f.AffineOf == "spectral" {
			moved = Sample(f, Reshape(TransposeAllDims(each, 0, 1, 3, 4, 2), m*chains, h, w, c), maps)
		}
	} else {
		// Mixing is linear, so that one inverse transform does for all chains.
		sum := complexNode{ReduceSum(Mul(factor.re, spectralShare), 1), ReduceSum(Mul(factor.im, spectralShare), 1)}
		spectral = t.inverse(x.times(sum), false)
	}
	if moved == nil {
		// Map m·chains + k is of image m mod N.
		each := BroadcastToDims(Reshape(images, 1, n, 1, h, w, c), m/n, n, chains, h, w, c)
		moved = Sample(f, Reshape(each, m*chains, h, w, c), maps)
	}
	moved = Reshape(ReduceSum(Mul(Reshape(moved, m, chains, h*w, c), affineShare), 1), m, h, w, c)
	augmented := Add(TransposeAllDims(spectral, 0, 2, 3, 1), moved)

	keep = Reshape(keep, m, 1, 1, 1)
	original := Reshape(BroadcastToDims(InsertAxes(images, 0), m/n, n, h, w, c), m, h, w, c)
	view := Add(Mul(original, keep), Mul(augmented, OneMinus(keep)))
	if f.Clip {
		view = ClipScalar(view, 0, 1)
	}
	return view
}

// complexNode is complex values as two nodes of one shape.
type complexNode struct{ re, im *Node }

func (z complexNode) times(by complexNode) complexNode {
	return complexNode{
		Sub(Mul(z.re, by.re), Mul(z.im, by.im)),
		Add(Mul(z.re, by.im), Mul(z.im, by.re)),
	}
}

// repeat is v copies of the first axis, one after the other.
func repeat(z complexNode, v int) complexNode {
	copies := func(x *Node) *Node {
		d := x.Shape().Dimensions
		return Reshape(BroadcastToDims(InsertAxes(x, 0), append([]int{v}, d...)...), append([]int{v * d[0]},
			d[1:]...)...)
	}
	return complexNode{copies(z.re), copies(z.im)}
}
