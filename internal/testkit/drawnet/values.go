package drawnet

import (
	"math"
	"slices"

	"github.com/certspec/certspec/internal/onnxfile"
)

// activation is a function of each value.
func (b *builder) activation(x value) value {
	kind := b.upTo(14)
	if b.kind == onnxfile.Float64 && (kind == 1 || kind == 4 || kind > 8 || b.opset < 12 && (kind == 5 || kind == 6)) {
		kind = 0 // no kernels
	}
	switch kind {
	case 1, 9, 10:
		slope := among[float32](b.Choices, 0.01, 0.1, 0, 1, 0x1p-30)
		if b.strange() {
			slope = among[float32](b.Choices, -0.5, 2)
		}
		if b.upTo(3) == 0 {
			return b.result("LeakyRelu", x, x.dims, nil)
		}
		return b.result("LeakyRelu", x, x.dims, nil, onnxfile.FloatAttribute("alpha", slope))
	case 2:
		return b.bounded("Sigmoid", x, 0)
	case 3:
		return b.bounded("Tanh", x, 0)
	case 4:
		return b.bounded("Softplus", x, max(x.mag, 0))
	case 5, 6:
		return b.clip(x)
	case 7:
		return b.same(x)
	case 8:
		if b.upTo(2) == 0 {
			return b.same(x)
		}
	case 12:
		return b.gated(x)
	case 13:
		return b.hard(x)
	}
	return b.result("Relu", x, x.dims, nil)
}

// gated is a value times a function of it, or of its mean over the image.
func (b *builder) gated(x value) value {
	if len(x.dims) == 4 && b.upTo(2) == 1 {
		y := b.globalPool(x)
		return b.times(x, b.hard(b.dense(y)))
	}
	return b.times(x, b.bounded("Sigmoid", x, 0))
}

// times is a product, in either order.
func (b *builder) times(x, y value) value {
	inputs := []string{x.name, y.name}
	if b.upTo(2) == 1 {
		slices.Reverse(inputs)
	}
	to, _ := joint(x.dims, y.dims)
	return value{b.node("Mul", inputs), to, min(x.mag+max(y.mag, 0), 128)}
}

// hard is HardSigmoid or HardSwish.
func (b *builder) hard(x value) value {
	if b.opset >= 14 && b.upTo(2) == 1 {
		return b.result("HardSwish", x, x.dims, nil)
	}
	var attributes []onnxfile.Attribute
	if b.upTo(2) == 1 {
		alpha := among[float32](b.Choices, 1./6, 1, -0.5, 0)
		attributes = append(attributes, onnxfile.FloatAttribute("alpha", alpha))
	}
	if b.upTo(2) == 1 {
		beta := among[float32](b.Choices, 0.5, 0, 1.5)
		attributes = append(attributes, onnxfile.FloatAttribute("beta", beta))
	}
	y := b.result("HardSigmoid", x, x.dims, nil, attributes...)
	y.mag = 0
	return y
}

func (b *builder) bounded(op string, x value, mag int) value {
	y := b.result(op, x, x.dims, nil)
	y.mag = mag
	return y
}

func (b *builder) clip(x value) value {
	low, high := among(b.Choices, 0, -0.5, -1, 0.1), among(b.Choices, 6, 0.75, 1, 0.3)
	if b.strange() {
		low, high = high, low
	}
	low, high = b.single(low), b.single(high)
	which := b.upTo(4) // both, none, the first, the second
	if b.opset < 11 {
		var attributes []onnxfile.Attribute
		if which == 0 || which == 2 {
			attributes = append(attributes, onnxfile.FloatAttribute("min", float32(low)))
		}
		if which == 0 || which == 3 {
			attributes = append(attributes, onnxfile.FloatAttribute("max", float32(high)))
		}
		return b.result("Clip", x, x.dims, nil, attributes...)
	}
	end := func(v float64) string { return b.disguised(b.kind, nil, b.from([]float64{v}), 2) }
	inputs := []string{"", ""}
	if which == 0 || which == 2 {
		inputs[0] = end(low)
	}
	if which == 0 || which == 3 {
		inputs[1] = end(high)
	}
	for len(inputs) > 0 && inputs[len(inputs)-1] == "" && b.upTo(2) == 0 {
		inputs = inputs[:len(inputs)-1]
	}
	return b.result("Clip", x, x.dims, inputs)
}

