package nets

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/pixel"
)

// conv is a convolution without bias, with an odd kernel of size×size pixels and zero
// padding of (size−1)/2 on all sides; its tensor is NAME/kernel [size, size, in, out].
func (b *builder) conv(name string, x value, size, channels, stride int) value {
	init := normal(2 / float64(size*size*channels))
	kernel := b.tensor(name+"/kernel", init, false, size, size, x.shape.Channels, channels)
	y := value{shape: pixel.Shape{
		Height:   (x.shape.Height-1)/stride + 1,
		Width:    (x.shape.Width-1)/stride + 1,
		Channels: channels,
	}}
	switch {
	case kernel == nil:
	case b.native:
		pad := (size - 1) / 2
		y.node = Convolve(x.node, kernel).Strides(stride).PaddingPerDim([][2]int{{pad, pad}, {pad, pad}}).Done()
	default:
		y.node = convAsProduct(x.node, kernel, stride)
	}
	return y
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

// relu is max(x, 0) with derivative 0 at 0, and NaN for NaN.
func (b *builder) relu(x value) value {
	if x.node != nil {
		zero := ZerosLike(x.node)
		x.node = Where(LessOrEqual(x.node, zero), zero, x.node)
	}
	return x
}

// dense is x·kernel + bias with NAME/kernel [inputs, outputs] and NAME/bias [outputs].
func (b *builder) dense(name string, x value, inputs, outputs int) value {
	init := uniform(1 / math.Sqrt(float64(inputs)))
	kernel := b.tensor(name+"/kernel", init, false, inputs, outputs)
	bias := b.tensor(name+"/bias", init, false, outputs)
	y := value{shape: pixel.Shape{Height: 1, Width: 1, Channels: outputs}}
	if kernel != nil {
		y.node = Add(MatMul(x.node, kernel), Reshape(bias, 1, outputs))
	}
	return y
}

// shared keeps XLA from computing x anew for each of its users.
func (b *builder) shared(x value) value {
	if x.node != nil {
		x.node = b.barrier(x.node)
	}
	return x
}

// barrier is the identity, written as a division by a one that XLA does not know.
//
// XLA on the CPU joins elementwise operations into every user of their result. In a
// residual network the users of an activation are several convolutions, transpositions and
// the next sum, so that the whole chain of blocks is computed over and over, with strided
// reads. A division counts as too dear to repeat, so its result is stored once. A division
// by one is exact.
func (b *builder) barrier(x *Node) *Node {
	if b.unit == nil {
		return x
	}
	return withGradient([]*Node{x},
		func(in []*Node) *Node { return Div(in[0], b.unit) },
		func(dy *Node) []*Node { return []*Node{dy} })
}

// gradientBarrier is the identity, with a barrier for the gradient.
func (b *builder) gradientBarrier(x *Node) *Node {
	if b.unit == nil {
		return x
	}
	return IdentityWithCustomGradient(x, func(_, dy *Node) *Node { return Div(dy, b.unit) })
}

// runtimeOne is 1, or NaN where x[0] is not finite, by way of a value known at run time only.
func runtimeOne(x *Node) *Node {
	first := Reshape(Slice(StopGradient(x), AxisRange(0, 1)))
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
func (b *builder) channelSums(x *Node) *Node {
	rows := ReduceSum(x, 2)
	if b.unit != nil {
		rows = Div(rows, b.unit)
	}
	return ReduceSum(rows, 0, 1)
}
