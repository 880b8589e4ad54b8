package graph

import (
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/array"
	"github.com/certspec/certspec/internal/onnxfile"
)

// folder evaluates operators on constants.
type folder struct {
	room func(dims []int) (reason string) // says why a constant of dimensions is too large, before it is made
}

// Fold evaluates a node whose inputs are all constant, nil where one is left out.
func Fold(n *onnxfile.Node, in []*Constant, room func(dims []int) (reason string)) (c *Constant, reason string) {
	f := &folder{room}
	switch n.Op {
	case "Constant":
		return ofAttribute(n)
	case "ConstantOfShape":
		return f.filled(n, in)
	case "Range":
		return f.counted(in)
	case "Identity", "Dropout":
		return in[0], ""
	case "Cast":
		return f.converted(n, in)
	case "Reshape", "Flatten", "Squeeze", "Unsqueeze":
		return reshape(n, in)
	case "Transpose":
		return f.transposed(n, in)
	case "Expand":
		return f.expanded(in)
	case "Slice":
		return f.sliced(n, in)
	case "Gather":
		return f.gathered(n, in)
	case "GatherND":
		return f.gatheredAt(n, in)
	case "Concat":
		return f.joined(n, in)
	case "Where":
		return f.chosen(in)
	}
	if _, ok := arithmetics[n.Op]; ok {
		return f.elementwise(n, in)
	}
	return nil, "its inputs are constant, and constants of this operator are not read"
}

// listsOf are the lists of integers of a node on constants.
func listsOf(n *onnxfile.Node, in []*Constant) Lists {
	return func(input int, attribute string) ([]int, string) {
		if input >= len(in) || in[input] == nil {
			return Ints(n.Ints(attribute)), ""
		}
		values, reason := in[input].List()
		if reason != "" {
			return nil, fmt.Sprintf("input %d: %s", input, reason)
		}
		return values, ""
	}
}

// ofAttribute is the value of a Constant.
func ofAttribute(n *onnxfile.Node) (*Constant, string) {
	if len(n.Attributes) != 1 {
		return nil, fmt.Sprintf("%d attributes, want one value", len(n.Attributes))
	}
	switch a := n.Attributes[0]; a.Name {
	case "value":
		return Decode(a.Tensor)
	case "value_int":
		return &Constant{Kind: onnxfile.Int64, Dims: []int{}, Whole: []int64{a.Int}}, ""
	case "value_ints":
		return &Constant{Kind: onnxfile.Int64, Dims: []int{len(a.Ints)}, Whole: a.Ints}, ""
	case "value_float":
		return &Constant{Kind: onnxfile.Float32, Dims: []int{}, Real: []float64{float64(a.Float)}}, ""
	default: // value_floats
		c := &Constant{Kind: onnxfile.Float32, Dims: []int{len(a.Floats)}}
		for _, v := range a.Floats {
			c.Real = append(c.Real, float64(v))
		}
		return c, ""
	}
}

func (f *folder) filled(n *onnxfile.Node, in []*Constant) (*Constant, string) {
	dims, reason := in[0].List()
	if reason != "" {
		return nil, reason
	}
	value := &Constant{Kind: onnxfile.Float32, Dims: []int{1}, Real: []float64{0}}
	if a := n.Attribute("value"); a != nil {
		if value, reason = Decode(a.Tensor); reason != "" {
			return nil, reason
		}
	}
	if value.Size() != 1 {
		return nil, fmt.Sprintf("%d values to fill with, want one", value.Size())
	}
	if reason := f.room(dims); reason != "" {
		return nil, reason
	}
	out := value.Taken(dims, func([]int) int { return 0 })
	if in[0].Sized != nil { // there may be more of them
		out.Sized = slices.Repeat([]bool{true}, out.Size())
	}
	return out, ""
}

func (f *folder) counted(in []*Constant) (*Constant, string) {
	var v [3]int64 // start, limit, step
	for i, c := range in {
		if c.Sized != nil {
			return nil, "a range that depends on the number of images"
		}
		if isReal(c.Kind) || c.Size() != 1 || c.Kind != in[0].Kind || max(c.Whole[0], -c.Whole[0]) > array.MostValues {
			return nil, "a range that is not of three whole numbers"
		}
		v[i] = c.Whole[0]
	}
	if v[2] == 0 {
		return nil, "a step of 0"
	}
	count := max(0, int(math.Ceil(float64(v[1]-v[0])/float64(v[2]))))
	if reason := f.room([]int{count}); reason != "" {
		return nil, reason
	}
	out := &Constant{Kind: in[0].Kind, Dims: []int{count}}
	for i := range count {
		out.Whole = append(out.Whole, v[0]+int64(i)*v[2])
	}
	return out, ""
}

func (f *folder) converted(n *onnxfile.Node, in []*Constant) (*Constant, string) {
	to := onnxfile.Type(n.Int("to", 0))
	if isReal(to) && to != in[0].Kind {
		if reason := f.room(in[0].Dims); reason != "" {
			return nil, reason
		}
	}
	return in[0].cast(to)
}

