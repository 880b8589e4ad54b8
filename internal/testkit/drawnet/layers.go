package drawnet

import (
	"math"
	"slices"

	"github.com/certspec/certspec/internal/onnxfile"
)

const most = 64 // values of a result

// block draws one to three nodes behind x.
func (b *builder) block(x value) value {
	if b.wild && b.kind == onnxfile.Float32 && b.once(8) {
		return b.extreme(x)
	}
	y := b.layer(x)
	if b.upTo(3) > 0 {
		y = b.activation(y)
	}
	switch b.upTo(8) {
	case 6:
		y = b.activation(y)
	case 7:
		y = b.twoOf(x, y)
	}
	if y.size() > most {
		return b.squash(y)
	}
	return y
}

// squash makes few values of many.
func (b *builder) squash(x value) value {
	if len(x.dims) == 4 && b.kind != onnxfile.Float64 {
		return b.globalPool(x)
	}
	return b.dense(b.flat(x))
}

func (b *builder) layer(x value) value {
	if len(x.dims) < 2 {
		return b.activation(x)
	}
	if b.upTo(5) == 4 {
		return b.arithmetic(x)
	}
	if b.upTo(5) == 4 {
		return b.shape(x)
	}
	if len(x.dims) != 4 || b.kind == onnxfile.Float64 {
		switch b.weighed(5, 1, 1, 1, 1) {
		case 1:
			return b.batchNorm(x)
		case 2:
			return b.pad(x)
		case 3:
			return b.logs(x)
		case 4:
			if len(x.dims) != 4 {
				return b.image(x)
			}
			return b.reduce(x)
		}
		return b.dense(x)
	}
	switch b.weighed(6, 3, 1, 2, 1, 1) {
	case 1:
		return b.pool(x)
	case 2:
		return b.globalPool(x)
	case 3:
		return b.batchNorm(x)
	case 4:
		return b.pad(x)
	case 5:
		return b.reduce(x)
	}
	y := b.conv(x)
	if b.upTo(3) == 2 { // what an optimiser folds
		if b.upTo(3) == 2 {
			return b.arithmetic(y)
		}
		return b.batchNorm(y)
	}
	return y
}

// extreme has parts that are far larger than what is made of them.
func (b *builder) extreme(x value) value {
	if len(x.dims) < 2 {
		return b.activation(x)
	}
	switch b.upTo(4) {
	case 0:
		if product(x.dims[:2]) < 4 {
			return b.largeMean(x)
		}
	case 1:
		return b.foldable(x)
	}
	return b.cancelled(x)
}

// largeMean is a mean over many values that are nearly as large as they may be.
func (b *builder) largeMean(x value) value {
	n := x.dims[1]
	if len(x.dims) != 4 {
		x = b.dense(b.flat(x))
		n = x.dims[len(x.dims)-1]
		x = b.result("Reshape", x, []int{1, n, 1, 1}, []string{b.ints(-b.upTo(2), n, 1, 1)})
	}
	side, large := b.between(20, 26), b.single(math.Ldexp(1, b.between(117, 122)))
	pads := []int{0, 0, side, side, 0, 0, 0, 0}
	to := []int{1, n, x.dims[2] + side, x.dims[3] + side}
	if b.opset < 11 {
		x = b.result("Pad", x, to, nil, onnxfile.IntsAttribute("pads", wide(pads)...),
			onnxfile.FloatAttribute("value", float32(large)))
	} else {
		x = b.result("Pad", x, to, []string{b.ints(pads...), b.stored(b.kind, []float64{large}, nil)})
	}
	x.mag = 120
	return b.globalPool(x)
}

