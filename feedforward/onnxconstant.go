package feedforward

import (
	"fmt"
	"math"
	"slices"

	"github.com/x448/float16"

	"github.com/certspec/certspec/internal/onnxfile"
)

// constant is a value of a graph that does not depend on the input: an array of numbers of a type, with all its axes.
// Whole numbers and booleans are in whole, others in real, as float64 holds them.
type constant struct {
	kind  onnxfile.Type
	dims  []int
	whole []int64
	real  []float64
	sized []bool // values that depend on the number of images, which counts as 1; nil: none
}

// isReal says whether values of a type are read as real numbers.
func isReal(kind onnxfile.Type) bool {
	switch kind {
	case onnxfile.Float32, onnxfile.Float64, onnxfile.Float16, onnxfile.BFloat16:
		return true
	}
	return false
}

// ranges are the smallest and largest values of types of whole numbers; those of uint64 above 2⁶³ are not read.
var ranges = map[onnxfile.Type][2]int64{
	onnxfile.Bool: {0, 1}, onnxfile.Int8: {math.MinInt8, math.MaxInt8}, onnxfile.Int16: {math.MinInt16, math.MaxInt16},
	onnxfile.Int32: {math.MinInt32, math.MaxInt32}, onnxfile.Int64: {math.MinInt64, math.MaxInt64}, onnxfile.Uint8: {0,
		math.MaxUint8},
	onnxfile.Uint16: {0, math.MaxUint16}, onnxfile.Uint32: {0, math.MaxUint32}, onnxfile.Uint64: {0, math.MaxInt64},
}

// decode reads a tensor of a file.
func decode(t *onnxfile.Tensor) (*constant, string) {
	c := &constant{kind: t.Type, dims: make([]int, len(t.Dims))}
	for i, d := range t.Dims {
		c.dims[i] = int(d)
	}
	var err error
	if isReal(t.Type) {
		c.real, err = t.Float64s()
	} else if r, ok := ranges[t.Type]; ok {
		c.whole, err = t.Int64s()
		for _, v := range c.whole {
			if v < r[0] || v > r[1] {
				return nil, fmt.Sprintf("%d as a value of %v", v, t.Type)
			}
		}
	} else {
		return nil, fmt.Sprintf("a constant of type %v; whole numbers, booleans and numbers of 16 to 64 bits are read",
			t.Type)
	}
	if err != nil {
		return nil, err.Error()
	}
	return c, ""
}

// size is the number of values.
func (c *constant) size() int { return len(c.whole) + len(c.real) }

// reshaped is the same values with other axes.
func (c *constant) reshaped(dims []int) *constant {
	out := *c
	out.dims = dims
	return &out
}

// taken is the values of c at the places that from gives for each index of new dimensions.
func (c *constant) taken(dims []int, from func(index []int) int) *constant {
	out := &constant{kind: c.kind, dims: dims}
	if n := Shape(dims).Size(); isReal(c.kind) {
		out.real = make([]float64, 0, n)
		each(dims, func(index []int) { out.real = append(out.real, c.real[from(index)]) })
	} else {
		out.whole = make([]int64, 0, n)
		each(dims, func(index []int) { out.whole = append(out.whole, c.whole[from(index)]) })
	}
	if c.sized != nil {
		each(dims, func(index []int) { out.sized = append(out.sized, c.sized[from(index)]) })
	}
	return out
}

// spread is c with larger dimensions, by NumPy's rule; nil where it does not fit.
func (c *constant) spread(dims []int) *constant {
	if slices.Equal(c.dims, dims) {
		return c
	}
	steps, ok := spread(c.dims, dims)
	if !ok {
		return nil
	}
	return c.taken(dims, func(index []int) int { return dot(index, steps) })
}

// list are the values of a row of whole numbers.
func (c *constant) list() ([]int, string) {
	if isReal(c.kind) || len(c.dims) > 1 || c.kind == onnxfile.Bool {
		return nil, fmt.Sprintf("a constant of %v with dimensions %v; expected a row of whole numbers", c.kind, c.dims)
	}
	list := make([]int, len(c.whole))
	for i, v := range c.whole {
		list[i] = int(v)
	}
	return list, ""
}

// rounded is a real number in a type, or why engines may take another for it.
func rounded(v float64, kind onnxfile.Type) (float64, string) {
	out, least := v, 0x1p-1022
	switch kind {
	case onnxfile.Float32:
		out, least = float64(float32(v)), tiny
	case onnxfile.Float16:
		out, least = float64(float16.Fromfloat32(float32(v)).Float32()), 0
		if float64(float32(v)) != v { // two roundings
			return 0, fmt.Sprintf("%v to %v", v, kind)
		}
	case onnxfile.BFloat16:
		return 0, fmt.Sprintf("%v to %v, which engines round in different ways", v, kind)
	}
	if math.IsNaN(out) || math.IsInf(out, 0) || out == 0 && v != 0 && least > 0 || out != 0 && math.Abs(out) < least {
		return 0, fmt.Sprintf("%v to %v, which overflows or is subnormal", v, kind)
	}
	return out, ""
}

// cast is c in another type, as the operator Cast says: whole numbers of real ones by cutting off what is behind the
// point, booleans by comparing with 0, real ones rounded to the nearest. Where the text leaves a value open, there is
// a reason.
func (c *constant) cast(to onnxfile.Type) (*constant, string) {
	if c.kind == to {
		return c, ""
	}
	r, whole := ranges[to]
	if !whole && !isReal(to) {
		return nil, fmt.Sprintf("a constant of %v to %v", c.kind, to)
	}
	out := &constant{kind: to, dims: c.dims, sized: c.sized}
	for i := range c.size() {
		var v float64
		var n int64
		if isReal(c.kind) {
			v = c.real[i]
		} else {
			n, v = c.whole[i], float64(c.whole[i])
		}
		switch {
		case to == onnxfile.Bool:
			if math.IsNaN(v) {
				return nil, "NaN to a boolean"
			}
			n = 0
			if v != 0 {
				n = 1
			}
			out.whole = append(out.whole, n)
		case whole:
			if isReal(c.kind) {
				if v = math.Trunc(v); !(v >= -0x1p63 && v < 0x1p63) {
					return nil, fmt.Sprintf("%v to %v, which does not hold it", c.real[i], to)
				}
				n = int64(v)
			}
			if n < r[0] || n > r[1] {
				return nil, fmt.Sprintf("%d to %v, which does not hold it", n, to)
			}
			out.whole = append(out.whole, n)
		default:
			if !isReal(c.kind) && to != onnxfile.Float64 && int64(v) != n {
				return nil, fmt.Sprintf("%d to %v, by two roundings", n, to)
			}
			x, reason := rounded(v, to)
			if reason != "" {
				return nil, reason
			}
			out.real = append(out.real, x)
		}
	}
	return out, ""
}