func reshape(n *onnxfile.Node, in []*Constant) (*Constant, string) {
	dims, reason := NewDims(n, in[0].Dims, listsOf(n, in))
	if reason != "" {
		return nil, reason
	}
	return in[0].Reshaped(dims), ""
}

func (f *folder) transposed(n *onnxfile.Node, in []*Constant) (*Constant, string) {
	order, reason := Permutation(n, len(in[0].Dims))
	if reason != "" {
		return nil, reason
	}
	if reason := f.room(in[0].Dims); reason != "" {
		return nil, reason
	}
	dims, steps := make([]int, len(order)), make([]int, len(order))
	for i, o := range order {
		dims[i], steps[i] = in[0].Dims[o], array.Strides(in[0].Dims)[o]
	}
	return in[0].Taken(dims, func(index []int) int { return array.At(index, steps) }), ""
}

func (f *folder) expanded(in []*Constant) (*Constant, string) {
	to, reason := in[1].List()
	if reason != "" {
		return nil, reason
	}
	dims, ok := array.Broadcast(in[0].Dims, to)
	if !ok {
		return nil, fmt.Sprintf("dimensions %v to %v", in[0].Dims, to)
	}
	if reason := f.room(dims); reason != "" {
		return nil, reason
	}
	out := in[0].Spread(dims)
	if in[1].Sized != nil { // there may be more of them
		out = out.Reshaped(dims)
		out.Sized = slices.Repeat([]bool{true}, out.Size())
	}
	return out, ""
}

// slice is the places along an axis that Slice takes: first, first + step, ...
type slice struct{ first, step, count int }