// foldable is a small value times two factors, whose product may overflow where an engine folds them.
func (b *builder) foldable(x value) value {
	x = b.flat(x)
	x = b.result("Mul", x, x.dims, []string{b.stored(b.kind, []float64{0x1p-100}, nil)})
	x = b.result(among(b.Choices, "Relu", "LeakyRelu"), x, x.dims, nil)
	first, n := b.between(70, 105), x.dims[1]
	second := b.between(115, 132) - first
	w := func(exponent, n int) string {
		v := plain(b.numbers(), n)
		for i := range v {
			v[i] = b.single(math.Ldexp(v[i], exponent))
		}
		return b.stored(b.kind, v, []int{n})
	}
	ones := func(v float64) string { return b.stored(b.kind, b.from([]float64{v})(n), []int{n}) }
	x = b.result("Reshape", x, []int{1, n, 1, 1}, []string{b.ints(0, n, 1, 1)})
	kernel := b.node("Reshape", []string{w(first, n), b.ints(n, 1, 1, 1)})
	x = b.result("Conv", x, x.dims, []string{kernel}, onnxfile.IntAttribute("group", int64(n)))
	if b.upTo(2) == 0 {
		x = b.result("BatchNormalization", x, x.dims, []string{w(second, n), ones(0.5), ones(0), ones(1)})
	} else {
		factor := b.node("Reshape", []string{w(second, n), b.ints(n, 1, 1)})
		x = b.result("Mul", x, x.dims, []string{factor})
	}
	x.mag += first + second - 100
	return x
}

// cancelled has each value twice, with factors that cancel, and perhaps something behind that makes any value small.
func (b *builder) cancelled(x value) value {
	x = b.flat(x)
	n := x.dims[1]
	axis := onnxfile.IntAttribute("axis", int64(b.signed([]int{1}, 2)[0]))
	x = value{b.node("Concat", []string{x.name, x.name}, axis), []int{1, 2 * n}, x.mag}
	w, out := make([]float64, 2*n), b.between(118, 130)
	exponent := min(max(out-x.mag, -149), 127)
	for i, v := range plain(b.numbers(), n) {
		w[i] = b.single(math.Ldexp(v, exponent))
		w[n+i] = -w[i]
	}
	var attributes []onnxfile.Attribute
	if b.upTo(2) == 1 {
		attributes = append(attributes, onnxfile.FloatAttribute("alpha", 0x1p-40))
	}
	inputs := []string{x.name, b.stored(b.kind, w, []int{2 * n, 1}), b.stored(b.kind, []float64{0.5}, []int{1})}
	y := value{b.node("Gemm", inputs, attributes...), []int{1, 1}, 0}
	return b.activation(y)
}

// end makes the outputs: a few values, mostly in a row, at times behind Softmax or LogSoftmax.
func (b *builder) end(x value) value {
	if len(x.dims) != 2 && b.upTo(4) < 3 {
		x = b.flat(x)
	}
	if len(x.dims) == 2 && b.upTo(3) < 2 || x.size() > 16 {
		x = b.dense(b.flat(x))
	}
	if x.name == "x" {
		x = b.result("Relu", x, x.dims, nil)
	}
	if b.kind == onnxfile.Float32 && b.strange() { // wider inside than outside
		x = value{b.castTo(b.castTo(x.name, onnxfile.Float64), onnxfile.Float32), x.dims, x.mag}
	}
	switch b.weighed(8, 1, 1) {
	case 1:
		return b.softmax(x, "Softmax")
	case 2:
		return b.softmax(x, "LogSoftmax")
	}
	return x
}

// softmax is over the last axis in most cases, by the default of the opset or an axis that is written down.
func (b *builder) softmax(x value, op string) value {
	rank := len(x.dims)
	if rank < 2 {
		return x
	}
	if b.upTo(2) == 0 && (b.opset >= 13 || rank == 2) {
		return b.result(op, x, x.dims, nil)
	}
	axis := 1
	if b.strange() {
		axis = b.upTo(rank)
	}
	axis = min(axis, rank-1)
	if b.opset >= 11 && b.upTo(2) == 0 {
		axis -= rank
	}
	return b.result(op, x, x.dims, nil, onnxfile.IntAttribute("axis", int64(axis)))
}