// same is an operator that changes nothing in inference, or the type alone.
func (b *builder) same(x value) value {
	switch b.weighed(2, 3, 1) {
	case 1:
		return b.dropout(x)
	case 2:
		to := b.kind
		if b.strange() { // there and back
			to = among(b.Choices, onnxfile.Float64, onnxfile.Float32, onnxfile.Float16, onnxfile.Int32, onnxfile.Bool)
		}
		name := b.castTo(x.name, to)
		if to != b.kind {
			if to == onnxfile.Float64 && b.upTo(2) == 1 {
				name = b.node(among(b.Choices, "Relu", "Tanh", "Sigmoid"), []string{name})
			}
			name = b.castTo(name, b.kind)
		}
		return value{name, x.dims, x.mag}
	}
	return b.result("Identity", x, x.dims, nil)
}

func (b *builder) dropout(x value) value {
	if b.opset < 12 {
		if b.upTo(2) == 1 {
			return b.result("Dropout", x, x.dims, nil, onnxfile.FloatAttribute("ratio", 0.3))
		}
		return b.result("Dropout", x, x.dims, nil)
	}
	var inputs []string
	if form := b.upTo(3); form > 0 {
		inputs = append(inputs, b.stored(onnxfile.Float32, []float64{0.4}, nil))
		if form == 2 {
			training := 0.0
			if b.strange() {
				training = 1
			}
			inputs = append(inputs, b.stored(onnxfile.Bool, []float64{training}, nil))
		}
	}
	var attributes []onnxfile.Attribute
	if b.upTo(3) == 2 {
		attributes = append(attributes, onnxfile.IntAttribute("seed", 3))
	}
	y := b.result("Dropout", x, x.dims, inputs, attributes...)
	if b.upTo(4) == 3 {
		b.last().Outputs = append(b.last().Outputs, b.name("v"))
	}
	return y
}

// arithmetic is Add, Sub, Mul or Div with a constant, whose dimensions lie along those of x from the back.
func (b *builder) arithmetic(x value) value {
	dims, to := b.against(x.dims)
	op := among(b.Choices, "Add", "Mul", "Sub", "Div")
	n := product(dims)
	var v []float64
	mag := x.mag
	switch op {
	case "Mul":
		v, mag = b.weights(n, 1, x.mag)
	case "Div":
		v, mag = b.weights(n, 1, x.mag)
		e := mag - x.mag
		for i := range v {
			if v[i] == 0 || b.kind == onnxfile.Float16 {
				v[i] = 0.75
			} else {
				v[i] = b.single(1 / v[i])
			}
		}
		mag = min(x.mag+e, 128)
	default:
		v = b.offsets(n, x.mag)
		mag++
	}
	c := b.constant(dims, b.from(v))
	if op == "Div" { // nothing that casts make of it may be 0
		c = b.stored(b.kind, b.from(v)(n), dims)
	}
	inputs := []string{x.name, c}
	if b.upTo(3) == 2 && op != "Div" || op == "Div" && b.strange() {
		inputs[0], inputs[1] = inputs[1], inputs[0]
	}
	return value{b.node(op, inputs), to, mag}
}

