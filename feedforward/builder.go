package feedforward

import (
	"fmt"
	"math"
	"slices"
)

// Builder makes a Network layer by layer. Every method adds a layer behind given ones and returns its number; the input is
// number 0. The first error is kept, and Network returns it.
type Builder struct {
	net        Network
	name       string      // of the next layer, for messages
	parameters [][]float64 // of the next layer, for Digest
	err        error
}

// NewBuilder begins a network for inputs of that shape: features, or channels × height × width.
func NewBuilder(input ...int) *Builder {
	b := &Builder{}
	if len(input) == 0 || slices.Min(input) < 1 {
		b.err = &InputError{fmt.Sprintf("an input of shape %v", input)}
		input = []int{1}
	}
	b.net.nodes = []node{{name: "input", op: "Input", shape: slices.Clone(input)}}
	return b
}

// Name gives the next layer a name, for messages.
func (b *Builder) Name(name string) *Builder {
	b.name = name
	return b
}

// with says what the next layer computes with, besides its kind and the shapes.
func (b *Builder) with(parameters ...[]float64) *Builder {
	b.parameters = parameters
	return b
}

// Network is the finished network, whose outputs are those of a layer. Errors: the first that a layer had.
func (b *Builder) Network(output int) (*Network, error) {
	if b.err != nil {
		return nil, b.err
	}
	if output < 1 || output >= len(b.net.nodes) {
		return nil, &InputError{fmt.Sprintf("layer %d as output, of %d", output, len(b.net.nodes))}
	}
	return &Network{nodes: b.net.nodes[:output+1], output: output}, nil
}

// Shape is the shape of a layer's output.
func (b *Builder) Shape(layer int) Shape { return b.net.nodes[layer].shape }

func (b *Builder) fail(op, format string, args ...any) int {
	if b.err == nil {
		name := b.name
		if name == "" {
			name = fmt.Sprintf("layer %d", len(b.net.nodes))
		}
		b.err = &InputError{fmt.Sprintf("%s (%s): %s", name, op, fmt.Sprintf(format, args...))}
	}
	b.name = ""
	return 0
}

func (b *Builder) add(op string, shape Shape, l layer, in ...int) int {
	for _, i := range in {
		if i < 0 || i >= len(b.net.nodes) {
			return b.fail(op, "reads layer %d of %d", i, len(b.net.nodes))
		}
	}
	if shape.Size() < 1 || shape.Size() > 1<<28 {
		return b.fail(op, "an output of shape %v", shape)
	}
	name := b.name
	if name == "" {
		name = fmt.Sprintf("%s_%d", op, len(b.net.nodes))
	}
	b.net.nodes = append(b.net.nodes, node{name, op, in, shape, b.parameters, l})
	b.name, b.parameters = "", nil
	return len(b.net.nodes) - 1
}

func finite(values ...[]float64) error {
	for _, v := range values {
		for i, w := range v {
			if math.IsNaN(w) || math.IsInf(w, 0) {
				return fmt.Errorf("weight %d is %v", i, w)
			}
		}
	}
	return nil
}

func (b *Builder) addLinear(op string, shape Shape, l linear, in int) int {
	if l.terms() > mostTerms {
		return b.fail(op, "%d products in one output, at most %d are bounded", l.terms(), mostTerms)
	}
	return b.add(op, shape, affine{l}, in)
}

// Dense is y = Wx + b on all values of a layer; w is outputs × inputs, b has a value an output or is nil.
func (b *Builder) Dense(in, outputs int, w, bias []float64) int {
	size := b.Shape(in).Size()
	if len(w) != outputs*size || bias != nil && len(bias) != outputs {
		return b.fail("Dense", "%d weights and %d biases for %d outputs of %d inputs", len(w), len(bias), outputs, size)
	}
	if err := finite(w, bias); err != nil {
		return b.fail("Dense", "%v", err)
	}
	return b.with(w, bias).addLinear("Dense", Shape{outputs}, newDense(size, outputs, w, bias), in)
}

