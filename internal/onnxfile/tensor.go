package onnxfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"github.com/x448/float16"
	"google.golang.org/protobuf/encoding/protowire"
)

// Type is the element type of a tensor (TensorProto.DataType).
type Type int32

// The types whose values can be read.
const (
	Float32  Type = 1
	Uint8    Type = 2
	Int8     Type = 3
	Uint16   Type = 4
	Int16    Type = 5
	Int32    Type = 6
	Int64    Type = 7
	String   Type = 8
	Bool     Type = 9
	Float16  Type = 10
	Float64  Type = 11
	Uint32   Type = 12
	Uint64   Type = 13
	BFloat16 Type = 16
	Uint4    Type = 21
	Int4     Type = 22
)

var typeNames = [...]string{"undefined", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string",
	"bool",
	"float16", "float64", "uint32", "uint64", "complex64", "complex128", "bfloat16",
	"float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4", "float4e2m1"}

func (t Type) String() string {
	if t >= 0 && int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type %d", int32(t))
}

// size is the number of bytes of a value in Raw, 0 where it is none or not a whole one.
func (t Type) size() int {
	switch t {
	case Uint8, Int8, Bool:
		return 1
	case Uint16, Int16, Float16, BFloat16:
		return 2
	case Float32, Int32, Uint32:
		return 4
	case Float64, Int64, Uint64:
		return 8
	}
	return 0
}

// Tensor is a constant array, row-major. Its values are in Raw, in Texts for strings, or in a
// file beside the model; in files of others also in lists by type. Float64s, Int64s and Strings
// read them wherever they are, and SetValues replaces them.
type Tensor struct {
	Name     string
	Type     Type
	Dims     []int64
	Raw      []byte     // little-endian; a decoded one shares the memory of the file
	Texts    []string   // of Type String
	External []Property // where the values are instead: location (the file), offset, length

	location int64  // elsewhere: External counts
	lists    []byte // fields of values by type, as they stand in the file
	kept
}

// SparseTensor is an array of which only the values that are not zero are given.
type SparseTensor struct {
	Values  Tensor
	Indices Tensor
	Dims    []int64

	kept
}

const (
	locationKey = "location"
	offsetKey   = "offset"
	lengthKey   = "length"
	elsewhere   = 1 // TensorProto.DataLocation
)

// Number is a Go type whose values a tensor can hold. Values of float16, bfloat16 and 4 bits are
// set by SetRaw.
type Number interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// NewTensor is a tensor with these values.
func NewTensor[T Number](name string, values []T, dims ...int64) Tensor {
	t := Tensor{Name: name, Dims: dims}
	SetValues(&t, values)
	return t
}

// SetValues replaces type and values, in the order that the dimensions say.
func SetValues[T Number](t *Tensor, values []T) {
	var zero T
	raw := make([]byte, 0, int(unsafe.Sizeof(zero))*len(values))
	for _, v := range values {
		switch v := any(v).(type) {
		case float32:
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
		case float64:
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
		case int8:
			raw = append(raw, uint8(v))
		case uint8:
			raw = append(raw, v)
		case int16:
			raw = binary.LittleEndian.AppendUint16(raw, uint16(v))
		case uint16:
			raw = binary.LittleEndian.AppendUint16(raw, v)
		case int32:
			raw = binary.LittleEndian.AppendUint32(raw, uint32(v))
		case uint32:
			raw = binary.LittleEndian.AppendUint32(raw, v)
		case int64:
			raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
		case uint64:
			raw = binary.LittleEndian.AppendUint64(raw, v)
		}
	}
	types := map[any]Type{float32(0): Float32, float64(0): Float64, int8(0): Int8, uint8(0): Uint8, int16(0): Int16,
		uint16(0): Uint16, int32(0): Int32, uint32(0): Uint32, int64(0): Int64, uint64(0): Uint64}
	t.SetRaw(types[any(zero)], raw)
}