// flat is a row of all values.
func (b *builder) flat(x value) value {
	if len(x.dims) < 3 {
		return x
	}
	to := []int{1, x.size()}
	switch b.upTo(6) {
	case 1:
		return b.result("Flatten", x, to, nil, onnxfile.IntAttribute("axis", 1))
	case 2:
		return b.result("Reshape", x, to, []string{b.ints(0, -1)})
	case 3:
		if b.net.OpenBatch {
			return b.result("Reshape", x, to, []string{b.ints(-1, x.size())})
		}
		return b.result("Reshape", x, to, []string{b.ints(1, -1)})
	case 4:
		return b.result("Reshape", x, to, []string{b.batchAnd(x, -1)})
	case 5:
		if b.opset >= 14 {
			attributes := onnxfile.IntAttribute("allowzero", int64(b.upTo(2)))
			return b.result("Reshape", x, to, []string{b.ints(-1, x.size())}, attributes)
		}
		if b.opset >= 11 && len(x.dims) > 1 {
			return b.result("Flatten", x, to, nil, onnxfile.IntAttribute("axis", int64(1-len(x.dims))))
		}
	}
	return b.result("Flatten", x, to, nil)
}

// batchAnd is a shape of the batch of x, computed, and further sizes.
func (b *builder) batchAnd(x value, sizes ...int) string {
	if b.once(6) { // the sizes behind the batch, multiplied
		all := b.node("Shape", []string{x.name})
		first := b.node("Gather", []string{all, b.indices([]int{0}, 1)})
		rest := b.node("Div", []string{b.node("Size", []string{x.name}), first})
		if len(sizes) == 1 {
			return b.node("Concat", []string{first, rest}, onnxfile.IntAttribute("axis", 0))
		}
	}
	var size string
	switch {
	case b.opset >= 15 && b.upTo(3) == 2:
		size = b.node("Shape", []string{x.name}, onnxfile.IntAttribute("start", 0), onnxfile.IntAttribute("end", 1))
	case b.upTo(2) == 1 && b.opset >= 10:
		all := b.node("Shape", []string{x.name})
		size = b.node("Slice", []string{all, b.ints(0), b.ints(1)})
	default:
		all := b.node("Shape", []string{x.name})
		size = b.node("Gather", []string{all, b.indices([]int{0})}, onnxfile.IntAttribute("axis", 0))
		size = b.unsqueeze(size, []int{0})
	}
	return b.node("Concat", []string{size, b.ints(sizes...)}, onnxfile.IntAttribute("axis", 0))
}

// dense is Gemm or MatMul.
func (b *builder) dense(x value) value {
	rank := len(x.dims)
	if rank < 2 {
		return b.activation(x)
	}
	if product(x.dims) != x.dims[rank-1] && (rank != 3 || x.dims[2] != 1) && !b.strange() {
		x = b.flat(x) // no products of matrices
		rank = len(x.dims)
	}
	in, out := x.dims[rank-1], 1+b.weighed(1, 3, 3, 2, 1)
	if rank == 2 && b.upTo(2) == 0 {
		return b.gemm(x, in, out)
	}
	if rank == 3 && (x.dims[2] == 1 && x.dims[1] > 1 || b.upTo(6) == 5) { // from the left
		rows := x.dims[1]
		w, mag := b.weights(out*rows, rows, x.mag)
		name := b.constant([]int{out, rows}, b.from(w))
		return value{b.node("MatMul", []string{name, x.name}), []int{1, out, in}, mag}
	}
	w, mag := b.weights(in*out, in, x.mag)
	dims, to := []int{in, out}, append(slices.Clone(x.dims[:rank-1]), out)
	switch {
	case b.strange():
		dims = []int{in}
		to = to[:rank-1]
	case b.strange():
		dims = []int{1, in, out}
		if rank == 2 {
			to = append([]int{1}, to...)
		}
	}
	y := value{b.node("MatMul", []string{x.name, b.constant(dims, b.from(w))}), to, mag}
	if b.upTo(2) == 1 && len(to) > 1 {
		c := b.constant([]int{to[len(to)-1]}, b.from(b.offsets(out, mag)))
		return b.result("Add", y, to, []string{c})
	}
	return y
}

// from repeats given values as often as needed.
func (b *builder) from(values []float64) func(n int) []float64 {
	return func(n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = values[i%len(values)]
		}
		return out
	}
}

