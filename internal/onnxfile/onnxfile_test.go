package onnxfile

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

func example() *Model {
	return &Model{
		IRVersion: IRVersion, Producer: "p", ProducerVersion: "1", Opsets: []OperatorSet{{Version: Opset}, {"my.domain", 2}},
		Graph: Graph{
			Name: "g",
			Nodes: []Node{{
				Op: "Conv", Name: "n", Domain: "d", Inputs: []string{"x", "", "w"}, Outputs: []string{"y"},
				Attributes: []Attribute{
					{Name: "pads", Kind: KindInts, Ints: []int64{0, 1, -1}},
					{Name: "axis", Kind: KindInt, Int: -1},
					{Name: "epsilon", Kind: KindFloat, Float: 1e-5},
					{Name: "value", Kind: KindTensor, Tensor: &Tensor{Type: Uint8, Dims: []int64{1}, Raw: []byte{7}}},
				},
			}},
			Initializers: []Tensor{
				Float32Tensor("w", []float32{1, -2}, 2, 1),
				Int64Tensor("i", 3, -4),
				{Name: "far", Type: Float32, Dims: []int64{5}, External: "weights.bin"},
			},
			Inputs:  []Value{{Name: "x", Type: Float16, Dims: []Dim{{Name: "batch"}, {Size: 3}, {}}}},
			Outputs: []Value{{Name: "y", Type: Float32, Dims: []Dim{{Size: 1}}}},
		},
		Metadata: []Property{{"k", "v"}},
	}
}

func TestRoundTrip(t *testing.T) {
	want := example()
	got, err := Decode(Encode(want))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nexpected\n%+v", got, want)
	}
}

// The bytes of a small file, field by field after onnx.proto3: ir_version = 1, graph = 7
// with node = 1, name = 2, and of the node input = 1, output = 2, op_type = 4.
func TestBytes(t *testing.T) {
	m := &Model{IRVersion: 8, Opsets: []OperatorSet{{Version: 17}}, Graph: Graph{
		Name: "g", Nodes: []Node{{Op: "Relu", Inputs: []string{"x"}, Outputs: []string{"y"}}},
	}}
	want := "\x08\x08" + // ir_version 8
		"\x3a\x11" + // graph, 17 bytes
		"\x0a\x0c" + "\x0a\x01x" + "\x12\x01y" + "\x22\x04Relu" + // node, 12 bytes
		"\x12\x01g" + // name
		"\x42\x02\x10\x11" // opset_import, version 17
	if got := Encode(m); string(got) != want {
		t.Errorf("got %x\nexpected %x", got, want)
	}
}

func TestDecodeErrors(t *testing.T) {
	good := Encode(example())
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":      {nil, "the file is empty"},
		"text":       {[]byte("hello, world\n"), "not an ONNX file"},
		"JSON":       {[]byte("{}"), "not an ONNX file"},
		"cut":        {good[:len(good)/2], "truncated"},
		"two graphs": {append(bytes.Clone(good), "\x3a\x00"...), "2 graphs; expected 1"},
		"no graph":   {[]byte("\x08\x08"), "0 graphs; expected 1"},
		"wire type":  {[]byte("\x08\x08\x38\x01"), "field 7 has wire type 0"},
	} {
		if _, err := Decode(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; expected an error with %q", name, err, c.want)
		}
	}
}

// FuzzDecode: whatever the bytes, Decode ends, and what it could read it reads again from
// what Encode makes of it.
func FuzzDecode(f *testing.F) {
	f.Add(Encode(example()))
	f.Add([]byte("\x08\x08\x3a\x00"))
	f.Add([]byte("\x08\x08\x3a\x11\x0a\x0c\x0a\x01x\x12\x01y\x22\x04Relu\x12\x01g\x42\x02\x10\x11"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Decode(data)
		if err != nil {
			return
		}
		for _, n := range m.Graph.Nodes {
			for _, a := range n.Attributes {
				if known := a.Kind == KindFloat || a.Kind == KindInt || a.Kind == KindInts || a.Kind == KindTensor && a.Tensor != nil; !known {
					return // Encode writes no such attribute
				}
			}
		}
		first := Encode(m)
		again, err := Decode(first)
		if err != nil {
			t.Fatal(err)
		}
		if second := Encode(again); !bytes.Equal(first, second) {
			t.Errorf("encoded %x, then %x", first, second)
		}
	})
}