// SetRaw replaces type and values by little-endian bytes, wherever the values were.
func (t *Tensor) SetRaw(kind Type, raw []byte) {
	t.Type, t.Raw = kind, raw
	t.Texts, t.lists, t.External, t.location = nil, nil, nil, 0
}

// SetExternal says that the values are in a file beside the model, from the first byte to the last.
func (t *Tensor) SetExternal(file string) {
	t.Raw, t.Texts, t.lists = nil, nil, nil
	t.External, t.location = []Property{{Key: locationKey, Value: file}}, elsewhere
}

// MoveOut moves the values of all but small constants of the graph to a file beside the model, and gives the bytes of
// the file, in parts. Runtimes read sides of tensors from small ones before they run.
func (g *Graph) MoveOut(file string) (parts [][]byte) {
	const small, aligned = 1024, 64
	at := 0
	for i := range g.Initializers {
		t := &g.Initializers[i]
		raw := t.Raw
		if len(raw) < small {
			continue
		}
		t.SetExternal(file)
		t.External = append(t.External, Property{Key: offsetKey, Value: strconv.Itoa(at)},
			Property{Key: lengthKey, Value: strconv.Itoa(len(raw))})
		gap := make([]byte, -len(raw)&(aligned-1))
		parts = append(parts, raw, gap)
		at += len(raw) + len(gap)
	}
	return parts
}

// Float32Tensor is a tensor with these values.
func Float32Tensor(name string, values []float32, dims ...int64) Tensor {
	return NewTensor(name, values, dims...)
}

// Int64Tensor is a vector with these values.
func Int64Tensor(name string, values ...int64) Tensor {
	return NewTensor(name, values, int64(len(values)))
}

// Len is the number of values that the dimensions say, 1 for a scalar, or an error where it is
// not a sensible one.
func (t *Tensor) Len() (int, error) {
	n := int64(1)
	for _, d := range t.Dims {
		if d < 0 || d > 0 && n > math.MaxInt32/d {
			return 0, fmt.Errorf("tensor %q has dimensions %v", t.Name, t.Dims)
		}
		n *= d
	}
	return int(n), nil
}

// Stored is the number of bytes that hold the values.
func (t *Tensor) Stored() int { return len(t.Raw) + len(t.lists) }

// room is space for as many values as there can be, of half a byte or more.
func room[T any](t *Tensor) []T {
	n, _ := t.Len()
	return make([]T, 0, min(n, 2*t.Stored()))
}

// values gives each value to one of two functions. What is in another file has to be loaded
// before, see Load.
func (t *Tensor) values(real func(float64), whole func(int64)) error {
	n, err := t.Len()
	if err != nil {
		return err
	}
	if t.location == elsewhere || t.source == nil && t.External != nil {
		return fmt.Errorf("the values of tensor %q are in another file and were not loaded", t.Name)
	}
	count := 0
	float := func(v float64) { real(v); count++ }
	integer := func(v int64) { whole(v); count++ }
	if t.Raw != nil || t.lists == nil {
		err = t.rawValues(n, float, integer)
	} else {
		err = t.listedValues(float, integer)
	}
	if err != nil {
		return err
	}
	if count != n {
		return fmt.Errorf("tensor %q of %v%v has %d values; expected %d", t.Name, t.Type, t.Dims, count, n)
	}
	return nil
}

func (t *Tensor) rawValues(n int, real func(float64), whole func(int64)) error {
	raw := t.Raw
	if t.Type == Uint4 || t.Type == Int4 { // two values in a byte, the lower half first
		for i := range n {
			if i/2 >= len(raw) {
				break
			}
			t.small(raw[i/2]>>(4*(i%2)), whole)
		}
		return nil
	}
	size := t.Type.size()
	if size == 0 || len(raw)%size != 0 {
		return fmt.Errorf("tensor %q of %v: %d bytes cannot be read as values", t.Name, t.Type, len(raw))
	}
	for ; len(raw) > 0; raw = raw[size:] {
		t.bits(load(raw[:size]), real, whole)
	}
	return nil
}