func (b *builder) gemm(x value, in, out int) value {
	var attributes []onnxfile.Attribute
	dims := []int{in, out}
	switch b.upTo(3) {
	case 1:
		attributes = append(attributes, onnxfile.IntAttribute("transB", 1))
		dims = []int{out, in}
	case 2:
		attributes = append(attributes, onnxfile.IntAttribute("transB", 0))
	}
	switch b.upTo(6) {
	case 4:
		attributes = append(attributes, onnxfile.IntAttribute("transA", 0))
	case 5:
		if !b.net.OpenBatch && b.strange() {
			attributes = append(attributes, onnxfile.IntAttribute("transA", 1))
		}
	}
	w, mag := b.weights(in*out, in, x.mag)
	alpha := b.factor("alpha", &attributes, &mag)
	beta := b.factor("beta", &attributes, nil)
	inputs := []string{x.name, b.constant(dims, b.from(w))}
	if b.opset < 11 || b.upTo(4) > 0 {
		shape := among(b.Choices, []int{out}, []int{1, out}, []int{1}, []int{}, []int{1, 1})
		inputs = append(inputs, b.constant(shape, b.from(b.offsets(out, mag))))
	}
	if alpha && beta && b.strange() { // x as the second factor, transposed: rows of the batch become columns
		inputs[0], inputs[1] = inputs[1], inputs[0]
	}
	return value{b.node("Gemm", inputs, attributes...), []int{1, out}, mag}
}

// factor writes alpha or beta of Gemm, at times, and says whether it did not.
func (b *builder) factor(name string, to *[]onnxfile.Attribute, mag *int) bool {
	if b.upTo(3) < 2 {
		return true
	}
	v := among(b.Choices, 1, 2, -0.5, 0, 0.1)
	if mag != nil && b.wild {
		e := among(b.Choices, 0, 60, -60)
		v, *mag = math.Ldexp(v, e), min(max(*mag+e, -150), 128)
	}
	*to = append(*to, onnxfile.FloatAttribute(name, float32(v)))
	return false
}

// window draws kernel, strides, dilations and pads for one of two dimensions of an image, until they fit.
type window struct {
	kernel, stride, dilation, before, after, out int
}

func (b *builder) window(size int, dilated, ceil bool, pad func(kernel int) int) window {
	for range 6 {
		w := window{kernel: b.between(1, 3), stride: 1 + b.weighed(3, 2, 1), dilation: 1}
		if dilated {
			w.dilation += b.weighed(4, 2, 1)
		}
		w.before, w.after = b.upTo(pad(w.kernel)+1), b.upTo(pad(w.kernel)+1)
		if w.size(size, ceil) {
			return w
		}
	}
	return window{1, 1, 1, 0, 0, size}
}

// size computes the outputs; false where there are none.
func (w *window) size(size int, ceil bool) bool {
	span := size + w.before + w.after - w.dilation*(w.kernel-1) - 1
	if span < 0 {
		return false
	}
	w.out = span/w.stride + 1
	if ceil && span%w.stride != 0 && w.out*w.stride < size+w.before {
		w.out++
	}
	return true
}

// windows draws both dimensions, and the attributes that say so.
func (b *builder) windows(x value, dilated, ceil bool, pad func(kernel int) int) (
	h, w window, attributes []onnxfile.Attribute) {
	b.net.Images[x.name] = x.dims
	h = b.window(x.dims[2], dilated, ceil, pad)
	w = b.window(x.dims[3], dilated, ceil, pad)
	ints := func(name string, v ...int) {
		attributes = append(attributes, onnxfile.IntsAttribute(name, wide(v)...))
	}
	if h.stride != 1 || w.stride != 1 || b.upTo(2) > 0 {
		ints("strides", h.stride, w.stride)
	}
	if h.dilation != 1 || w.dilation != 1 || dilated && b.upTo(2) > 0 {
		ints("dilations", h.dilation, w.dilation)
	}
	switch mode := b.upTo(8); mode {
	case 5, 6: // SAME
		for _, side := range []*window{&h, &w} {
			size := x.dims[2]
			if side == &w {
				size = x.dims[3]
			}
			side.out = (size + side.stride - 1) / side.stride
		}
		if (h.dilation > 1 || w.dilation > 1 || h.kernel < h.stride || w.kernel < w.stride) && !b.strange() {
			h, w = window{1, 1, 1, 0, 0, x.dims[2]}, window{1, 1, 1, 0, 0, x.dims[3]}
			attributes = nil
		}
		attributes = append(attributes, onnxfile.TextAttribute("auto_pad", []string{"SAME_UPPER",
			"SAME_LOWER"}[mode-5]))
	case 7:
		h.before, h.after, w.before, w.after = 0, 0, 0, 0
		if h.size(x.dims[2], false) && w.size(x.dims[3], false) {
			attributes = append(attributes, onnxfile.TextAttribute("auto_pad", "VALID"))
			break
		}
		h, w, attributes = window{1, 1, 1, 0, 0, x.dims[2]}, window{1, 1, 1, 0, 0, x.dims[3]}, nil
	default:
		if mode == 4 {
			attributes = append(attributes, onnxfile.TextAttribute("auto_pad", "NOTSET"))
		}
		if h.before+h.after+w.before+w.after > 0 || b.upTo(3) > 1 {
			ints("pads", h.before, w.before, h.after, w.after)
		}
	}
	return h, w, attributes
}

