package drawnet

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/x448/float16"

	"github.com/certspec/certspec/internal/onnxfile"
)

// tensor makes a tensor of any type of number.
func tensor(name string, kind onnxfile.Type, values []float64, dims []int) onnxfile.Tensor {
	t := onnxfile.Tensor{Name: name, Dims: wide(dims)}
	switch kind {
	case onnxfile.Float32:
		onnxfile.SetValues(&t, converted[float32](values))
	case onnxfile.Float64:
		onnxfile.SetValues(&t, values)
	case onnxfile.Int64:
		onnxfile.SetValues(&t, converted[int64](values))
	case onnxfile.Int32:
		onnxfile.SetValues(&t, converted[int32](values))
	case onnxfile.Int8:
		onnxfile.SetValues(&t, converted[int8](values))
	case onnxfile.Uint8:
		onnxfile.SetValues(&t, converted[uint8](values))
	case onnxfile.Bool:
		onnxfile.SetValues(&t, converted[uint8](values))
		t.SetRaw(onnxfile.Bool, t.Raw)
	case onnxfile.Float16:
		raw := make([]byte, 0, 2*len(values))
		for _, v := range values {
			raw = binary.LittleEndian.AppendUint16(raw, float16.Fromfloat32(float32(v)).Bits())
		}
		t.SetRaw(kind, raw)
	default:
		panic("drawnet: a tensor of " + kind.String())
	}
	return t
}

func converted[T onnxfile.Number](values []float64) []T {
	out := make([]T, len(values))
	for i, v := range values {
		out[i] = T(v)
	}
	return out
}

func wide(dims []int) []int64 {
	out := make([]int64, len(dims))
	for i, d := range dims {
		out[i] = int64(d)
	}
	return out
}

// stored puts a constant into the file as it is: an initializer or a node.
func (b *builder) stored(kind onnxfile.Type, values []float64, dims []int) string {
	form := b.weighed(5, 3, 2)
	if form == 2 && b.opset >= 12 && len(dims) < 2 {
		switch {
		case kind == onnxfile.Float32 && len(dims) == 0:
			return b.node("Constant", nil, onnxfile.FloatAttribute("value_float", float32(values[0])))
		case kind == onnxfile.Float32:
			return b.node("Constant", nil, onnxfile.FloatsAttribute("value_floats", converted[float32](values)...))
		case kind == onnxfile.Int64 && len(dims) == 0:
			return b.node("Constant", nil, onnxfile.IntAttribute("value_int", int64(values[0])))
		case kind == onnxfile.Int64:
			return b.node("Constant", nil, onnxfile.IntsAttribute("value_ints", converted[int64](values)...))
		}
	}
	if form != 0 {
		return b.node("Constant", nil, onnxfile.TensorAttribute("value", tensor("", kind, values, dims)))
	}
	name := b.name("c")
	b.graph.Initializers = append(b.graph.Initializers, tensor(name, kind, values, dims))
	if b.listed {
		described := make([]onnxfile.Dim, len(dims))
		for i, d := range dims {
			described[i].Size = int64(d)
		}
		b.graph.Inputs = append(b.graph.Inputs, onnxfile.Value{Name: name, Type: kind, Dims: described})
	}
	return name
}

// constant is a constant of those dimensions behind nodes that compute it from others, at times. draw
// makes n values; behind a cast they may come out as others.
func (b *builder) constant(dims []int, draw func(n int) []float64) string {
	return b.disguised(b.kind, dims, draw, 2)
}

