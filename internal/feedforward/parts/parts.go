// Package parts is the form in which the layers of a feedforward.Network are handed to packages that rebuild them.
package parts

// Layer is a layer with what it computes with; layer 0 is the input. Tensors of images are channels × height × width.
type Layer struct {
	Name, Op string
	In       []int
	Shape    []int

	Conv    *Conv
	Dense   *Dense
	Scale   *Scale
	Average *Average
	Max     *Window
	ReLU    bool
	Move    *Move
	Sign    []float64 // of the terms of a sum
	Concat  *Concat
	Product bool // of the two that it reads

	// of a function of each value its constants, of Transpose the order of axes, of Pad what is before and behind
	// each, of Concat the axis
	Given [][]float64
}

// Window is how a kernel goes over an image.
type Window struct {
	Kernel, Stride, Dilation [2]int
	Pad                      [4]int // top, left, bottom, right
}

// Conv is a convolution; W is outputs × channels/Groups × kernel.
type Conv struct {
	Window
	Groups int
	W, B   []float64 // B may be nil
}

// Dense is y = Wx + B.
type Dense struct{ W, B []float64 } // B may be nil

// Scale is y_i = S[i/Times]·x_i + T[i/Times].
type Scale struct {
	S, T  []float64
	Times int
}

// Average is average pooling, with the divisor of each output.
type Average struct {
	Window
	Divisor []float64
}

// Move is y_o = x[From[o]], or Constant where that is negative; From nil: all stay.
type Move struct {
	From     []int32
	Constant float64
}

// Concat takes Sizes[j] values of input j in turn, Blocks times.
type Concat struct {
	Blocks int
	Sizes  []int
}
