package feedforward

import (
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/onnxfile"
)

// folds evaluate operators on constants; in has nil for an input that is left out.
var folds map[string]func(r *reader, n *onnxfile.Node, in []*constant) (*constant, string)

func init() {
	folds = map[string]func(r *reader, n *onnxfile.Node, in []*constant) (*constant, string){
		"Constant": (*reader).foldConstant, "ConstantOfShape": (*reader).foldFilled, "Range": (*reader).foldRange,
		"Identity": foldSame, "Dropout": foldSame, "Cast": foldCast,
		"Reshape": (*reader).foldReshape, "Flatten": (*reader).foldReshape, "Squeeze": (*reader).foldReshape,
		"Unsqueeze": (*reader).foldReshape,
		"Transpose": (*reader).foldTranspose, "Expand": (*reader).foldExpand, "Slice": (*reader).foldSlice,
		"Gather": (*reader).foldGather, "Concat": (*reader).foldConcat, "Where": (*reader).foldWhere,
	}
	for name := range elementwise {
		folds[name] = (*reader).foldElementwise
	}
}

// fold evaluates a node whose result is a constant: constants themselves, and the shapes of results, the batch
// counting as 1. done is false where the node is a layer.
func (r *reader) fold(n *onnxfile.Node) (done bool, reason string) {
	if n.Op == "Shape" || n.Op == "Size" {
		return true, r.foldShape(n)
	}
	in := make([]*constant, len(n.Inputs))
	for i, name := range n.Inputs {
		if _, isLayer := r.layers[name]; isLayer {
			return false, ""
		}
		if name == "" {
			continue
		}
		if in[i], reason = r.value(name); reason != "" {
			return true, reason
		}
	}
	evaluate, ok := folds[n.Op]
	if !ok {
		return true, "its inputs are constant, and constants of this operator are not read"
	}
	c, reason := evaluate(r, n, in)
	if reason == "" {
		r.constants[n.Outputs[0]] = c
	}
	return true, reason
}

// room says why a constant of dimensions is too large, before anything is made for it.
func (r *reader) room(dims []int) string {
	n := 1
	for _, d := range dims {
		if d < 0 || d > 0 && n > mostValues/d {
			return fmt.Sprintf("a constant of dimensions %v, want at most %d values", dims, mostValues)
		}
		n *= d
	}
	r.b.size.held += 8 * n
	return r.b.size.tooLarge("a constant of dimensions", dims)
}

func (r *reader) foldConstant(n *onnxfile.Node, _ []*constant) (*constant, string) {
	if len(n.Attributes) != 1 {
		return nil, fmt.Sprintf("%d attributes, want one value", len(n.Attributes))
	}
	switch a := n.Attributes[0]; a.Name {
	case "value":
		return decode(a.Tensor)
	case "value_int":
		return &constant{kind: onnxfile.Int64, dims: []int{}, whole: []int64{a.Int}}, ""
	case "value_ints":
		return &constant{kind: onnxfile.Int64, dims: []int{len(a.Ints)}, whole: a.Ints}, ""
	case "value_float":
		return &constant{kind: onnxfile.Float32, dims: []int{}, real: []float64{float64(a.Float)}}, ""
	default: // value_floats
		c := &constant{kind: onnxfile.Float32, dims: []int{len(a.Floats)}}
		for _, v := range a.Floats {
			c.real = append(c.real, float64(v))
		}
		return c, ""
	}
}

func (r *reader) foldFilled(n *onnxfile.Node, in []*constant) (*constant, string) {
	dims, reason := in[0].list()
	if reason != "" {
		return nil, reason
	}
	value := &constant{kind: onnxfile.Float32, dims: []int{1}, real: []float64{0}}
	if a := n.Attribute("value"); a != nil {
		if value, reason = decode(a.Tensor); reason != "" {
			return nil, reason
		}
	}
	if value.size() != 1 {
		return nil, fmt.Sprintf("%d values to fill with, want one", value.size())
	}
	if reason := r.room(dims); reason != "" {
		return nil, reason
	}
	out := value.taken(dims, func([]int) int { return 0 })
	if in[0].sized != nil { // there may be more of them
		out.sized = slices.Repeat([]bool{true}, out.size())
	}
	return out, ""
}

