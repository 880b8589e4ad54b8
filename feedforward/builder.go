package feedforward

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Builder makes a Network layer by layer. Every method adds a layer behind given ones and returns its number; the
// input is number 0. The first error is kept, and Network returns it.
type Builder struct {
	net        Network
	name       string // of the next layer, for messages
	parameters []list // of the next layer, for Digest
	size       size   // of the layers so far
	err        error
}

// list is values for Digest, each times times.
type list struct {
	values []float64
	times  int
}

// NewBuilder begins a network for inputs of that shape: features, or channels × height × width.
func NewBuilder(input ...int) *Builder {
	b := &Builder{}
	if reason := b.room(input, 0, 0); len(input) == 0 || reason != "" {
		b.err = &InputError{fmt.Sprintf("an input of shape %v: %s", input, cmp.Or(reason,
			"want features, or channels × height × width"))}
		input = []int{1}
	}
	b.net.nodes = []node{{name: "input", op: "Input", shape: slices.Clone(input)}}
	b.size.values, b.size.largest = Shape(input).Size(), Shape(input).Size()
	return b
}

// Name gives the next layer a name, for messages.
func (b *Builder) Name(name string) *Builder {
	b.name = name
	return b
}

// with says what the next layer computes with, besides its kind and the shapes.
func (b *Builder) with(parameters ...[]float64) *Builder {
	b.parameters = nil
	for _, values := range parameters {
		b.parameters = append(b.parameters, list{values, 1})
	}
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
	held := 0
	for _, p := range b.parameters {
		held += 8 * len(p.values)
	}
	if !b.size.fixed {
		b.size.file += held / 2
	}
	if l, ok := l.(*arrange); ok {
		held += 4 * len(l.from)
	}
	if reason := b.room(shape, 0, held); reason != "" {
		return b.fail(op, "%s", reason)
	}
	b.size.values, b.size.largest, b.size.held = b.size.values+shape.Size(), max(b.size.largest, shape.Size()),
		b.size.held+held
	name := b.name
	if name == "" {
		name = fmt.Sprintf("%s_%d", op, len(b.net.nodes))
	}
	b.net.nodes = append(b.net.nodes, node{name: name, op: op, in: in, shape: slices.Clone(shape),
		parameters: b.parameters, layer: l})
	if _, moves := l.(*arrange); moves {
		b.net.nodes[len(b.net.nodes)-1].terms = b.net.nodes[in[0]].terms
	}
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
	switch products := float64(l.terms()) * float64(shape.Size()); {
	case l.terms() > mostTerms:
		return b.fail(op, "%d products in one output, at most %d are bounded", l.terms(), mostTerms)
	case products > mostProducts:
		return b.fail(op, "%.3g products, at most %d are computed", products, mostProducts)
	}
	layer := b.add(op, shape, affine{l}, in)
	if b.err == nil {
		b.net.nodes[layer].folding, b.net.nodes[layer].terms = l.folding(), l.terms()
	}
	return layer
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
		return b.fail("Conv", "%d weights and %d biases for %d channels of %v, kernel %v, %d groups", len(w), len(bias),
			outputs, s, o.Kernel, o.Groups)
	}
	if err := finite(w, bias); err != nil {
		return b.fail("Conv", "%v", err)
	}
	c := newConvolution(s, o, outputs, w, bias)
	if c.outH < 1 || c.outW < 1 {
		return b.fail("Conv", "kernel %v does not fit into %v", o.Kernel, s)
	}
	if p := c.padded(); float64(c.inC)*float64(p.height)*float64(p.width) > mostValues {
		return b.fail("Conv", "%d channels of %d × %d with the padding, at most %d values are read", c.inC, p.height,
			p.width, mostValues)
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
	o.Groups = cmp.Or(o.Groups, 1)
	positive := slices.Concat(o.Kernel[:], o.Stride[:], o.Dilation[:], []int{o.Groups})
	if slices.Min(positive) < 1 || slices.Min(o.Pad[:]) < 0 || slices.Max(positive) > mostValues ||
		slices.Max(o.Pad[:]) > mostValues {
		return o, fmt.Sprintf("kernel %v, stride %v, dilation %v, padding %v, groups %d; each may be up to %d",
			o.Kernel, o.Stride, o.Dilation, o.Pad, o.Groups, mostValues)
	}
	return o, ""
}

// Scale is y_i = s_i·x_i + t_i, with one s and t a value. size is what of t's parts enters rounding errors, at least
// |t|; nil for |t|.
func (b *Builder) Scale(in int, s, t, size []float64) int {
	n := b.Shape(in).Size()
	if len(s) != n || len(t) != n || size != nil && len(size) != n {
		return b.fail("Scale", "%d, %d and %d values for an input of %d", len(s), len(t), len(size), n)
	}
	if err := finite(s, t, size); err != nil {
		return b.fail("Scale", "%v", err)
	}
	return b.scale(in, &scale{s: s, t: t, size: size, times: 1, fold: folding{largest(s), largest(t, size), 1}})
}

func (b *Builder) scale(in int, l *scale) int {
	b.with(l.s, l.t, l.size)
	for i := range b.parameters {
		b.parameters[i].times = l.times
	}
	l.behind = b.net.nodes[in].terms
	layer := b.addLinear("Scale", b.Shape(in), l, in)
	if b.err == nil {
		b.net.nodes[layer].terms = l.behind
	}
	return layer
}

