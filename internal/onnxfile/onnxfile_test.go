package onnxfile

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

func example() *Model {
	body := Graph{Name: "then", Nodes: []Node{{Op: "Identity", Inputs: []string{"far"}, Outputs: []string{"z"}}}, Initializers: []Tensor{Int64Tensor("c", 8)}}
	sparse := SparseTensor{Values: Float32Tensor("v", []float32{3}, 1), Indices: Int64Tensor("", 2), Dims: []int64{4}}
	return &Model{
		IRVersion: IRVersion, Producer: "p", ProducerVersion: "1", Opsets: []OperatorSet{{Version: Opset}, {Domain: "my.domain", Version: 2}},
		Graph: Graph{
			Name: "g",
			Nodes: []Node{{
				Op: "Conv", Name: "n", Domain: "d", Inputs: []string{"x", "", "w"}, Outputs: []string{"y"},
				Attributes: []Attribute{
					IntsAttribute("pads", 0, 1, -1),
					IntAttribute("axis", -1),
					IntAttribute("zero", 0),
					FloatAttribute("epsilon", 1e-5),
					TextAttribute("auto_pad", "SAME_UPPER"),
					TextAttribute("empty", ""),
					TensorAttribute("value", Tensor{Type: Uint8, Dims: []int64{1}, Raw: []byte{7}}),
					FloatsAttribute("slopes", 1, float32(math.Copysign(0, -1)), float32(math.NaN())),
					{Name: "words", Kind: KindStrings, Texts: []string{"a", "", "\xff"}},
					{Name: "then_branch", Kind: KindGraph, Graph: &body},
					{Name: "bodies", Kind: KindGraphs, Graphs: []Graph{body}},
					{Name: "tensors", Kind: KindTensors, Tensors: []Tensor{Int64Tensor("t", 1, 2)}},
					{Name: "sparse_value", Kind: KindSparseTensor, Sparse: &sparse},
					{Name: "sparse_values", Kind: KindSparseTensors, Sparses: []SparseTensor{sparse}},
					{Name: "group", Kind: KindInt, Reference: "g"},
				},
			}},
			Initializers: []Tensor{
				Float32Tensor("w", []float32{1, -2}, 2, 1),
				Int64Tensor("i", 3, -4),
				{Name: "far", Type: Float32, Dims: []int64{5}, External: []Property{{Key: "location", Value: "weights.bin"}, {Key: "offset", Value: "8"}}},
				{Name: "names", Type: String, Dims: []int64{2}, Texts: []string{"cat", "dog"}},
			},
			Sparse:  []SparseTensor{sparse},
			Inputs:  []Value{{Name: "x", Type: Float16, Dims: []Dim{{Name: "batch"}, {Size: 3}, {}}}},
			Outputs: []Value{{Name: "y", Type: Float32, Dims: []Dim{{Size: 1}}}},
			Values:  []Value{{Name: "z", Type: Float32, Dims: []Dim{{Size: 2}}}},
		},
		Metadata: []Property{{Key: "k", Value: "v"}},
		Training: []Training{{Initialization: &Graph{Name: "start"}, Algorithm: &Graph{Name: "step"}}},
		Functions: []Function{{
			Domain: "my.domain", Name: "f", Overload: "o", Inputs: []string{"a"}, Outputs: []string{"b"}, Attributes: []string{"g"},
			Defaults: []Attribute{IntAttribute("h", 2)}, Nodes: []Node{{Op: "Relu", Inputs: []string{"a"}, Outputs: []string{"b"}}},
			Opsets: []OperatorSet{{Version: Opset}},
		}},
	}
}

// tell writes all that a message says, but not how it stood in a file.
func tell(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Struct:
		var b strings.Builder
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "kept" && name != "location" {
				fmt.Fprintf(&b, "%s:%s ", name, tell(v.Field(i)))
			}
		}
		return "{" + b.String() + "}"
	case reflect.Pointer:
		if v.IsNil() {
			return "nil"
		}
		return tell(v.Elem())
	case reflect.Slice:
		var b strings.Builder
		for i := range v.Len() {
			b.WriteString(tell(v.Index(i)) + " ")
		}
		return "[" + b.String() + "]"
	}
	return fmt.Sprintf("%#v", v)
}

func TestRoundTrip(t *testing.T) {
	want := example()
	got, err := Decode(Encode(want))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tell(reflect.ValueOf(got)), tell(reflect.ValueOf(want)); got != want {
		t.Errorf("got\n%s\nexpected\n%s", got, want)
	}
	// Written anew, with nothing of the file to lean on.
	got.source = nil
	got.Graph.source = nil
	for i := range got.Graph.Nodes[0].Attributes {
		got.Graph.Nodes[0].Attributes[i].source = nil
	}
	if !bytes.Equal(Encode(got), Encode(want)) {
		t.Errorf("read and written again, it is\n%q\nexpected\n%q", Encode(got), Encode(want))
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

// FuzzDecode: whatever the bytes, Decode ends; Encode gives them back; and where the graph gets
// another name and its old one again, all that was read is there still.
func FuzzDecode(f *testing.F) {
	f.Add(Encode(example()))
	f.Add([]byte("\x08\x08\x3a\x00"))
	f.Add([]byte(strange))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Decode(data)
		if err != nil {
			return
		}
		if got := Encode(m); !bytes.Equal(got, data) {
			t.Fatalf("read %q, wrote %q", data, got)
		}
		before := tell(reflect.ValueOf(m))
		name := m.Graph.Name
		m.Graph.Name = "another" + name
		m, err = Decode(Encode(m))
		if err != nil {
			t.Fatal(err)
		}
		m.Graph.Name = name
		if after := tell(reflect.ValueOf(m)); before != after {
			t.Errorf("before\n%s\nafter\n%s", before, after)
		}
	})
}

// An empty message takes two bytes in a file and some hundreds in memory: a file may hold only so many.
func TestTooManyMessages(t *testing.T) {
	nodes := bytes.Repeat([]byte{1<<3 | 2, 0}, fewestMessages+fewestMessages/8)
	data := protowire.AppendBytes([]byte{1 << 3, IRVersion, 7<<3 | 2}, nodes) // version, and the graph
	if _, err := Decode(data); err == nil || !strings.Contains(err.Error(), "more messages") {
		t.Errorf("%v; expected an error on the number of messages", err)
	}
}