// disguised is constant with at most depth nodes between.
func (b *builder) disguised(kind onnxfile.Type, dims []int, draw func(n int) []float64, depth int) string {
	plain := func() string { return b.stored(kind, draw(product(dims)), dims) }
	if depth == 0 || b.upTo(3) < 2 {
		return plain()
	}
	inner := func(dims []int) string { return b.disguised(kind, dims, draw, depth-1) }
	rank := len(dims)
	switch b.upTo(16) {
	case 1:
		return b.reshaped(dims, inner)
	case 2: // Unsqueeze: some of the ones are new
		var axes, from []int
		for i, d := range dims {
			if d == 1 && b.upTo(3) > 0 {
				axes = append(axes, i)
			} else {
				from = append(from, d)
			}
		}
		if axes == nil {
			return plain()
		}
		return b.unsqueeze(inner(from), b.signed(axes, rank))
	case 3: // Squeeze: some ones more before
		var axes, from []int
		for i := 0; i <= rank; i++ {
			if len(from) < 4 && b.upTo(2) > 0 {
				axes, from = append(axes, len(from)), append(from, 1)
			}
			if i < rank {
				from = append(from, dims[i])
			}
		}
		if axes == nil || len(axes) < len(from) && b.once(4) && !slices.Contains(dims, 1) {
			return b.squeeze(inner(from), nil)
		}
		return b.squeeze(inner(from), b.signed(axes, len(from)))
	case 4: // Flatten
		if rank != 2 {
			return plain()
		}
		return b.flattenConstant(dims, inner)
	case 5: // Transpose
		if rank < 2 {
			return plain()
		}
		return b.transposeConstant(dims, inner)
	case 6:
		return b.cast(kind, dims, draw, depth)
	case 7:
		return b.gather(dims, inner)
	case 8: // Concat
		if rank == 0 {
			return plain()
		}
		axis := b.upTo(rank)
		first, second := slices.Clone(dims), slices.Clone(dims)
		if dims[axis] < 2 {
			return plain()
		}
		first[axis] = b.between(1, dims[axis]-1)
		second[axis] -= first[axis]
		at := axis
		if b.opset >= 11 && b.upTo(2) > 0 {
			at -= rank
		}
		parts := []string{inner(first), inner(second)}
		return b.node("Concat", parts, onnxfile.IntAttribute("axis", int64(at)))
	case 9:
		return b.slice(dims, inner)
	case 10: // Expand
		if b.opset < 8 || rank == 0 {
			return plain()
		}
		from := slices.Clone(dims[b.upTo(rank):])
		for i := range from {
			if b.upTo(2) == 0 {
				from[i] = 1
			}
		}
		return b.node("Expand", []string{inner(from), b.ints(dims...)})
	case 11: // ConstantOfShape
		if b.opset < 9 || rank == 0 {
			return plain()
		}
		v := draw(1)
		return b.node("ConstantOfShape", []string{b.ints(dims...)},
			onnxfile.TensorAttribute("value", tensor("", kind, v, []int{1})))
	case 12:
		return b.node(among(b.Choices, "Identity", "Dropout"), []string{inner(dims)})
	case 13, 14:
		return b.computed(kind, dims, draw, depth)
	case 15: // an arithmetic sequence
		if rank != 1 || b.opset < 11 || kind != onnxfile.Float32 && kind != onnxfile.Int64 {
			return plain()
		}
		one := func(v float64) string { return b.stored(kind, []float64{v}, nil) }
		start, step := float64(b.between(0, 3)), among(b.Choices, 1, 2, -1, 0.5)
		if kind == onnxfile.Int64 {
			step = math.Ceil(step)
		}
		return b.node("Range", []string{one(start), one(start + step*float64(dims[0])), one(step)})
	}
	return plain()
}

// computed is a constant behind arithmetic with other constants.
func (b *builder) computed(kind onnxfile.Type, dims []int, draw func(n int) []float64, depth int) string {
	if kind != b.kind {
		return b.stored(kind, draw(product(dims)), dims)
	}
	one := b.disguised(kind, dims, draw, depth-1)
	other := slices.Clone(dims[b.upTo(len(dims)+1):]) // with axes to be repeated
	for i := range other {
		if b.upTo(2) == 0 {
			other[i] = 1
		}
	}
	second := func() string { return b.disguised(kind, other, draw, depth-1) }
	switch b.upTo(10) {
	case 1:
		return b.node(among(b.Choices, "Add", "Sub"), []string{one, second()})
	case 2:
		return b.node("Mul", []string{second(), one})
	case 3:
		return b.node("Div", []string{one, b.stored(kind, []float64{among(b.Choices, 2, 3, -0.5)}, nil)})
	case 4:
		if b.opset >= 8 {
			return b.node(among(b.Choices, "Min", "Max"), []string{one, second()})
		}
	case 5:
		return b.node("Neg", []string{one})
	case 6:
		return b.node("Sqrt", []string{b.node("Abs", []string{one})})
	case 7: // Where, by a condition that is stored or computed
		if b.opset < 9 {
			break
		}
		condition := ""
		if b.upTo(2) == 0 || b.opset < 11 {
			condition = b.stored(onnxfile.Bool, b.truths(product(other)), other)
		} else {
			condition = b.node("Equal", []string{second(), b.stored(kind, draw(1), nil)})
		}
		return b.node("Where", []string{condition, one, second()})
	case 8:
		size := b.castTo(b.node("Size", []string{one}), kind)
		return b.node("Div", []string{one, size})
	case 9:
		return b.node("Abs", []string{one})
	}
	return b.node("Mul", []string{one, b.stored(kind, []float64{1}, nil)})
}