// BatchNorm is normalisation in inference, y = γ(x − mean)/√(variance + ε) + β, by channel, the first dimension. No
// variance may be negative, and with ε each must be a number that float32 keeps where subnormal ones are flushed to
// zero.
func (b *Builder) BatchNorm(in int, gamma, beta, mean, variance []float64, epsilon float64) int {
	shape := b.Shape(in)
	if len(shape) == 0 {
		return b.fail("BatchNormalization", "an input without channels")
	}
	channels := shape[0]
	if len(gamma) != channels || len(beta) != channels || len(mean) != channels || len(variance) != channels {
		return b.fail("BatchNormalization", "%d, %d, %d and %d values for %d channels", len(gamma), len(beta),
			len(mean), len(variance), channels)
	}
	if err := finite(gamma, beta, mean, variance); err != nil {
		return b.fail("BatchNormalization", "%v", err)
	}
	l := &scale{s: make([]float64, channels), t: make([]float64, channels), size: make([]float64, channels),
		times: shape.Size() / channels}
	inverse := make([]float64, channels)
	for c := range channels {
		if !(variance[c] >= 0 && variance[c]+epsilon >= tiny && variance[c]+epsilon <= overflow) {
			return b.fail("BatchNormalization", "variance %v + epsilon %v in channel %d", variance[c], epsilon, c)
		}
		inverse[c] = 1 / math.Sqrt(variance[c]+epsilon)
		l.s[c] = gamma[c] / math.Sqrt(variance[c]+epsilon)
		l.t[c] = beta[c] - l.s[c]*mean[c]
		l.size[c] = math.Abs(beta[c]) + math.Abs(l.s[c]*mean[c])
	}
	factor := largest(gamma) * largest(inverse)
	l.fold = folding{factor, factor*largest(mean) + largest(beta), 4}
	return b.scale(in, l)
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
	w, reason := b.windows(in, o)
	if reason != "" {
		return b.fail("AveragePool", "%s", reason)
	}
	l := newAverage(w, o.CountPadding)
	return b.with(o.numbers(), l.divisor).addLinear("AveragePool", w.out, l, in)
}

// MaxPool is maximum pooling; a kernel of zero size pools the whole image.
func (b *Builder) MaxPool(in int, o PoolOptions) int {
	w, reason := b.windows(in, o)
	if reason != "" {
		return b.fail("MaxPool", "%s", reason)
	}
	return b.with(o.numbers()).add("MaxPool", w.out, &maximum{w}, in)
}

// Reshape gives the same values another shape.
func (b *Builder) Reshape(in int, shape ...int) int {
	s := Shape(shape)
	if reason := b.room(s, 0, 0); reason != "" || s.Size() != b.Shape(in).Size() {
		return b.fail("Reshape", "%v to %v", b.Shape(in), s)
	}
	return b.add("Reshape", s, &arrange{}, in)
}

// arrange adds a layer whose value at an index comes from the place in the input that from gives, or is the constant
// where that is negative.
func (b *Builder) arrange(op string, in int, out Shape, constant float64, from func(index []int) int) int {
	if reason := b.room(out, 4, 0); reason != "" {
		return b.fail(op, "%s", reason)
	}
	l := &arrange{make([]int32, 0, out.Size()), constant}
	each(out, func(index []int) { l.from = append(l.from, int32(from(index))) })
	return b.add(op, out, l, in)
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
	return b.with(floats(order)).arrange("Transpose", in, out, 0, func(index []int) int { return dot(index, step) })
}

func dot(x, y []int) (sum int) {
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// Pad puts before[i] and after[i] constants around axis i; negative numbers cut values off.
func (b *Builder) Pad(in int, before, after []int, constant float64) int {
	s := b.Shape(in)
	if len(before) != len(s) || len(after) != len(s) || math.IsNaN(constant) || math.IsInf(constant, 0) {
		return b.fail("Pad", "%v and %v with %v around %v; expected numbers for each axis, and a finite constant",
			before, after, constant, s)
	}
	out, strides := make(Shape, len(s)), stridesOf(s)
	for i := range s {
		out[i] = s[i] + before[i] + after[i]
		if max(math.Abs(float64(before[i])), math.Abs(float64(after[i]))) > mostValues || out[i] < 1 {
			return b.fail("Pad", "%v and %v around %v; expected at most %d, and 1 value or more that is left", before,
				after,
				s, mostValues)
		}
	}
	b.with(floats(before), floats(after), []float64{constant})
	return b.arrange("Pad", in, out, constant, func(index []int) int {
		at := 0
		for i, v := range index {
			v -= before[i]
			if v < 0 || v >= s[i] {
				return -1
			}
			at += v * strides[i]
		}
		return at
	})
}

// Sum is Σ sign_j·x_j of layers of one shape, each sign 1 or −1.
func (b *Builder) Sum(sign []float64, in ...int) int {
	if len(in) == 0 || len(sign) != len(in) {
		return b.fail("Sum", "%d signs of %d layers", len(sign), len(in))
	}
	terms := len(in)
	for i, l := range in {
		terms = max(terms, len(in)+b.net.nodes[l].terms)
		if sign[i] != 1 && sign[i] != -1 {
			return b.fail("Sum", "sign %v", sign[i])
		}
		if !slices.Equal(b.Shape(l), b.Shape(in[0])) {
			return b.fail("Sum", "layers of shapes %v and %v", b.Shape(in[0]), b.Shape(l))
		}
	}
	layer := b.with(sign).add("Sum", b.Shape(in[0]), &sum{slices.Clone(sign), terms}, in...)
	if b.err == nil {
		b.net.nodes[layer].terms = terms
	}
	return layer
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
	l := &concat{blocks: Shape(out[:axis]).Size()}
	for _, i := range in {
		l.sizes = append(l.sizes, Shape(b.Shape(i)[axis:]).Size())
	}
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