// against draws dimensions of a constant that meets a value of given ones, and those of the result.
func (b *builder) against(x []int) (dims, to []int) {
	to = slices.Clone(x)
	dims = slices.Clone(x)
	switch b.upTo(6) {
	case 0: // a channel each
		dims = slices.Clone(x[1:])
		for i := 1; i < len(dims); i++ {
			dims[i] = 1
		}
	case 1:
		dims = nil
	case 2:
		dims = []int{1}
	case 3: // some axes, from the back
		dims = slices.Clone(x[b.upTo(len(x)):])
	case 4:
		for i := range dims {
			if b.upTo(2) == 0 {
				dims[i] = 1
			}
		}
	}
	if len(dims) == len(x) && b.strange() { // one axis more in front, which the result has, too
		for range b.between(1, 2) {
			dims, to = append([]int{1}, dims...), append([]int{1}, to...)
		}
		return dims, to
	}
	if i := b.upTo(len(x)); b.strange() && i > 0 && x[i] == 1 && len(dims) >= len(x)-i { // the result is wider
		n := b.between(2, 3)
		dims[len(dims)-(len(x)-i)], to[i] = n, n
	}
	if !b.net.OpenBatch && len(dims) == len(x) && b.strange() {
		dims[0], to[0] = 2, 2
	}
	return dims, to
}

// twoOf joins a value with one before it.
func (b *builder) twoOf(x, y value) value {
	mag := max(x.mag, y.mag)
	if slices.Equal(x.dims, y.dims) {
		switch b.upTo(5) {
		case 1:
			return value{b.node("Sub", []string{x.name, y.name}), y.dims, mag}
		case 2:
			return value{b.node("Mul", []string{y.name, y.name}), y.dims, min(2*mag, 128)}
		case 3:
			if b.upTo(2) == 1 {
				return b.times(x, y)
			}
			return value{b.node("Add", []string{y.name, y.name}), y.dims, mag}
		case 4:
			return b.concat(x, y)
		}
		return value{b.node("Add", []string{y.name, x.name}), y.dims, mag}
	}
	if x.size() == 1 && len(x.dims) <= len(y.dims) || y.size() == 1 && len(y.dims) <= len(x.dims) || b.strange() {
		if to, ok := joint(x.dims, y.dims); ok {
			return value{b.node(among(b.Choices, "Add", "Sub"), []string{x.name, y.name}), to, mag}
		}
	}
	return b.concat(x, y)
}

// joint are the dimensions of a sum of two values.
func joint(x, y []int) (to []int, ok bool) {
	if len(x) < len(y) {
		x, y = y, x
	}
	to = slices.Clone(x)
	for i := range y {
		at := len(x) - len(y) + i
		switch {
		case to[at] == 1:
			to[at] = y[i]
		case y[i] != 1 && y[i] != to[at]:
			return nil, false
		}
	}
	return to, true
}

// concat joins two values along an axis in which alone they differ.
func (b *builder) concat(x, y value) value {
	rank := len(y.dims)
	axis := -1
	if len(x.dims) == rank {
		for i := range rank {
			if x.dims[i] == y.dims[i] {
				continue
			}
			if axis >= 0 {
				return y
			}
			axis = i
		}
	} else {
		x = y
	}
	if axis < 0 {
		if axis = b.between(1, max(rank-1, 1)); axis >= rank {
			return y
		}
	}
	if !b.net.OpenBatch && b.strange() && slices.Equal(x.dims, y.dims) {
		axis = 0
	}
	to := slices.Clone(y.dims)
	to[axis] += x.dims[axis]
	if !b.net.OpenBatch && b.strange() { // a constant in the place of one of them
		x = value{b.constant(x.dims, b.from(b.offsets(x.size(), x.mag))), x.dims, x.mag}
		if b.upTo(2) > 0 {
			x, y = y, x
		}
	}
	written := onnxfile.IntAttribute("axis", int64(b.signed([]int{axis}, rank)[0]))
	return value{b.node("Concat", []string{x.name, y.name}, written), to, max(x.mag, y.mag)}
}