func (b *builder) truths(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(b.upTo(2))
	}
	return out
}

// signed writes some axes of a rank from the back.
func (b *builder) signed(axes []int, rank int) []int {
	out := slices.Clone(axes)
	if b.opset < 11 {
		return out
	}
	for i := range out {
		if b.upTo(2) > 0 {
			out[i] -= rank
		}
	}
	return out
}

// reshaped is a constant of other dimensions behind a Reshape.
func (b *builder) reshaped(dims []int, inner func([]int) string) string {
	size := product(dims)
	var from []int
	for left := size; left > 1 || b.upTo(4) > 2 && len(from) < 3; {
		d := 1 + b.upTo(min(left, 200))
		for left%d != 0 {
			d--
		}
		if len(from) == 3 {
			d = left
		}
		from, left = append(from, d), left/d
	}
	to := slices.Clone(dims)
	for i, d := range to {
		if i < len(from) && from[i] == d && b.upTo(2) > 0 {
			to[i] = 0
		}
	}
	if len(to) > 0 && b.upTo(2) > 0 && size > 0 {
		to[b.upTo(len(to))] = -1
	}
	return b.node("Reshape", []string{inner(from), b.ints(to...)})
}

func (b *builder) flattenConstant(dims []int, inner func([]int) string) string {
	split := func(d int) []int {
		f := 1 + b.upTo(min(d, 200))
		for d%f != 0 {
			f--
		}
		if f == 1 && b.upTo(2) == 0 {
			return []int{d}
		}
		return []int{f, d / f}
	}
	front, back := split(dims[0]), split(dims[1])
	if dims[0] == 1 && b.upTo(2) > 0 {
		front = nil
	}
	from := append(slices.Clone(front), back...)
	axis := b.signed([]int{len(front)}, len(from))[0]
	if axis == 1 && b.upTo(2) > 0 {
		return b.node("Flatten", []string{inner(from)})
	}
	return b.node("Flatten", []string{inner(from)}, onnxfile.IntAttribute("axis", int64(axis)))
}

func (b *builder) transposeConstant(dims []int, inner func([]int) string) string {
	rank := len(dims)
	from := make([]int, rank)
	if b.upTo(3) == 0 {
		for i := range from {
			from[i] = dims[rank-1-i]
		}
		return b.node("Transpose", []string{inner(from)})
	}
	order := b.permutation(rank)
	for i, o := range order {
		from[o] = dims[i]
	}
	return b.node("Transpose", []string{inner(from)}, onnxfile.IntsAttribute("perm", wide(order)...))
}

