package netgraph

import . "github.com/gomlx/gomlx/core/graph"

// conv is a convolution with zero padding of (size−1)/2 on all sides.
func (g *grapher) conv(x, kernel *Node, stride int) *Node {
	if !g.native {
		return convAsProduct(x, kernel, stride)
	}
	pad := (kernel.Shape().Dimensions[0] - 1) / 2
	return Convolve(x, kernel).Strides(stride).PaddingPerDim([][2]int{{pad, pad}, {pad, pad}}).Done()
}

// convAsProduct is the same convolution as one matrix product: on the Go backend it is
// five to twelve times faster than the native one, and more accurate.
func convAsProduct(x, kernel *Node, stride int) *Node {
	d, k := x.Shape().Dimensions, kernel.Shape().Dimensions
	n, height, width := d[0], (d[1]-1)/stride+1, (d[2]-1)/stride+1
	size, in, out := k[0], k[2], k[3]
	columns := Reshape(Concatenate(taps(x, size, stride), 3), n*height*width, size*size*in)
	return Reshape(MatMul(columns, Reshape(kernel, size*size*in, out)), n, height, width, out)
}

// taps are the values that each place of a size×size window sees as it moves over x [N, H, W, C], whose border is
// (size−1)/2 zeros.
func taps(x *Node, size, stride int) []*Node {
	d := x.Shape().Dimensions
	height, width := (d[1]-1)/stride+1, (d[2]-1)/stride+1
	// Zeros are joined on, as Pad has no gradient.
	for axis := 1; axis <= 2 && size > 1; axis++ {
		border := x.Shape().Clone()
		border.Dimensions[axis] = (size - 1) / 2
		zeros := Zeros(x.Graph(), border)
		x = Concatenate([]*Node{zeros, x, zeros}, axis)
	}
	var list []*Node
	for i := range size {
		for j := range size {
			list = append(list, Slice(x, AxisRange(),
				AxisRange(i, i+(height-1)*stride+1).Stride(stride),
				AxisRange(j, j+(width-1)*stride+1).Stride(stride)))
		}
	}
	return list
}

// maxPool is the maximum over 3×3 or 2×2 pixels with stride 2; see Builder.
func (g *grapher) maxPool(x *Node, size int) *Node {
	if size == 2 {
		return halve(x)
	}
	if g.native {
		return MaxPool(x).Window(3).Strides(2).PaddingPerDim([][2]int{{1, 1}, {1, 1}}).Done()
	}
	return maximum(taps(x, 3, 2))
}

// halve is the maximum over 2×2 pixels. Its gradient, that of three maxima, is much faster on the
// CPU than that of XLA's pooling, which scatters one by one.
func halve(x *Node) *Node {
	for axis := 1; axis <= 2; axis++ {
		if border := x.Shape().Clone(); border.Dimensions[axis]%2 == 1 {
			border.Dimensions[axis] = 1
			x = Concatenate([]*Node{x, Zeros(x.Graph(), border)}, axis)
		}
	}
	var taps []*Node
	for i := range 2 {
		for j := range 2 {
			taps = append(taps, Slice(x, AxisRange(), AxisRange(i).Stride(2), AxisRange(j).Stride(2)))
		}
	}
	return maximum(taps)
}

func maximum(list []*Node) *Node {
	y := list[0]
	for _, x := range list[1:] {
		y = Max(y, x)
	}
	return y
}

// barrier is the identity, written as a division by a one that XLA does not know.
//
// XLA on the CPU joins elementwise operations into every user of their result. In a
// residual network the users of an activation are several convolutions, transpositions and
// the next sum, so that the whole chain of blocks is computed over and over, with strided
// reads. A division counts as too dear to repeat, so its result is stored once. A division
// by one is exact.
func (g *grapher) barrier(x *Node) *Node {
	if g.unit == nil {
		return x
	}
	return withGradient([]*Node{x},
		func(in []*Node) *Node { return Div(in[0], g.unit) },
		func(dy *Node) []*Node { return []*Node{dy} })
}

// gradientBarrier is the identity, with a barrier for the gradient.
func (g *grapher) gradientBarrier(x *Node) *Node {
	if g.unit == nil {
		return x
	}
	return IdentityWithCustomGradient(x, func(_, dy *Node) *Node { return Div(dy, g.unit) })
}

// runtimeOne is 1, or NaN where x[0] is not finite, by way of a value known at run time only.
func runtimeOne(x *Node) *Node {
	first := Reshape(Slice(Reshape(StopGradient(x), -1), AxisRange(0, 1)))
	return StopGradient(AddScalar(MulScalar(first, 0), 1))
}

// withGradient builds a function of several inputs with a gradient of its own: build makes
// y from the inputs, and gradients gives one gradient per input for that of y.
func withGradient(inputs []*Node, build func(inputs []*Node) *Node, gradients func(dy *Node) []*Node) *Node {
	var found []*Node
	wrapped := make([]*Node, len(inputs))
	for i, x := range inputs {
		wrapped[i] = IdentityWithCustomGradient(x, func(_, _ *Node) *Node { return found[i] })
	}
	// What comes back through build's own operations is replaced above; it is dead code.
	return IdentityWithCustomGradient(build(wrapped), func(_, dy *Node) *Node {
		found = gradients(dy)
		return dy
	})
}

// channelSums adds up x [N, H, W, C] over all but the channels, giving [C]. It does so in two
// stages, which keeps float32 sums accurate; the barrier keeps XLA from joining them into
// one, which it would compute channel by channel on a single core.
func (g *grapher) channelSums(x *Node) *Node {
	rows := ReduceSum(x, 2)
	if g.unit != nil {
		rows = Div(rows, g.unit)
	}
	return ReduceSum(rows, 0, 1)
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

func unfolded(x *Node) *Node {
	d := x.Shape().Dimensions
	x = TransposeAllAxes(Reshape(x, d[0], d[1], d[2], 2, 2, d[3]/4), 0, 1, 3, 2, 4, 5)
	return Reshape(x, d[0], 2*d[1], 2*d[2], d[3]/4)
}