func (b *builder) conv(x value) value {
	channels, groups := x.dims[1], 1
	if b.upTo(3) == 2 {
		for groups = 1 + b.upTo(channels); channels%groups != 0; {
			groups--
		}
	}
	out := groups * (1 + b.upTo(max(4/groups, 1)))
	h, w, attributes := b.windows(x, b.upTo(2) == 1, false, func(kernel int) int { return 2 })
	products := channels / groups * h.kernel * w.kernel
	weights, mag := b.weights(out*products, products, x.mag)
	dims := []int{out, channels / groups, h.kernel, w.kernel}
	if b.upTo(4) > 0 {
		attributes = append(attributes, onnxfile.IntsAttribute("kernel_shape", int64(h.kernel), int64(w.kernel)))
	}
	if groups > 1 || b.upTo(3) == 2 {
		attributes = append(attributes, onnxfile.IntAttribute("group", int64(groups)))
	}
	inputs := []string{b.constant(dims, b.from(weights))}
	switch b.upTo(5) {
	case 0:
	case 4:
		inputs = append(inputs, "")
	default:
		inputs = append(inputs, b.constant([]int{out}, b.from(b.offsets(out, mag))))
	}
	y := b.result("Conv", x, []int{1, out, h.out, w.out}, inputs, attributes...)
	y.mag = mag
	return y
}

func (b *builder) pool(x value) value {
	if b.opset >= 10 && b.strange() { // of another size in ONNX Runtime than in the text
		b.net.Images[x.name] = x.dims
		mode := among(b.Choices, "SAME_UPPER", "SAME_LOWER")
		return b.globalPool(b.result("MaxPool", x, x.dims, nil, onnxfile.TextAttribute("auto_pad", mode),
			onnxfile.IntsAttribute("kernel_shape", 2, 2), onnxfile.IntsAttribute("dilations", 2, 1)))
	}
	op, since := "AveragePool", 19
	if b.upTo(2) == 1 {
		op, since = "MaxPool", 10
	}
	ceil := b.opset >= 10 && b.upTo(2) == 1
	dilated := b.opset >= since && b.upTo(3) == 2
	h, w, attributes := b.windows(x, dilated, ceil, func(kernel int) int { return kernel - 1 })
	attributes = append(attributes, onnxfile.IntsAttribute("kernel_shape", int64(h.kernel), int64(w.kernel)))
	if ceil || b.opset >= 10 && b.upTo(3) == 2 {
		flag := int64(0)
		if ceil {
			flag = 1
		}
		attributes = append(attributes, onnxfile.IntAttribute("ceil_mode", flag))
	}
	if op == "AveragePool" && b.upTo(2) == 1 {
		attributes = append(attributes, onnxfile.IntAttribute("count_include_pad", int64(b.between(0, 1))))
	}
	if op == "MaxPool" && b.opset >= 8 && b.upTo(6) == 5 {
		attributes = append(attributes, onnxfile.IntAttribute("storage_order", int64(b.upTo(2))))
	}
	y := b.result(op, x, []int{1, x.dims[1], h.out, w.out}, nil, attributes...)
	if op == "MaxPool" && b.opset >= 8 && b.strange() {
		b.last().Outputs = append(b.last().Outputs, b.name("v"))
	}
	return y
}