func (r *reader) foldRange(n *onnxfile.Node, in []*constant) (*constant, string) {
	var v [3]int64 // start, limit, step
	for i, c := range in {
		if c.sized != nil {
			return nil, "a range that depends on the number of images"
		}
		if isReal(c.kind) || c.size() != 1 || c.kind != in[0].kind || max(c.whole[0], -c.whole[0]) > mostValues {
			return nil, "a range that is not of three whole numbers"
		}
		v[i] = c.whole[0]
	}
	if v[2] == 0 {
		return nil, "a step of 0"
	}
	count := max(0, int(math.Ceil(float64(v[1]-v[0])/float64(v[2]))))
	if reason := r.room([]int{count}); reason != "" {
		return nil, reason
	}
	out := &constant{kind: in[0].kind, dims: []int{count}}
	for i := range count {
		out.whole = append(out.whole, v[0]+int64(i)*v[2])
	}
	return out, ""
}

func foldSame(r *reader, n *onnxfile.Node, in []*constant) (*constant, string) {
	return in[0], r.inference(n)
}

func foldCast(r *reader, n *onnxfile.Node, in []*constant) (*constant, string) {
	to := onnxfile.Type(n.Int("to", 0))
	if isReal(to) && to != in[0].kind {
		if reason := r.room(in[0].dims); reason != "" {
			return nil, reason
		}
	}
	return in[0].cast(to)
}

func (r *reader) foldReshape(n *onnxfile.Node, in []*constant) (*constant, string) {
	dims, reason := r.newDims(n, in[0].dims)
	if reason != "" {
		return nil, reason
	}
	return in[0].reshaped(dims), ""
}

func (r *reader) foldTranspose(n *onnxfile.Node, in []*constant) (*constant, string) {
	order, reason := permutation(n, len(in[0].dims))
	if reason != "" {
		return nil, reason
	}
	if reason := r.room(in[0].dims); reason != "" {
		return nil, reason
	}
	dims, steps := make([]int, len(order)), make([]int, len(order))
	for i, o := range order {
		dims[i], steps[i] = in[0].dims[o], stridesOf(in[0].dims)[o]
	}
	return in[0].taken(dims, func(index []int) int { return dot(index, steps) }), ""
}

func (r *reader) foldExpand(n *onnxfile.Node, in []*constant) (*constant, string) {
	to, reason := in[1].list()
	if reason != "" {
		return nil, reason
	}
	dims, ok := broadcast(in[0].dims, to)
	if !ok {
		return nil, fmt.Sprintf("dimensions %v to %v", in[0].dims, to)
	}
	if reason := r.room(dims); reason != "" {
		return nil, reason
	}
	out := in[0].spread(dims)
	if in[1].sized != nil { // there may be more of them
		out = out.reshaped(dims)
		out.sized = slices.Repeat([]bool{true}, out.size())
	}
	return out, ""
}

// slice is the places along an axis that Slice takes: first, first + step, ...
type slice struct{ first, step, count int }