// Conv is a 2-D convolution as ONNX has it; w is outputs × channels/groups × kernel height × kernel width.
func (b *Builder) Conv(in, outputs int, o ConvOptions, w, bias []float64) int {
	s := b.Shape(in)
	o, reason := o.defaults()
	switch {
	case reason != "":
		return b.fail("Conv", "%s", reason)
	case len(s) != 3:
		return b.fail("Conv", "an input of shape %v, want channels × height × width", s)
	case s[0]%o.Groups != 0 || outputs%o.Groups != 0 || outputs < 1:
		return b.fail("Conv", "%d groups of %d channels in and %d out", o.Groups, s[0], outputs)
	case len(w) != outputs*(s[0]/o.Groups)*o.Kernel[0]*o.Kernel[1] || bias != nil && len(bias) != outputs:
		return b.fail("Conv", "%d weights and %d biases for %d channels of %v, kernel %v, %d groups", len(w), len(bias), outputs, s, o.Kernel, o.Groups)
	}
	if err := finite(w, bias); err != nil {
		return b.fail("Conv", "%v", err)
	}
	c := newConvolution(s, o, outputs, w, bias)
	if c.outH < 1 || c.outW < 1 {
		return b.fail("Conv", "kernel %v does not fit into %v", o.Kernel, s)
	}
	return b.with(o.numbers(), w, bias).addLinear("Conv", c.outShape(), c, in)
}

func (o ConvOptions) defaults() (ConvOptions, string) {
	for i := range 2 {
		if o.Stride[i] == 0 {
			o.Stride[i] = 1
		}
		if o.Dilation[i] == 0 {
			o.Dilation[i] = 1
		}
	}
	if o.Groups == 0 {
		o.Groups = 1
	}
	if o.Kernel[0] < 1 || o.Kernel[1] < 1 || slices.Min(o.Stride[:]) < 1 || slices.Min(o.Dilation[:]) < 1 || slices.Min(o.Pad[:]) < 0 || o.Groups < 1 {
		return o, fmt.Sprintf("kernel %v, stride %v, dilation %v, padding %v, groups %d", o.Kernel, o.Stride, o.Dilation, o.Pad, o.Groups)
	}
	return o, ""
}

// Scale is y_i = s_i·x_i + t_i, with one s and t a value. size is what of t's parts enters rounding errors, at least |t|; nil
// for |t|.
func (b *Builder) Scale(in int, s, t, size []float64) int {
	n := b.Shape(in).Size()
	if len(s) != n || len(t) != n || size != nil && len(size) != n {
		return b.fail("Scale", "%d, %d and %d values for an input of %d", len(s), len(t), len(size), n)
	}
	if err := finite(s, t, size); err != nil {
		return b.fail("Scale", "%v", err)
	}
	return b.with(s, t, size).addLinear("Scale", b.Shape(in), &scale{s, t, size}, in)
}

// BatchNorm is normalisation in inference, y = γ(x − mean)/√(variance + ε) + β, by channel, the first dimension.
func (b *Builder) BatchNorm(in int, gamma, beta, mean, variance []float64, epsilon float64) int {
	shape := b.Shape(in)
	channels := shape[0]
	if len(gamma) != channels || len(beta) != channels || len(mean) != channels || len(variance) != channels {
		return b.fail("BatchNormalization", "%d, %d, %d and %d values for %d channels", len(gamma), len(beta), len(mean), len(variance), channels)
	}
	n := shape.Size()
	s, t, size := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range s {
		c := i / (n / channels)
		if !(variance[c]+epsilon > 0) {
			return b.fail("BatchNormalization", "variance %v + epsilon %v in channel %d", variance[c], epsilon, c)
		}
		s[i] = gamma[c] / math.Sqrt(variance[c]+epsilon)
		t[i] = beta[c] - s[i]*mean[c]
		size[i] = math.Abs(beta[c]) + math.Abs(s[i]*mean[c])
	}
	return b.Scale(in, s, t, size)
}

// ReLU is max(x, 0).
func (b *Builder) ReLU(in int) int { return b.add("Relu", b.Shape(in), relu(), in) }

// LeakyReLU is max(x, alpha·x), 0 ≤ alpha ≤ 1.
func (b *Builder) LeakyReLU(in int, alpha float64) int {
	if !(alpha >= 0 && alpha <= 1) {
		return b.fail("LeakyRelu", "slope %v, want 0 to 1", alpha)
	}
	return b.with([]float64{alpha}).add("LeakyRelu", b.Shape(in), leakyReLU(alpha), in)
}

// Sigmoid is 1/(1 + exp(−x)).
func (b *Builder) Sigmoid(in int) int { return b.add("Sigmoid", b.Shape(in), sigmoid(), in) }

// Tanh is the hyperbolic tangent.
func (b *Builder) Tanh(in int) int { return b.add("Tanh", b.Shape(in), tanh(), in) }