func (b *builder) globalPool(x value) value {
	to := []int{1, x.dims[1], 1, 1}
	b.net.Images[x.name] = x.dims
	if b.upTo(2) == 1 {
		return b.result("GlobalMaxPool", x, to, nil)
	}
	return b.result("GlobalAveragePool", x, to, nil)
}

func (b *builder) batchNorm(x value) value {
	if len(x.dims) < 2 {
		return b.activation(x)
	}
	channels := x.dims[1]
	scale, mag := b.weights(channels, 1, x.mag)
	shift, mean := b.offsets(channels, mag), b.offsets(channels, x.mag)
	variance := b.offsets(channels, 0)
	r := 0
	if b.wild { // the scale is divided by its root
		r = among(b.Choices, 0, 0, 30, -30, 60, -60)
	}
	for i, v := range variance {
		if v = math.Abs(v); b.wild {
			v = math.Ldexp(min(v, 2), r)
		}
		variance[i] = b.single(max(v, 0x1p-120))
		if b.kind == onnxfile.Float16 {
			variance[i] = max(variance[i], 0.125)
		}
		scale[i] = b.single(scale[i] * math.Sqrt(variance[i]))
	}
	var attributes []onnxfile.Attribute
	if b.upTo(2) == 1 {
		epsilon := among[float32](b.Choices, 1e-5, 1e-3, 0.5, 0, 0x1p-30)
		attributes = append(attributes, onnxfile.FloatAttribute("epsilon", epsilon))
	}
	if b.upTo(4) == 3 {
		attributes = append(attributes, onnxfile.FloatAttribute("momentum", among[float32](b.Choices, 0.9, 0.1)))
	}
	dims := []int{channels}
	if b.opset < 9 && b.upTo(3) == 2 {
		spatial := 1
		if b.strange() {
			spatial, dims = 0, x.dims[1:]
		}
		attributes = append(attributes, onnxfile.IntAttribute("spatial", int64(spatial)))
	}
	if b.opset >= 14 && b.upTo(4) == 3 {
		training := 0
		if b.strange() {
			training = 1
		}
		attributes = append(attributes, onnxfile.IntAttribute("training_mode", int64(training)))
	}
	var inputs []string
	for i, v := range [][]float64{scale, shift, mean, variance} {
		if i == 3 { // no casts, which may make zeros or less
			inputs = append(inputs, b.stored(b.kind, b.from(v)(product(dims)), dims))
			continue
		}
		inputs = append(inputs, b.constant(dims, b.from(v)))
	}
	y := b.result("BatchNormalization", x, x.dims, inputs, attributes...)
	y.mag = mag
	return y
}

// logs are the layers of logarithms, of a row of values.
func (b *builder) logs(x value) value {
	if len(x.dims) != 2 {
		return b.activation(x)
	}
	if b.upTo(2) == 0 {
		op := "LogSoftmax"
		if b.strange() {
			op = "Softmax"
		}
		y := b.softmax(x, op)
		y.mag = 3
		return y
	}
	to := []int{1, 1}
	var attributes []onnxfile.Attribute
	if b.upTo(2) == 1 {
		keep := 1
		if b.strange() {
			keep, to = 0, []int{1}
		}
		attributes = append(attributes, onnxfile.IntAttribute("keepdims", int64(keep)))
	}
	return b.reduced("ReduceLogSumExp", x, to, []int{1}, 18, attributes)
}

// reduced writes a reduction as the opset has it, whose axes are an input since a version.
func (b *builder) reduced(op string, x value, to, axes []int, since int, attributes []onnxfile.Attribute) value {
	axes = b.signed(axes, len(x.dims))
	if b.opset < since {
		return b.result(op, x, to, nil, append(attributes, onnxfile.IntsAttribute("axes", wide(axes)...))...)
	}
	if b.upTo(4) == 3 {
		attributes = append(attributes, onnxfile.IntAttribute("noop_with_empty_axes", int64(b.upTo(2))))
	}
	return b.result(op, x, to, []string{b.ints(axes...)}, attributes...)
}

