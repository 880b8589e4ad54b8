// Package graph reads what an ONNX graph says beside its layers: the form of operators, dimensions, and constants with
// the arithmetic on them that exporters write.
package graph

import (
	"fmt"
	"math"
	"slices"

	"github.com/x448/float16"

	"github.com/certspec/certspec/internal/feedforward/array"
	"github.com/certspec/certspec/internal/onnxfile"
)

// Constant is a value of a graph that does not depend on the input: an array of numbers of a type, with all its axes.
// Whole numbers and booleans are in Whole, others in Real, as float64 holds them.
type Constant struct {
	Kind  onnxfile.Type
	Dims  []int
	Whole []int64
	Real  []float64
	Sized []bool // values that depend on the number of images, which counts as 1; nil: none
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

// Decode reads a tensor of a file.
func Decode(t *onnxfile.Tensor) (*Constant, string) {
	c := &Constant{Kind: t.Type, Dims: make([]int, len(t.Dims))}
	for i, d := range t.Dims {
		c.Dims[i] = int(d)
	}
	var err error
	if isReal(t.Type) {
		c.Real, err = t.Float64s()
	} else if r, ok := ranges[t.Type]; ok {
		c.Whole, err = t.Int64s()
		for _, v := range c.Whole {
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

// Size is the number of values.
func (c *Constant) Size() int { return len(c.Whole) + len(c.Real) }

// Reshaped is the same values with other axes.
func (c *Constant) Reshaped(dims []int) *Constant {
	out := *c
	out.Dims = dims
	return &out
}

// Taken is the values of c at the places that from gives for each index of new dimensions.
func (c *Constant) Taken(dims []int, from func(index []int) int) *Constant {
	out := &Constant{Kind: c.Kind, Dims: dims}
	if n := array.Size(dims); isReal(c.Kind) {
		out.Real = make([]float64, 0, n)
		array.Each(dims, func(index []int) { out.Real = append(out.Real, c.Real[from(index)]) })
	} else {
		out.Whole = make([]int64, 0, n)
		array.Each(dims, func(index []int) { out.Whole = append(out.Whole, c.Whole[from(index)]) })
	}
	if c.Sized != nil {
		array.Each(dims, func(index []int) { out.Sized = append(out.Sized, c.Sized[from(index)]) })
	}
	return out
}

// Spread is c with larger dimensions, by NumPy's rule; nil where it does not fit.
func (c *Constant) Spread(dims []int) *Constant {
	if slices.Equal(c.Dims, dims) {
		return c
	}
	steps, ok := array.Steps(c.Dims, dims)
	if !ok {
		return nil
	}
	return c.Taken(dims, func(index []int) int { return array.At(index, steps) })
}

// List are the values of a row of whole numbers.
func (c *Constant) List() ([]int, string) {
	if isReal(c.Kind) || len(c.Dims) > 1 || c.Kind == onnxfile.Bool {
		return nil, fmt.Sprintf("a constant of %v with dimensions %v; expected a row of whole numbers", c.Kind, c.Dims)
	}
	list := make([]int, len(c.Whole))
	for i, v := range c.Whole {
		list[i] = int(v)
	}
	return list, ""
}

// rounded is a real number in a type, or why engines may take another for it.
func rounded(v float64, kind onnxfile.Type) (float64, string) {
	out, least := v, 0x1p-1022
	switch kind {
	case onnxfile.Float32:
		out, least = float64(float32(v)), 0x1p-126
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
func (c *Constant) cast(to onnxfile.Type) (*Constant, string) {
	if c.Kind == to {
		return c, ""
	}
	r, whole := ranges[to]
	if !whole && !isReal(to) {
		return nil, fmt.Sprintf("a constant of %v to %v", c.Kind, to)
	}
	out := &Constant{Kind: to, Dims: c.Dims, Sized: c.Sized}
	for i := range c.Size() {
		var v float64
		var n int64
		if isReal(c.Kind) {
			v = c.Real[i]
		} else {
			n, v = c.Whole[i], float64(c.Whole[i])
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
			out.Whole = append(out.Whole, n)
		case whole:
			if isReal(c.Kind) {
				if v = math.Trunc(v); !(v >= -0x1p63 && v < 0x1p63) {
					return nil, fmt.Sprintf("%v to %v, which does not hold it", c.Real[i], to)
				}
				n = int64(v)
			}
			if n < r[0] || n > r[1] {
				return nil, fmt.Sprintf("%d to %v, which does not hold it", n, to)
			}
			out.Whole = append(out.Whole, n)
		default:
			if !isReal(c.Kind) && to != onnxfile.Float64 && int64(v) != n {
				return nil, fmt.Sprintf("%d to %v, by two roundings", n, to)
			}
			x, reason := rounded(v, to)
			if reason != "" {
				return nil, reason
			}
			out.Real = append(out.Real, x)
		}
	}
	return out, ""
}
