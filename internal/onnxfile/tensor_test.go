package onnxfile

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/certspec/certspec/internal/testkit"
)

// list is a tensor with its values in a list of the file, as others write it.
func list(t *testing.T, kind Type, field protowire.Number, packed []byte, dims ...int64) *Tensor {
	t.Helper()
	var b message
	for _, d := range dims {
		b.always(1, d)
	}
	b.number(2, int64(kind))
	b.bytes(field, packed)
	b.text(8, "t")
	var tensor Tensor
	if err := (&decoder{}).read(&tensor, b); err != nil {
		t.Fatal(err)
	}
	return &tensor
}

func varints(values ...int64) (b []byte) {
	for _, v := range values {
		b = protowire.AppendVarint(b, uint64(v))
	}
	return b
}

// Every type, by its definition in onnx.proto3: little-endian in raw_data, or in the list that
// is named there.
func TestValues(t *testing.T) {
	one := func(tensor Tensor) *Tensor { return &tensor }
	for name, c := range map[string]struct {
		tensor *Tensor
		want   []float64
	}{
		"float32":        {one(Float32Tensor("", []float32{1.5, -2}, 2)), []float64{1.5, -2}},
		"float64":        {one(NewTensor("", []float64{1e300, -2}, 1, 2)), []float64{1e300, -2}},
		"int8":           {one(NewTensor("", []int8{-128, 127}, 2)), []float64{-128, 127}},
		"uint8":          {one(NewTensor("", []uint8{0, 255}, 2)), []float64{0, 255}},
		"int16":          {one(NewTensor("", []int16{-32768}, 1)), []float64{-32768}},
		"uint16":         {one(NewTensor("", []uint16{65535})), []float64{65535}},
		"int32":          {one(NewTensor("", []int32{-1 << 31}, 1)), []float64{-1 << 31}},
		"uint32":         {one(NewTensor("", []uint32{1<<32 - 1}, 1)), []float64{1<<32 - 1}},
		"int64":          {one(NewTensor("", []int64{-1 << 63}, 1)), []float64{-1 << 63}},
		"uint64":         {one(NewTensor("", []uint64{1 << 63}, 1)), []float64{1 << 63}},
		"float16":        {&Tensor{Type: Float16, Dims: []int64{2}, Raw: []byte{0x00, 0x3c, 0x00, 0xc0}}, []float64{1, -2}},
		"bfloat16":       {&Tensor{Type: BFloat16, Dims: []int64{2}, Raw: []byte{0x80, 0x3f, 0x00, 0xc0}}, []float64{1, -2}},
		"bool":           {&Tensor{Type: Bool, Dims: []int64{3}, Raw: []byte{1, 0, 1}}, []float64{1, 0, 1}},
		"uint4":          {&Tensor{Type: Uint4, Dims: []int64{3}, Raw: []byte{0xf1, 0x02}}, []float64{1, 15, 2}},
		"int4":           {&Tensor{Type: Int4, Dims: []int64{3}, Raw: []byte{0xf1, 0x08}}, []float64{1, -1, -8}},
		"none":           {one(Float32Tensor("", nil, 0)), nil},
		"list float32":   {list(t, Float32, 4, []byte{0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0}, 2), []float64{1.5, -2}},
		"list float64":   {list(t, Float64, 10, []byte{0, 0, 0, 0, 0, 0, 0, 0xc0}, 1), []float64{-2}},
		"list int64":     {list(t, Int64, 7, varints(-3, 4), 2), []float64{-3, 4}},
		"list int32":     {list(t, Int32, 5, varints(-3, 4), 2), []float64{-3, 4}},
		"list int8":      {list(t, Int8, 5, varints(-3, 4), 2), []float64{-3, 4}},
		"list uint8":     {list(t, Uint8, 5, varints(250, 4), 2), []float64{250, 4}},
		"list bool":      {list(t, Bool, 5, varints(1, 0), 2), []float64{1, 0}},
		"list float16":   {list(t, Float16, 5, varints(0x3c00, 0xc000), 2), []float64{1, -2}},
		"list bfloat16":  {list(t, BFloat16, 5, varints(0x3f80), 1), []float64{1}},
		"list uint32":    {list(t, Uint32, 11, varints(1<<32-1), 1), []float64{1<<32 - 1}},
		"list uint64":    {list(t, Uint64, 11, varints(-1<<63), 1), []float64{1 << 63}},
		"list int4":      {list(t, Int4, 5, varints(0xf1, 0x08), 3), []float64{1, -1, -8}},
		"list of a zero": {list(t, Float32, 4, []byte{0, 0, 0, 0}), []float64{0}},
	} {
		got, err := c.tensor.Float64s()
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; expected %v", name, got, err, c.want)
		}
	}
	if got, err := list(t, Int64, 7, varints(-3, 4), 2).Int64s(); err != nil || !slices.Equal(got, []int64{-3, 4}) {
		t.Errorf("whole numbers: %v, %v", got, err)
	}

	for want, tensor := range map[string]*Tensor{
		"has 1 values; expected 2":            one(Float32Tensor("", []float32{1}, 2)),
		"3 bytes cannot be read":              {Type: Float32, Dims: []int64{1}, Raw: make([]byte, 3)},
		"dimensions [-1]":                     {Type: Float32, Dims: []int64{-1}},
		"dimensions [4294967296 4294967296]":  {Type: Float32, Dims: []int64{1 << 32, 1 << 32}},
		"complex64: 8 bytes cannot be read":   {Type: 14, Dims: []int64{1}, Raw: make([]byte, 8)},
		"in another file and were not loaded": {Type: Float32, Dims: []int64{1}, External: []Property{{Key: "location", Value: "w"}}},
		"float8e4m3fn: its values cannot":     list(t, 17, 5, varints(1), 1),
		"its values are in field 10":          list(t, Float32, 10, make([]byte, 8), 1),
	} {
		if _, err := tensor.Float64s(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected an error with %q", err, want)
		}
	}
	if _, err := one(Float32Tensor("w", []float32{1}, 1)).Int64s(); err == nil || !strings.Contains(err.Error(), "expected whole numbers") {
		t.Errorf("float32 as whole numbers: %v", err)
	}
}