// shape moves values without computing.
func (b *builder) shape(x value) value {
	rank := len(x.dims)
	switch b.upTo(8) {
	case 5:
		return b.part(x)
	case 6:
		return b.masked(x)
	case 7:
		if rank == 4 {
			return b.adaptive(x)
		}
	case 0: // Transpose; the batch stays first in most cases
		order := []int{0}
		for _, o := range b.permutation(rank - 1) {
			order = append(order, o+1)
		}
		if b.strange() {
			order = b.permutation(rank)
		}
		to := make([]int, rank)
		for i, o := range order {
			to[i] = x.dims[o]
		}
		if b.strange() {
			to = slices.Clone(x.dims)
			slices.Reverse(to)
			return b.result("Transpose", x, to, nil)
		}
		return b.result("Transpose", x, to, nil, onnxfile.IntsAttribute("perm", wide(order)...))
	case 1: // Unsqueeze
		if rank > 3 {
			break
		}
		count := b.between(1, min(2, 4-rank))
		axes := slices.Clone(b.permutation(rank + count)[:count])
		if slices.Contains(axes, 0) && !(b.strange() && !b.net.OpenBatch) {
			axes = []int{rank}
		}
		to, next := []int{}, 0
		for i := range rank + len(axes) {
			if slices.Contains(axes, i) {
				to = append(to, 1)
				continue
			}
			to = append(to, x.dims[next])
			next++
		}
		return value{b.unsqueeze(x.name, b.signed(axes, len(to))), to, x.mag}
	case 2: // Squeeze
		var axes, to []int
		for i, d := range x.dims {
			if d == 1 && b.upTo(2) == 1 && (i > 0 || !b.net.OpenBatch && b.strange()) {
				axes = append(axes, i)
			} else {
				to = append(to, d)
			}
		}
		if b.strange() {
			axes, to = nil, slices.DeleteFunc(slices.Clone(x.dims), func(d int) bool { return d == 1 })
			if b.net.OpenBatch {
				to = append([]int{1}, to...)
			}
			return value{b.squeeze(x.name, nil), to, x.mag}
		}
		if axes == nil || len(to) == 0 {
			break
		}
		return value{b.squeeze(x.name, b.signed(axes, rank)), to, x.mag}
	case 3: // Reshape
		return b.reshape(x)
	}
	if b.strange() {
		axis := b.upTo(rank + 1)
		to := []int{product(x.dims[:axis]), product(x.dims[axis:])}
		return b.result("Flatten", x, to, nil, onnxfile.IntAttribute("axis", int64(axis)))
	}
	if rank == 2 {
		return b.reshape(x)
	}
	return b.flat(x)
}

// part is some of the values along an axis, and sometimes the others behind them.
func (b *builder) part(x value) value {
	axis := 1
	for i := range x.dims {
		if i > 0 && x.dims[i] > x.dims[axis] {
			axis = i
		}
	}
	if b.strange() {
		axis = 0
	}
	d, to := x.dims[axis], slices.Clone(x.dims)
	at := onnxfile.IntAttribute("axis", int64(b.signed([]int{axis}, len(x.dims))[0]))
	switch to[axis] = b.between(1, d); b.upTo(3) {
	case 1:
		start, step := b.upTo(d), 1
		if b.opset >= 10 {
			step = among(b.Choices, 1, 2, -1)
		}
		end := math.MaxInt32
		if to[axis] = (d - start + max(step, 1) - 1) / max(step, 1); step < 0 {
			to[axis], end = start+1, math.MinInt32
		}
		if b.opset < 10 {
			return b.result("Slice", x, to, nil, onnxfile.IntsAttribute("starts", int64(start)),
				onnxfile.IntsAttribute("ends", int64(end)), onnxfile.IntsAttribute("axes", int64(axis)))
		}
		return b.result("Slice", x, to, []string{b.ints(start), b.ints(end), b.ints(axis), b.ints(step)})
	case 2:
		var places []int
		for range to[axis] {
			places = append(places, b.upTo(d))
		}
		return b.result("Gather", x, to, []string{b.ints(places...)}, at)
	}
	if d < 2 {
		return b.reshape(x)
	}
	var inputs []string
	attributes, first := []onnxfile.Attribute{at}, b.between(1, d-1)
	switch even := (d + 1) / 2; {
	case b.opset >= 18 && b.upTo(2) == 1:
		first, attributes = even, append(attributes, onnxfile.IntAttribute("num_outputs", 2))
	case d%2 == 0 && b.opset < 18 && b.upTo(2) == 1:
		first = even
	case b.opset < 13:
		attributes = append(attributes, onnxfile.IntsAttribute("split", int64(first), int64(d-first)))
	default:
		inputs = []string{b.ints(first, d-first)}
	}
	to[axis] = first
	y := b.result("Split", x, to, inputs, attributes...)
	rest := b.name("v")
	b.last().Outputs = append(b.last().Outputs, rest)
	switch other := slices.Clone(to); b.upTo(3) {
	case 1:
		other[axis] = d - first
		return value{rest, other, x.mag}
	case 2:
		return value{b.node("Concat", []string{rest, y.name}, at), x.dims, x.mag}
	}
	return y
}