// Clip is min(max(x, low), high).
func (b *Builder) Clip(in int, low, high float64) int {
	if !(low <= high) {
		return b.fail("Clip", "to [%v, %v]", low, high)
	}
	return b.with([]float64{low, high}).add("Clip", b.Shape(in), clip(low, high), in)
}

// PoolOptions are those of ONNX's pooling operators.
type PoolOptions struct {
	ConvOptions
	CountPadding bool // average pooling divides by the kernel's size, places in the padding included
	CeilMode     bool
}

// AveragePool is average pooling; a kernel of zero size pools the whole image.
func (b *Builder) AveragePool(in int, o PoolOptions) int {
	members, shape, full, reason := b.windows(in, o)
	if reason != "" {
		return b.fail("AveragePool", "%s", reason)
	}
	l := &pooling{in: b.Shape(in).Size(), members: members, divisor: make([]float64, len(members)), most: full}
	for i, m := range members {
		l.divisor[i] = float64(len(m))
		if o.CountPadding {
			l.divisor[i] = float64(full)
		}
	}
	return b.with(o.numbers(), l.divisor).addLinear("AveragePool", shape, l, in)
}

// MaxPool is maximum pooling; a kernel of zero size pools the whole image.
func (b *Builder) MaxPool(in int, o PoolOptions) int {
	members, shape, _, reason := b.windows(in, o)
	if reason != "" {
		return b.fail("MaxPool", "%s", reason)
	}
	return b.with(o.numbers()).add("MaxPool", shape, &maximum{members}, in)
}

// windows lists, for each output of a pooling layer, the inputs in its window.
func (b *Builder) windows(in int, p PoolOptions) (members [][]int, shape Shape, full int, reason string) {
	s := b.Shape(in)
	if len(s) != 3 {
		return nil, nil, 0, fmt.Sprintf("an input of shape %v, want channels × height × width", s)
	}
	if p.Kernel == [2]int{} {
		p.Kernel = [2]int{s[1], s[2]}
	}
	o, reason := p.ConvOptions.defaults()
	if reason != "" {
		return nil, nil, 0, reason
	}
	h := poolSize(s[1], 0, o, p.CeilMode)
	w := poolSize(s[2], 1, o, p.CeilMode)
	if h < 1 || w < 1 {
		return nil, nil, 0, fmt.Sprintf("kernel %v does not fit into %v", o.Kernel, s)
	}
	for c := range s[0] {
		for oy := range h {
			for ox := range w {
				var m []int
				for ky := range o.Kernel[0] {
					for kx := range o.Kernel[1] {
						y, x := oy*o.Stride[0]-o.Pad[0]+ky*o.Dilation[0], ox*o.Stride[1]-o.Pad[1]+kx*o.Dilation[1]
						if y >= 0 && y < s[1] && x >= 0 && x < s[2] {
							m = append(m, (c*s[1]+y)*s[2]+x)
						}
					}
				}
				if len(m) == 0 {
					return nil, nil, 0, "a window lies in the padding alone"
				}
				members = append(members, m)
			}
		}
	}
	return members, Shape{s[0], h, w}, o.Kernel[0] * o.Kernel[1], ""
}

func poolSize(in, axis int, o ConvOptions, ceil bool) int {
	pad := o.Pad[axis] + o.Pad[axis+2]
	n := outSize(in, o.Kernel[axis], o.Stride[axis], o.Dilation[axis], pad)
	last := (n-1)*o.Stride[axis] + o.Dilation[axis]*(o.Kernel[axis]-1) + 1 // places that the windows reach
	if ceil && n > 0 && last < in+pad && n*o.Stride[axis] < in+o.Pad[axis] {
		n++
	}
	return n
}

// Reshape gives the same values another shape.
func (b *Builder) Reshape(in int, shape ...int) int {
	s := Shape(slices.Clone(shape))
	if s.Size() != b.Shape(in).Size() {
		return b.fail("Reshape", "%v to %v", b.Shape(in), s)
	}
	from := make([]int, s.Size())
	for i := range from {
		from[i] = i
	}
	return b.add("Reshape", s, &arrange{from: from}, in)
}