// slices are those along all axes, by the inputs of the operator, or the attributes of its first version.
func (r *reader) slices(n *onnxfile.Node, dims []int) ([]slice, string) {
	var lists [4][]int // starts, ends, axes, steps
	for i, name := range []string{"starts", "ends", "axes", "steps"} {
		var reason string
		if lists[i], reason = r.integers(n, i+1, name); reason != "" {
			return nil, reason
		}
	}
	starts, ends, axes, steps := lists[0], lists[1], lists[2], lists[3]
	for i := range starts {
		if lists[2] == nil {
			axes = append(axes, i)
		}
		if lists[3] == nil {
			steps = append(steps, 1)
		}
	}
	if len(ends) != len(starts) || len(axes) != len(starts) || len(steps) != len(starts) {
		return nil, fmt.Sprintf("%d starts, %d ends, %d axes and %d steps", len(starts), len(ends), len(axes),
			len(steps))
	}
	out := make([]slice, len(dims))
	for i, d := range dims {
		out[i] = slice{0, 1, d}
	}
	seen := map[int]bool{}
	for i, start := range starts {
		axis, ok := axisOf(axes[i], len(dims))
		if !ok || seen[axis] || steps[i] == 0 || max(steps[i], -steps[i]) > mostValues {
			return nil, fmt.Sprintf("axes %v with steps %v of dimensions %v", axes, steps, dims)
		}
		seen[axis] = true
		d, step, end := dims[axis], steps[i], ends[i]
		least, most := 0, d // that a start and an end are clamped to
		if step < 0 {
			least, most = -1, d-1
		}
		for _, at := range []*int{&start, &end} {
			if *at < 0 {
				*at += d
			}
			*at = min(max(*at, least), most)
		}
		start = max(start, 0)
		out[axis] = slice{start, step, min(d, max(0, (end-start+step-sign(step))/step))}
	}
	return out, ""
}

func sign(v int) int {
	if v < 0 {
		return -1
	}
	return 1
}

func (r *reader) foldSlice(n *onnxfile.Node, in []*constant) (*constant, string) {
	pieces, reason := r.slices(n, in[0].dims)
	if reason != "" {
		return nil, reason
	}
	dims := make([]int, len(pieces))
	for i, s := range pieces {
		dims[i] = s.count
	}
	if reason := r.room(dims); reason != "" {
		return nil, reason
	}
	strides := stridesOf(in[0].dims)
	return in[0].taken(dims, func(index []int) (at int) {
		for i, s := range pieces {
			at += (s.first + index[i]*s.step) * strides[i]
		}
		return at
	}), ""
}

func (r *reader) foldGather(n *onnxfile.Node, in []*constant) (*constant, string) {
	from, which := in[0].dims, in[1]
	axis, ok := axisOf(int(n.Int("axis", 0)), len(from))
	if !ok {
		return nil, fmt.Sprintf("along axis %d of dimensions %v", n.Int("axis", 0), from)
	}
	if which.kind != onnxfile.Int32 && which.kind != onnxfile.Int64 {
		return nil, fmt.Sprintf("places of type %v", which.kind)
	}
	places := make([]int, which.size())
	for i, p := range which.whole {
		if p < 0 {
			p += int64(from[axis])
		}
		if p < 0 || p >= int64(from[axis]) {
			return nil, fmt.Sprintf("place %d of %d", which.whole[i], from[axis])
		}
		places[i] = int(p)
	}
	dims := slices.Concat(from[:axis], which.dims, from[axis+1:])
	if reason := r.room(dims); reason != "" {
		return nil, reason
	}
	behind := Shape(from[axis+1:]).Size()
	strides := stridesOf(dims)
	return in[0].taken(dims, func(index []int) int {
		at := dot(index, strides) // in blocks of places, each of so many values
		block := at / behind
		return (block/len(places)*from[axis]+places[block%len(places)])*behind + at%behind
	}), ""
}

func (r *reader) foldConcat(n *onnxfile.Node, in []*constant) (*constant, string) {
	axis, ok := axisOf(int(n.Int("axis", 0)), len(in[0].dims))
	if !ok {
		return nil, fmt.Sprintf("along axis %d of dimensions %v", n.Int("axis", 0), in[0].dims)
	}
	dims := slices.Clone(in[0].dims)
	dims[axis] = 0
	for _, c := range in {
		other := slices.Clone(c.dims)
		if len(other) == len(dims) {
			other[axis] = dims[axis]
		}
		if !slices.Equal(other, dims) || c.kind != in[0].kind {
			return nil, fmt.Sprintf("%v of dimensions %v behind %v of %v", c.kind, c.dims, in[0].kind, in[0].dims)
		}
		dims[axis] += c.dims[axis]
	}
	if reason := r.room(dims); reason != "" {
		return nil, reason
	}
	out := &constant{kind: in[0].kind, dims: dims}
	l := concat{blocks: Shape(dims[:axis]).Size()}
	for _, c := range in {
		l.sizes = append(l.sizes, Shape(c.dims[axis:]).Size())
	}
	sized := slices.ContainsFunc(in, func(c *constant) bool { return c.sized != nil })
	l.each(func(j, from, _, size int) {
		switch {
		case in[j].sized != nil:
			out.sized = append(out.sized, in[j].sized[from:from+size]...)
		case sized:
			out.sized = append(out.sized, make([]bool, size)...)
		}
		if isReal(out.kind) {
			out.real = append(out.real, in[j].real[from:from+size]...)
		} else {
			out.whole = append(out.whole, in[j].whole[from:from+size]...)
		}
	})
	return out, ""
}