// New values take the place of a list, and of a file.
func TestSetValues(t *testing.T) {
	far := Tensor{Name: "w", Dims: []int64{2}}
	far.SetExternal("w.bin")
	for name, tensor := range map[string]*Tensor{"list": list(t, Int64, 7, varints(-3, 4), 2), "file": &far, "strings": {Dims: []int64{2}, Texts: []string{"a", "b"}}} {
		SetValues(tensor, []float32{5, 6})
		var again Tensor
		if err := (&decoder{}).read(&again, write(tensor)); err != nil {
			t.Fatal(err)
		}
		if got, err := again.Float64s(); err != nil || !slices.Equal(got, []float64{5, 6}) || again.External != nil || again.Type != Float32 {
			t.Errorf("%s: %v, %v, %+v", name, got, err, again)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	testkit.Write(t, []byte("\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x00\x40"), dir, "w.bin")
	far := func(dims int64, about ...string) *Model {
		tensor := Tensor{Name: "w", Type: Float32, Dims: []int64{dims}}
		tensor.SetExternal("w.bin")
		for i := 0; i+1 < len(about); i += 2 {
			tensor.External = append(tensor.External, Property{Key: about[i], Value: about[i+1]})
		}
		m, err := Decode(Encode(&Model{IRVersion: 8, Graph: Graph{Nodes: []Node{{Op: "Constant", Attributes: []Attribute{TensorAttribute("value", tensor)}}}}}))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, c := range []struct {
		m    *Model
		want []float64
	}{
		{far(3), []float64{0, 1, 2}},
		{far(2, "offset", "4"), []float64{1, 2}},
		{far(1, "offset", "4", "length", "4"), []float64{1}},
	} {
		if err := c.m.Load(dir); err != nil {
			t.Fatal(err)
		}
		m, err := Decode(Encode(c.m))
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Graph.Nodes[0].Attribute("value").Tensor.Float64s()
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v, %v; expected %v", got, err, c.want)
		}
	}
	for want, m := range map[string]*Model{
		"12 bytes of w.bin for float32[2]; expected 8": far(2),
		"bytes 8 to 16 of w.bin, which has 12":         far(2, "offset", "8", "length", "8"),
		`offset "-1"; expected a number`:               far(1, "offset", "-1"),
		`"../w.bin"; expected a file beside`:           far(1, "location", "../w.bin"),
		"no such file":                                 far(1, "location", "v.bin"),
	} {
		if err := m.Load(dir); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"w"`) {
			t.Errorf("%v; expected an error with %q", err, want)
		}
	}
}