// Transpose puts axis order[i] of the input at place i.
func (b *Builder) Transpose(in int, order ...int) int {
	s := b.Shape(in)
	sorted := slices.Sorted(slices.Values(order))
	for i, v := range sorted {
		if v != i || len(order) != len(s) {
			return b.fail("Transpose", "order %v of %d axes", order, len(s))
		}
	}
	if len(order) != len(s) {
		return b.fail("Transpose", "order %v of %d axes", order, len(s))
	}
	out := make(Shape, len(s))
	strides := stridesOf(s)
	step := make([]int, len(s))
	for i, o := range order {
		out[i], step[i] = s[o], strides[o]
	}
	from := make([]int, 0, s.Size())
	each(out, func(index []int) {
		at := 0
		for i, v := range index {
			at += v * step[i]
		}
		from = append(from, at)
	})
	return b.with(floats(order)).add("Transpose", out, &arrange{from: from}, in)
}

// Pad puts before[i] and after[i] constants around axis i; negative numbers cut values off.
func (b *Builder) Pad(in int, before, after []int, constant float64) int {
	s := b.Shape(in)
	if len(before) != len(s) || len(after) != len(s) || math.IsNaN(constant) || math.IsInf(constant, 0) {
		return b.fail("Pad", "%v and %v with %v around %v", before, after, constant, s)
	}
	out, strides := make(Shape, len(s)), stridesOf(s)
	for i := range s {
		if out[i] = s[i] + before[i] + after[i]; out[i] < 1 {
			return b.fail("Pad", "%v and %v around %v", before, after, s)
		}
	}
	from := make([]int, 0, out.Size())
	each(out, func(index []int) {
		at := 0
		for i, v := range index {
			v -= before[i]
			if v < 0 || v >= s[i] {
				at = -1
				break
			}
			at += v * strides[i]
		}
		from = append(from, at)
	})
	return b.with(floats(before), floats(after), []float64{constant}).add("Pad", out, &arrange{from, constant}, in)
}

// Sum is Σ sign_j·x_j of layers of one shape, each sign 1 or −1.
func (b *Builder) Sum(sign []float64, in ...int) int {
	if len(in) == 0 || len(sign) != len(in) {
		return b.fail("Sum", "%d signs of %d layers", len(sign), len(in))
	}
	for i, l := range in {
		if sign[i] != 1 && sign[i] != -1 {
			return b.fail("Sum", "sign %v", sign[i])
		}
		if !slices.Equal(b.Shape(l), b.Shape(in[0])) {
			return b.fail("Sum", "layers of shapes %v and %v", b.Shape(in[0]), b.Shape(l))
		}
	}
	return b.with(sign).add("Sum", b.Shape(in[0]), &sum{slices.Clone(sign)}, in...)
}

// Concat joins layers along an axis.
func (b *Builder) Concat(axis int, in ...int) int {
	if len(in) == 0 || axis < 0 || axis >= len(b.Shape(in[0])) {
		return b.fail("Concat", "axis %d of %d layers", axis, len(in))
	}
	out := slices.Clone(b.Shape(in[0]))
	out[axis] = 0
	for _, l := range in {
		s := slices.Clone(b.Shape(l))
		if len(s) != len(out) {
			return b.fail("Concat", "layers of shapes %v and %v", b.Shape(in[0]), b.Shape(l))
		}
		out[axis] += s[axis]
		s[axis] = out[axis]
		if !slices.Equal(s, out) {
			return b.fail("Concat", "layers of shapes %v and %v", b.Shape(in[0]), b.Shape(l))
		}
	}
	l := &concat{}
	each(out, func(index []int) {
		at, j := index[axis], 0
		for at >= b.Shape(in[j])[axis] {
			at -= b.Shape(in[j])[axis]
			j++
		}
		strides, place := stridesOf(b.Shape(in[j])), 0
		for i, v := range index {
			if i == axis {
				v = at
			}
			place += v * strides[i]
		}
		l.which, l.from = append(l.which, j), append(l.from, place)
	})
	return b.with([]float64{float64(axis)}).add("Concat", out, l, in...)
}

func stridesOf(s Shape) []int {
	strides := make([]int, len(s))
	n := 1
	for i := len(s) - 1; i >= 0; i-- {
		strides[i] = n
		n *= s[i]
	}
	return strides
}

// each calls f for every index of a shape, in order.
func each(s Shape, f func(index []int)) {
	index := make([]int, len(s))
	for range s.Size() {
		f(index)
		for i := len(s) - 1; i >= 0; i-- {
			if index[i]++; index[i] < s[i] {
				break
			}
			index[i] = 0
		}
	}
}