// together gives constants the dimensions that they have together by NumPy's rule.
func (r *reader) together(in []*constant) ([]*constant, []int, string) {
	dims, ok := in[0].dims, true
	for _, c := range in[1:] {
		if dims, ok = broadcast(dims, c.dims); !ok {
			return nil, nil, fmt.Sprintf("dimensions %v with %v", in[0].dims, c.dims)
		}
	}
	out := make([]*constant, len(in))
	for i, c := range in {
		if reason := r.room(dims); reason != "" {
			return nil, nil, reason
		}
		out[i] = c.spread(dims)
	}
	return out, dims, ""
}

func (r *reader) foldWhere(n *onnxfile.Node, in []*constant) (*constant, string) {
	if in[0].kind != onnxfile.Bool || in[1].kind != in[2].kind {
		return nil, fmt.Sprintf("a condition of %v, values of %v and %v", in[0].kind, in[1].kind, in[2].kind)
	}
	all, dims, reason := r.together(in)
	if reason != "" {
		return nil, reason
	}
	out := &constant{kind: in[1].kind, dims: dims, sized: either(all...)}
	for i, yes := range all[0].whole {
		from := all[2]
		if yes != 0 {
			from = all[1]
		}
		if isReal(out.kind) {
			out.real = append(out.real, from.real[i])
		} else {
			out.whole = append(out.whole, from.whole[i])
		}
	}
	return out, ""
}

// either says which values of constants of the same dimensions depend on the number of images.
func either(all ...*constant) (sized []bool) {
	for _, c := range all {
		if c.sized != nil && sized == nil {
			sized = make([]bool, c.size())
		}
		for i, is := range c.sized {
			sized[i] = sized[i] || is
		}
	}
	return sized
}

// arithmetic is an operator on each value, of real and of whole numbers; ok is false where a whole result is not
// defined.
type arithmetic struct {
	real  func(x, y float64) float64
	whole func(x, y int64) (v int64, ok bool)
}

// exactly is arithmetic on whole numbers; where it is about 2⁶² and more in float64, it is refused.
func exactly(f func(x, y int64) int64, check func(x, y float64) float64) func(x, y int64) (int64, bool) {
	return func(x, y int64) (int64, bool) {
		return f(x, y), math.Abs(check(float64(x), float64(y))) < 0x1p62
	}
}

// elementwise are the operators that folding evaluates value by value. Their results are those of IEEE arithmetic in
// the type of the operands, the same in every engine. Of one operand, y is not used.
var elementwise = map[string]arithmetic{
	"Add": {add, exactly(func(x, y int64) int64 { return x + y }, add)},
	"Sub": {subtract, exactly(func(x, y int64) int64 { return x - y }, subtract)},
	"Mul": {multiplied, exactly(func(x, y int64) int64 { return x * y }, multiplied)},
	"Div": {func(x, y float64) float64 { return x / y }, func(x, y int64) (int64, bool) {
		if y == 0 || x == math.MinInt64 {
			return 0, false
		}
		return x / y, true
	}},
	"Min": {func(x, y float64) float64 { return min(x, y) }, func(x, y int64) (int64, bool) { return min(x, y), true }},
	"Max": {func(x, y float64) float64 { return max(x, y) }, func(x, y int64) (int64, bool) { return max(x, y), true }},
	"Neg": {func(x, _ float64) float64 { return -x }, func(x, _ int64) (int64, bool) { return -x, true }},
	"Abs": {func(x, _ float64) float64 { return math.Abs(x) }, func(x, _ int64) (int64, bool) {
		return max(x, -x), true
	}},
	"Sqrt": {func(x, _ float64) float64 { return math.Sqrt(x) }, func(_, _ int64) (int64, bool) { return 0, false }},
	"Equal": {func(x, y float64) float64 { return truth(x == y) }, func(x, y int64) (int64, bool) {
		return int64(truth(x == y)), true
	}},
}