// reduce is a mean or a sum over the image, or over other axes.
func (b *builder) reduce(x value) value {
	op, since := "ReduceMean", 18
	axes := []int{2, 3}
	if b.upTo(2) == 1 {
		axes = []int{3, 2}
	}
	if b.once(8) {
		op, since = "ReduceSum", 13
	}
	if b.strange() {
		axes = []int{b.upTo(4)}
	}
	to := slices.Clone(x.dims)
	for _, a := range axes {
		to[a] = 1
	}
	var attributes []onnxfile.Attribute
	switch b.upTo(3) {
	case 1:
		attributes = append(attributes, onnxfile.IntAttribute("keepdims", 1))
	case 2:
		attributes = append(attributes, onnxfile.IntAttribute("keepdims", 0))
		to = nil
		for i, d := range x.dims {
			if i != axes[0] && i != axes[len(axes)-1] {
				to = append(to, d)
			}
		}
	}
	return b.reduced(op, x, to, axes, since, attributes)
}

func (b *builder) pad(x value) value {
	rank := len(x.dims)
	before, after := make([]int, rank), make([]int, rank)
	to := slices.Clone(x.dims)
	low := 0
	if b.upTo(4) == 3 {
		low = -1
	}
	for i := range rank {
		if i == 0 || rank == 4 && i == 1 && b.upTo(4) < 3 || b.upTo(4) == 0 {
			continue
		}
		before[i], after[i] = b.between(low, 2), b.between(low, 2)
		if to[i] += before[i] + after[i]; to[i] < 1 {
			before[i], after[i], to[i] = 0, 0, x.dims[i]
		}
	}
	mode, constant := "constant", 0.0
	var attributes []onnxfile.Attribute
	if b.upTo(3) == 2 {
		constant = b.single(among(b.Choices, 1, -0.5, 0.1, 0))
	}
	if b.strange() {
		if mode = among(b.Choices, "reflect", "edge", "wrap"); mode == "wrap" && b.opset < 19 {
			mode = "reflect"
		}
	}
	if mode != "constant" || b.upTo(2) == 1 {
		attributes = append(attributes, onnxfile.TextAttribute("mode", mode))
	}
	if product(to) > 2*most {
		return x
	}
	pads := append(slices.Clone(before), after...)
	if b.opset < 11 {
		attributes = append(attributes, onnxfile.IntsAttribute("pads", wide(pads)...))
		if constant != 0 || b.upTo(2) == 1 {
			attributes = append(attributes, onnxfile.FloatAttribute("value", float32(constant)))
		}
		return b.result("Pad", x, to, nil, attributes...)
	}
	var axes []int
	if b.opset >= 18 && b.strange() {
		pads = nil
		for _, side := range [][]int{before, after} {
			for i := 1; i < rank; i++ {
				pads = append(pads, side[i])
			}
		}
		for i := 1; i < rank; i++ {
			axes = append(axes, i)
		}
	}
	inputs := []string{b.ints(pads...)}
	if constant != 0 || b.upTo(2) == 1 {
		inputs = append(inputs, b.disguised(b.kind, nil, b.from([]float64{constant}), 1))
	} else if axes != nil || b.upTo(3) == 2 {
		inputs = append(inputs, "")
	}
	if axes != nil {
		inputs = append(inputs, b.ints(b.signed(axes, rank)...))
	}
	return b.result("Pad", x, to, inputs, attributes...)
}

// image makes an image of a row of values, or of a matrix.
func (b *builder) image(x value) value {
	if len(x.dims) == 3 {
		at := among(b.Choices, 1, 3, 2)
		to := append(append(slices.Clone(x.dims[:at]), 1), x.dims[at:]...)
		return value{b.unsqueeze(x.name, b.signed([]int{at}, 4)), to, x.mag}
	}
	n := x.dims[len(x.dims)-1]
	side := 1
	for d := 2; d <= n; d++ {
		if n%d == 0 {
			side = d
			break
		}
	}
	to := []int{1, side, n / side, 1}
	if b.upTo(2) == 1 {
		to = []int{1, n / side, 1, side}
	}
	return b.result("Reshape", x, to, []string{b.ints(append([]int{-b.upTo(2)}, to[1:]...)...)})
}