// masked is a value where a condition holds, and a constant elsewhere.
func (b *builder) masked(x value) value {
	dims := x.dims[1:]
	if b.opset < 9 || product(dims) > most {
		return b.reshape(x)
	}
	inputs := []string{b.stored(onnxfile.Bool, b.truths(product(dims)), dims), x.name,
		b.stored(b.kind, []float64{among(b.Choices, 0, 0.5)}, nil)}
	if b.upTo(2) == 1 {
		inputs[1], inputs[2] = inputs[2], inputs[1]
	}
	return value{b.node("Where", inputs), x.dims, max(x.mag, 0)}
}

// adaptive is the mean over windows of an image of any sizes, as PyTorch writes it: with the batch behind for a while.
func (b *builder) adaptive(x value) value {
	h, w, k := b.between(1, 3), b.between(1, 3), b.between(1, 2)
	if b.opset < 11 || x.dims[1]*h*w*k*k > most {
		return b.reshape(x)
	}
	var places []int
	for range h * k * w * k {
		places = append(places, b.upTo(x.dims[2]), b.upTo(x.dims[3]))
	}
	y := b.node("Transpose", []string{x.name}, onnxfile.IntsAttribute("perm", 2, 3, 0, 1))
	var none []onnxfile.Attribute
	if b.opset >= 12 && b.upTo(2) == 1 {
		none = append(none, onnxfile.IntAttribute("batch_dims", 0))
	}
	y = b.node("GatherND", []string{y, b.indices(places, h, k, w, k, 2)}, none...)
	back := []int64{4, 5, 0, 1, 2, 3}
	if b.strange() {
		back = []int64{5, 4, 0, 1, 2, 3}
	}
	windows := value{b.node("Transpose", []string{y}, onnxfile.IntsAttribute("perm", back...)),
		[]int{1, x.dims[1], h, k, w, k}, x.mag}
	keep := onnxfile.IntAttribute("keepdims", 0)
	return b.reduced("ReduceMean", windows, []int{1, x.dims[1], h, w}, []int{3, 5}, 18, []onnxfile.Attribute{keep})
}

func (b *builder) reshape(x value) value {
	n := x.size()
	to := []int{1}
	for left := n; left > 1 && len(to) < 4; {
		d := 1 + b.upTo(min(left, 200))
		for left%d != 0 {
			d--
		}
		if len(to) == 3 {
			d = left
		}
		to, left = append(to, d), left/d
	}
	if len(to) == 1 {
		to = append(to, 1)
	}
	dims := slices.Clone(to)
	if b.net.OpenBatch {
		dims[0] = 0
	}
	if b.strange() { // the batch joins other axes
		to = append([]int{to[0] * to[1]}, to[2:]...)
		dims = slices.Clone(to)
		dims[0] = -1
		return b.result("Reshape", x, to, []string{b.ints(dims...)})
	}
	for i := 1; i < len(dims); i++ {
		if i < len(x.dims) && dims[i] == x.dims[i] && b.upTo(2) == 1 {
			dims[i] = 0
		}
	}
	switch b.upTo(4) {
	case 1:
		if b.upTo(2) == 0 && dims[0] != 0 {
			dims[0] = -1
		} else {
			dims[b.between(1, len(dims)-1)] = -1
		}
	case 2:
		rest := to[1:]
		return b.result("Reshape", x, to, []string{b.batchAnd(x, rest...)})
	}
	return b.result("Reshape", x, to, []string{b.ints(dims...)})
}