func add(x, y float64) float64        { return x + y }
func subtract(x, y float64) float64   { return x - y }
func multiplied(x, y float64) float64 { return x * y }

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (r *reader) foldElementwise(n *onnxfile.Node, in []*constant) (*constant, string) {
	kind := in[0].kind
	for _, c := range in {
		if c.kind != kind || kind == onnxfile.Bool {
			return nil, fmt.Sprintf("arithmetic on %v and %v", kind, c.kind)
		}
	}
	all, dims, reason := r.together(in)
	if reason != "" {
		return nil, reason
	}
	out, first := all[0], all[0]
	// of one operand, itself in the place of a second
	for _, second := range append(all[1:], first)[:max(1, len(all)-1)] {
		if out, reason = elementwise[n.Op].on(out, second, dims); reason != "" {
			return nil, reason
		}
	}
	if n.Op == "Equal" {
		return out.cast(onnxfile.Bool)
	}
	return out, ""
}

func (a arithmetic) on(x, y *constant, dims []int) (*constant, string) {
	out := &constant{kind: x.kind, dims: dims, sized: either(x, y)}
	for i := range x.size() {
		if isReal(x.kind) {
			for _, v := range []float64{x.real[i], y.real[i]} {
				if _, reason := rounded(v, x.kind); reason != "" {
					return nil, "arithmetic on constants with " + reason
				}
			}
			v, reason := rounded(a.real(x.real[i], y.real[i]), x.kind)
			if reason != "" {
				return nil, fmt.Sprintf("arithmetic on %v and %v rounds %s", x.real[i], y.real[i], reason)
			}
			out.real = append(out.real, v)
			continue
		}
		v, ok := a.whole(x.whole[i], y.whole[i])
		if r := ranges[x.kind]; !ok || v < r[0] || v > r[1] {
			return nil, fmt.Sprintf("arithmetic on %d and %d leaves %v", x.whole[i], y.whole[i], x.kind)
		}
		out.whole = append(out.whole, v)
	}
	return out, ""
}

// foldShape is the shape or the size of a result for a batch of one, or of a constant.
func (r *reader) foldShape(n *onnxfile.Node) string {
	dims, reason := r.dimsOf(n.Inputs[0])
	if reason != "" {
		return reason
	}
	out := &constant{kind: onnxfile.Int64, dims: []int{len(dims)}}
	for _, d := range dims {
		out.whole = append(out.whole, int64(d))
	}
	if _, isLayer := r.layers[n.Inputs[0]]; isLayer && r.open {
		out.sized = make([]bool, len(dims))
		out.sized[0] = true
	}
	if n.Op == "Size" {
		out.dims, out.whole, out.sized = []int{}, []int64{int64(Shape(dims).Size())}, out.sized[:min(1, len(out.sized))]
	} else {
		ends := [2]int{int(n.Int("start", 0)), int(n.Int("end", int64(len(dims))))}
		for i, at := range ends {
			if at < 0 {
				at += len(dims)
			}
			ends[i] = min(max(at, 0), len(dims))
		}
		out = out.taken([]int{max(0, ends[1]-ends[0])}, func(index []int) int { return ends[0] + index[0] })
	}
	r.constants[n.Outputs[0]] = out
	return ""
}