// slicesOf are those along all axes, by the inputs of the operator, or the attributes of its first version.
func slicesOf(n *onnxfile.Node, dims []int, list Lists) ([]slice, string) {
	var lists [4][]int // starts, ends, axes, steps
	for i, name := range []string{"starts", "ends", "axes", "steps"} {
		var reason string
		if lists[i], reason = list(i+1, name); reason != "" {
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
		axis, ok := Axis(axes[i], len(dims))
		if !ok || seen[axis] || steps[i] == 0 || max(steps[i], -steps[i]) > array.MostValues {
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

func (f *folder) sliced(n *onnxfile.Node, in []*Constant) (*Constant, string) {
	pieces, reason := slicesOf(n, in[0].Dims, listsOf(n, in))
	if reason != "" {
		return nil, reason
	}
	dims := make([]int, len(pieces))
	for i, s := range pieces {
		dims[i] = s.count
	}
	if reason := f.room(dims); reason != "" {
		return nil, reason
	}
	strides := array.Strides(in[0].Dims)
	return in[0].Taken(dims, func(index []int) (at int) {
		for i, s := range pieces {
			at += (s.first + index[i]*s.step) * strides[i]
		}
		return at
	}), ""
}

func (f *folder) gathered(n *onnxfile.Node, in []*Constant) (*Constant, string) {
	from, which := in[0].Dims, in[1]
	axis, ok := Axis(int(n.Int("axis", 0)), len(from))
	if !ok {
		return nil, fmt.Sprintf("along axis %d of dimensions %v", n.Int("axis", 0), from)
	}
	if which.Kind != onnxfile.Int32 && which.Kind != onnxfile.Int64 {
		return nil, fmt.Sprintf("places of type %v", which.Kind)
	}
	places := make([]int, which.Size())
	for i, p := range which.Whole {
		if p < 0 {
			p += int64(from[axis])
		}
		if p < 0 || p >= int64(from[axis]) {
			return nil, fmt.Sprintf("place %d of %d", which.Whole[i], from[axis])
		}
		places[i] = int(p)
	}
	dims := slices.Concat(from[:axis], which.Dims, from[axis+1:])
	if reason := f.room(dims); reason != "" {
		return nil, reason
	}
	behind := array.Size(from[axis+1:])
	strides := array.Strides(dims)
	return in[0].Taken(dims, func(index []int) int {
		at := array.At(index, strides) // in blocks of places, each of so many values
		block := at / behind
		return (block/len(places)*from[axis]+places[block%len(places)])*behind + at%behind
	}), ""
}

// gatheredAt is GatherND: the last axis of the places holds indices of the first axes.
func (f *folder) gatheredAt(n *onnxfile.Node, in []*Constant) (*Constant, string) {
	from, which := in[0].Dims, in[1]
	last := len(which.Dims) - 1
	if n.Int("batch_dims", 0) != 0 || which.Kind != onnxfile.Int64 || last < 0 || which.Dims[last] > len(from) ||
		which.Dims[last] < 1 {
		return nil, fmt.Sprintf("places of %v%v with batch_dims %d in dimensions %v", which.Kind, which.Dims,
			n.Int("batch_dims", 0), from)
	}
	axes := which.Dims[last]
	block, places := array.Size(from[axes:]), make([]int, which.Size()/axes)
	for i, p := range which.Whole {
		d := from[i%axes]
		if p < 0 {
			p += int64(d)
		}
		if p < 0 || p >= int64(d) {
			return nil, fmt.Sprintf("place %d of %d", which.Whole[i], d)
		}
		places[i/axes] = places[i/axes]*d + int(p)
	}
	dims := slices.Concat(which.Dims[:last], from[axes:])
	if reason := f.room(dims); reason != "" {
		return nil, reason
	}
	strides := array.Strides(dims)
	return in[0].Taken(dims, func(index []int) int {
		at := array.At(index, strides)
		return places[at/block]*block + at%block
	}), ""
}

// Parts are the axis along which Split takes values of dimensions apart, and the sizes of its results.
func Parts(n *onnxfile.Node, dims []int, list Lists) (axis int, sizes []int, reason string) {
	axis, ok := Axis(int(n.Int("axis", 0)), len(dims))
	if !ok {
		return 0, nil, fmt.Sprintf("along axis %d of dimensions %v", n.Int("axis", 0), dims)
	}
	sizes, reason = list(1, "split")
	if count := len(n.Outputs); reason == "" && sizes == nil {
		left, size := dims[axis], (dims[axis]+count-1)/count
		for range n.Outputs {
			sizes = append(sizes, min(size, left))
			left -= min(size, left)
		}
		if n.Attribute("num_outputs") == nil && dims[axis]%count != 0 || n.Int("num_outputs", int64(count)) != int64(count) {
			reason = fmt.Sprintf("%d values in %d results", dims[axis], count)
		}
	}
	sum := 0
	for _, size := range sizes {
		sum += size
	}
	if reason == "" && (len(sizes) != len(n.Outputs) || sum != dims[axis] || slices.Min(sizes) < 1) {
		reason = fmt.Sprintf("parts of %v of dimensions %v along axis %d in %d results", sizes, dims, axis, len(n.Outputs))
	}
	return axis, sizes, reason
}

func (f *folder) joined(n *onnxfile.Node, in []*Constant) (*Constant, string) {
	axis, ok := Axis(int(n.Int("axis", 0)), len(in[0].Dims))
	if !ok {
		return nil, fmt.Sprintf("along axis %d of dimensions %v", n.Int("axis", 0), in[0].Dims)
	}
	dims := slices.Clone(in[0].Dims)
	dims[axis] = 0
	for _, c := range in {
		other := slices.Clone(c.Dims)
		if len(other) == len(dims) {
			other[axis] = dims[axis]
		}
		if !slices.Equal(other, dims) || c.Kind != in[0].Kind {
			return nil, fmt.Sprintf("%v of dimensions %v behind %v of %v", c.Kind, c.Dims, in[0].Kind, in[0].Dims)
		}
		dims[axis] += c.Dims[axis]
	}
	if reason := f.room(dims); reason != "" {
		return nil, reason
	}
	out := &Constant{Kind: in[0].Kind, Dims: dims}
	sized := slices.ContainsFunc(in, func(c *Constant) bool { return c.Sized != nil })
	for block := range array.Size(dims[:axis]) {
		for _, c := range in {
			size := array.Size(c.Dims[axis:])
			from, to := block*size, (block+1)*size
			switch {
			case c.Sized != nil:
				out.Sized = append(out.Sized, c.Sized[from:to]...)
			case sized:
				out.Sized = append(out.Sized, make([]bool, size)...)
			}
			if isReal(out.Kind) {
				out.Real = append(out.Real, c.Real[from:to]...)
			} else {
				out.Whole = append(out.Whole, c.Whole[from:to]...)
			}
		}
	}
	return out, ""
}

// together gives constants the dimensions that they have together by NumPy's rule.
func (f *folder) together(in []*Constant) ([]*Constant, []int, string) {
	dims, ok := in[0].Dims, true
	for _, c := range in[1:] {
		if dims, ok = array.Broadcast(dims, c.Dims); !ok {
			return nil, nil, fmt.Sprintf("dimensions %v with %v", in[0].Dims, c.Dims)
		}
	}
	out := make([]*Constant, len(in))
	for i, c := range in {
		if reason := f.room(dims); reason != "" {
			return nil, nil, reason
		}
		out[i] = c.Spread(dims)
	}
	return out, dims, ""
}

func (f *folder) chosen(in []*Constant) (*Constant, string) {
	if in[0].Kind != onnxfile.Bool || in[1].Kind != in[2].Kind {
		return nil, fmt.Sprintf("a condition of %v, values of %v and %v", in[0].Kind, in[1].Kind, in[2].Kind)
	}
	all, dims, reason := f.together(in)
	if reason != "" {
		return nil, reason
	}
	out := &Constant{Kind: in[1].Kind, Dims: dims, Sized: either(all...)}
	for i, yes := range all[0].Whole {
		from := all[2]
		if yes != 0 {
			from = all[1]
		}
		if isReal(out.Kind) {
			out.Real = append(out.Real, from.Real[i])
		} else {
			out.Whole = append(out.Whole, from.Whole[i])
		}
	}
	return out, ""
}

// either says which values of constants of the same dimensions depend on the number of images.
func either(all ...*Constant) (sized []bool) {
	for _, c := range all {
		if c.Sized != nil && sized == nil {
			sized = make([]bool, c.Size())
		}
		for i, is := range c.Sized {
			sized[i] = sized[i] || is
		}
	}
	return sized
}