func load(b []byte) (v uint64) {
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	return v
}

// bits gives one value that is not of 4 bits.
func (t *Tensor) bits(v uint64, real func(float64), whole func(int64)) {
	switch t.Type {
	case Float32:
		real(float64(math.Float32frombits(uint32(v))))
	case Float64:
		real(math.Float64frombits(v))
	case Float16:
		real(float64(float16.Frombits(uint16(v)).Float32()))
	case BFloat16:
		real(float64(math.Float32frombits(uint32(v) << 16)))
	case Int8:
		whole(int64(int8(v)))
	case Int16:
		whole(int64(int16(v)))
	case Int32:
		whole(int64(int32(v)))
	default:
		whole(int64(v)) // unsigned ones above 2⁶³ wrap, see Int64s
	}
}

func (t *Tensor) small(v byte, whole func(int64)) {
	if v &= 15; t.Type == Int4 && v > 7 {
		whole(int64(v) - 16)
	} else {
		whole(int64(v))
	}
}

// listOf is the field with the values of a type.
func listOf(kind Type) protowire.Number {
	switch kind {
	case Float32:
		return 4
	case Float64:
		return 10
	case Int64:
		return 7
	case Uint32, Uint64:
		return 11
	}
	return 5
}

// listedValues reads the lists: floats, doubles and whole numbers of 32 and 64 bits; the types of
// fewer bits are in that of 32, one value in each, those of 4 bits two.
func (t *Tensor) listedValues(real func(float64), whole func(int64)) error {
	n, err := t.Len()
	if err != nil {
		return err
	}
	if t.Type.size() == 0 && t.Type != Int4 && t.Type != Uint4 {
		return fmt.Errorf("tensor %q of %v: its values cannot be read", t.Name, t.Type)
	}
	list := listOf(t.Type)
	return fields(t.lists, func(f field) error {
		if f.number != list {
			return fmt.Errorf("tensor %q of %v: its values are in field %d; expected %d", t.Name, t.Type, f.number,
				list)
		}
		switch f.number {
		case 4:
			var list []float32
			err := f.floats(&list)
			for _, v := range list {
				real(float64(v))
			}
			return err
		case 10:
			var list []float64
			err := f.doubles(&list)
			for _, v := range list {
				real(v)
			}
			return err
		}
		var list []int64
		if err := f.ints(&list); err != nil {
			return err
		}
		left := n
		for _, v := range list {
			if t.Type != Int4 && t.Type != Uint4 {
				t.bits(uint64(v), real, whole)
				continue
			}
			for half := 0; half < 2 && left > 0; half, left = half+1, left-1 {
				t.small(byte(v)>>(4*half), whole)
			}
		}
		return nil
	})
}

// Float64s are the values of a tensor of any type of number; booleans are 0 and 1. Whole numbers
// of more than 53 bits are rounded.
func (t *Tensor) Float64s() ([]float64, error) {
	values := room[float64](t)
	err := t.values(func(v float64) { values = append(values, v) }, func(v int64) {
		if t.Type == Uint64 {
			values = append(values, float64(uint64(v)))
			return
		}
		values = append(values, float64(v))
	})
	return values, err
}

// Int64s are the values of a tensor of whole numbers or booleans.
func (t *Tensor) Int64s() ([]int64, error) {
	values := room[int64](t)
	var bad error
	err := t.values(func(v float64) {
		bad = fmt.Errorf("tensor %q is of %v; expected whole numbers", t.Name, t.Type)
	}, func(v int64) {
		if t.Type == Uint64 && v < 0 {
			bad = fmt.Errorf("tensor %q: %d is too large", t.Name, uint64(v))
		}
		values = append(values, v)
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return nil, err
	}
	return values, nil
}