func (b *builder) permutation(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := range order {
		j := b.between(i, n-1)
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// cast makes a constant of kind from one of another type, or through another type.
func (b *builder) cast(kind onnxfile.Type, dims []int, values func(n int) []float64, depth int) string {
	if kind != b.kind { // of integers
		other := among(b.Choices, onnxfile.Int32, onnxfile.Int64, onnxfile.Float32)
		return b.castTo(b.disguised(other, dims, values, depth-1), kind)
	}
	other := among(b.Choices, onnxfile.Float64, onnxfile.Float32, onnxfile.Float16, onnxfile.Int64, onnxfile.Int32,
		onnxfile.Int8, onnxfile.Uint8, onnxfile.Bool)
	within := func(n int) []float64 { // values that the type can hold, or nearly
		v := values(n)
		for i := range v {
			switch other {
			case onnxfile.Float64:
				if v[i] *= 1 + 0x1p-26; b.strange() {
					v[i] *= 1e300
				}
			case onnxfile.Float16, onnxfile.Float32:
				v[i] = rounded(v[i], other)
			case onnxfile.Bool:
				v[i] = math.Mod(math.Abs(math.Round(v[i])), 2)
			case onnxfile.Uint8:
				v[i] = math.Mod(math.Abs(math.Round(4*v[i])), 128)
			default:
				v[i] = math.Mod(math.Round(4*v[i]), 128)
			}
		}
		return v
	}
	if b.upTo(2) == 0 || other == onnxfile.Float64 {
		return b.castTo(b.disguised(other, dims, within, depth-1), kind)
	}
	// There and back: what the other type cannot hold is lost.
	small := func(n int) []float64 {
		v := values(n)
		if other != onnxfile.Float16 && other != onnxfile.Float32 {
			for i := range v {
				v[i] = math.Mod(3*v[i], 100)
				if other == onnxfile.Uint8 {
					v[i] = math.Abs(v[i])
				}
				v[i] = b.single(v[i])
			}
		}
		return v
	}
	return b.castTo(b.castTo(b.disguised(kind, dims, small, depth-1), other), kind)
}

func (b *builder) castTo(name string, kind onnxfile.Type) string {
	return b.node("Cast", []string{name}, onnxfile.IntAttribute("to", int64(kind)))
}

// gather takes a constant out of a larger one.
func (b *builder) gather(dims []int, inner func([]int) string) string {
	rank := len(dims)
	axis := b.upTo(rank + 1)
	places := func(n, of int) []int {
		out := make([]int, n)
		for i := range out {
			if out[i] = b.upTo(of); b.opset >= 11 && b.once(4) {
				out[i] -= of
			}
		}
		return out
	}
	var from []int
	var index string
	wanted := axis
	switch {
	case axis < rank && b.upTo(3) > 0: // a list of places, of one axis or, where two follow each other, of two
		from = slices.Clone(dims)
		of := b.between(1, 4)
		if axis+1 < rank && b.once(3) {
			from = slices.Delete(from, axis, axis+1)
			from[axis] = of
			index = b.indices(places(dims[axis]*dims[axis+1], of), dims[axis], dims[axis+1])
		} else {
			from[axis] = of
			index = b.indices(places(dims[axis], of), dims[axis])
		}
	default: // a single place: the axis is dropped
		of := b.between(1, 3)
		from = slices.Insert(slices.Clone(dims), axis, of)
		index = b.indices(places(1, of))
	}
	if b.opset >= 11 && b.upTo(3) == 0 {
		wanted -= len(from)
	}
	inputs := []string{inner(from), index}
	if wanted == 0 && b.upTo(2) > 0 {
		return b.node("Gather", inputs)
	}
	return b.node("Gather", inputs, onnxfile.IntAttribute("axis", int64(wanted)))
}

// slice cuts a constant out of a larger one.
func (b *builder) slice(dims []int, inner func([]int) string) string {
	if len(dims) == 0 {
		return inner(dims)
	}
	from := slices.Clone(dims)
	var starts, ends, axes, steps []int
	for i, d := range dims {
		if b.upTo(2) == 0 {
			continue
		}
		before, step := b.upTo(3), 1
		if b.opset >= 10 {
			step = among(b.Choices, 1, 2, -1)
		}
		switch step {
		case -1:
			from[i] = d + before
			starts, ends = append(starts, d+before-1), append(ends, before-1-from[i])
			if before == 0 {
				ends[len(ends)-1] = math.MinInt32
			}
		default:
			from[i] = before + (d-1)*step + 1
			starts, ends = append(starts, before), append(ends, from[i])
			if b.upTo(2) == 0 {
				starts[len(starts)-1] -= from[i]
				ends[len(ends)-1] = math.MaxInt32
			}
		}
		axes, steps = append(axes, i), append(steps, step)
	}
	if axes == nil {
		return inner(dims)
	}
	if b.opset < 10 {
		return b.node("Slice", []string{inner(from)}, onnxfile.IntsAttribute("starts", wide(starts)...),
			onnxfile.IntsAttribute("ends", wide(ends)...), onnxfile.IntsAttribute("axes", wide(axes)...))
	}
	return b.node("Slice", []string{inner(from), b.ints(starts...), b.ints(ends...), b.ints(axes...), b.ints(steps...)})
}

// ints is a constant vector of int64, as shapes and axes are.
func (b *builder) ints(values ...int) string { return b.indices(values, len(values)) }

// indices is a constant of int64 with dimensions, computed from others at times. Values are kept.
func (b *builder) indices(values []int, dims ...int) string {
	v := make([]float64, len(values))
	for i, x := range values {
		v[i] = float64(x)
	}
	if len(v) == 0 || b.upTo(4) < 3 {
		return b.stored(onnxfile.Int64, v, dims)
	}
	switch n := len(v); b.upTo(8) {
	case 6: // arithmetic of whole numbers
		by := float64(b.between(2, 4))
		for i := range v {
			v[i] *= by
			if v[i] < 0 { // divisions cut off towards zero
				v[i] -= by - 1
			} else {
				v[i] += by - 1
			}
		}
		whole := b.node("Div", []string{b.stored(onnxfile.Int64, v, dims), b.indices([]int{int(by)})})
		if b.upTo(2) == 0 {
			return whole
		}
		op := among(b.Choices, "Add", "Sub", "Mul")
		nothing := 0
		if op == "Mul" {
			nothing = 1
		}
		return b.node(op, []string{whole, b.stored(onnxfile.Int64, []float64{float64(nothing)}, []int{1})})
	case 7:
		if b.opset >= 12 {
			large := b.stored(onnxfile.Int64, []float64{1 << 40}, nil)
			return b.node("Min", []string{b.stored(onnxfile.Int64, v, dims), large})
		}
	case 1: // parts, joined
		if len(dims) == 1 && n > 1 {
			at := b.between(1, n-1)
			first, second := b.indices(values[:at], at), b.indices(values[at:], n-at)
			return b.node("Concat", []string{first, second}, onnxfile.IntAttribute("axis", 0))
		}
		if len(dims) == 1 {
			return b.unsqueeze(b.indices(values), []int{0})
		}
	case 2:
		return b.castTo(b.stored(onnxfile.Int32, v, dims), onnxfile.Int64)
	case 3:
		if len(dims) == 1 {
			order := b.permutation(n)
			from, places := make([]int, n), make([]int, n)
			for i, o := range order {
				from[o], places[i] = values[i], o
			}
			return b.node("Gather", []string{b.ints(from...), b.ints(places...)}, onnxfile.IntAttribute("axis", 0))
		}
	case 4:
		if b.opset >= 10 && len(dims) == 1 {
			longer := append(append([]int{7}, values...), 9)
			return b.node("Slice", []string{b.ints(longer...), b.ints(1), b.ints(n + 1)})
		}
	case 5: // a part that is cut off towards zero
		for i := range v {
			if v[i] != 0 && math.Abs(v[i]) < 1<<20 {
				v[i] += math.Copysign(0.5, v[i])
			}
		}
		return b.castTo(b.stored(onnxfile.Float32, v, dims), onnxfile.Int64)
	}
	return b.stored(onnxfile.Int64, v, dims)
}

// unsqueeze and squeeze write the operator as the opset has it.
func (b *builder) unsqueeze(name string, axes []int) string {
	return b.withAxes("Unsqueeze", name, axes)
}

func (b *builder) squeeze(name string, axes []int) string { return b.withAxes("Squeeze", name, axes) }

func (b *builder) withAxes(op, name string, axes []int) string {
	switch {
	case axes == nil:
		return b.node(op, []string{name})
	case b.opset >= 13:
		return b.node(op, []string{name, b.ints(axes...)})
	}
	return b.node(op, []string{name}, onnxfile.IntsAttribute("axes", wide(axes)...))
}

// Half is the half precision of a number, as its bits, and FromHalf the number.
func Half(v float64) uint16 { return float16.Fromfloat32(float32(v)).Bits() }

func FromHalf(bits uint16) float64 { return float64(float16.Frombits(bits).Float32()) }
