package onnxfile

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func far(file string) Tensor {
	t := Tensor{Name: file, Type: Float32, Dims: []int64{1}}
	t.SetExternal(file)
	return t
}

// Every place of the format that can hold a tensor, each in a body inside of a body.
func TestExternalFiles(t *testing.T) {
	places := func(n string, inner []Graph) Graph {
		one, two, three, four := far(n+"attribute"), SparseTensor{Values: far(n + "values"), Indices: far(n + "indices")},
			SparseTensor{Values: far(n + "initializer values"), Indices: far(n + "initializer indices")}, SparseTensor{Values: far(n + "of several")}
		g := Graph{Initializers: []Tensor{far(n + "initializer")}, Sparse: []SparseTensor{three}, Nodes: []Node{{Op: "Constant", Attributes: []Attribute{
			TensorAttribute("value", one), {Name: "s", Kind: KindSparseTensor, Sparse: &two}, {Name: "ss", Kind: KindSparseTensors, Sparses: []SparseTensor{four}},
			{Name: "ts", Kind: KindTensors, Tensors: []Tensor{far(n + "list")}}, {Name: "gs", Kind: KindGraphs, Graphs: inner}}}}}
		if len(inner) > 0 {
			g.Nodes[0].Attributes = append(g.Nodes[0].Attributes, Attribute{Name: "g", Kind: KindGraph, Graph: &Graph{Initializers: []Tensor{far(n + "branch")}}})
		}
		return g
	}
	deep := places("2 ", nil)
	m := &Model{IRVersion: 8, Graph: places("1 ", []Graph{deep}),
		Functions: []Function{{Name: "f", Defaults: []Attribute{TensorAttribute("d", far("default"))}, Nodes: places("f ", []Graph{places("fg ", nil)}).Nodes}},
		Training:  []Training{{Algorithm: &Graph{Initializers: []Tensor{far("step")}}, Initialization: &Graph{Initializers: []Tensor{far("start")}}}}}
	data := Encode(m)
	read, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read.ExternalFiles()
	if err != nil {
		t.Fatal(err)
	}
	if want := bytes.Count(data, []byte("\x0a\x08location")); len(got) != want || want < 30 || !slices.IsSorted(got) {
		t.Errorf("%d files: %q; expected %d", len(got), got, want)
	}

	// Two that are joined in the place of one: the format keeps what both say.
	both := TensorAttribute("value", far("first"))
	attribute := write(&both)
	second := write(&Attribute{Tensor: &Tensor{External: []Property{{Key: "offset", Value: "4"}}}})
	joined := append(bytes.Clone(attribute), second...)
	node := message{}
	node.bytes(5, joined)
	graph := message{}
	graph.bytes(1, node)
	file := message{}
	file.number(1, 8)
	file.bytes(7, graph)
	read, err = Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := read.ExternalFiles(); err != nil || !slices.Equal(got, []string{"first"}) {
		t.Errorf("joined: %q, %v", got, err)
	}
}

// What cannot be enumerated is refused: a field of a later ONNX that may name a file, and a node
// with a network of its own. Unknown fields that name none are no harm.
func TestCannotEnumerate(t *testing.T) {
	property := write(&Property{Key: "location", Value: "w.bin"})
	for name, change := range map[string]func(node, graph, file *message){
		"node":  func(node, _, _ *message) { node.bytes(77, property) },
		"graph": func(_, graph, _ *message) { graph.bytes(77, property) },
		"model": func(_, _, file *message) { file.bytes(77, property) },
	} {
		for _, harmless := range []bool{false, true} {
			var node, graph, file message
			node.text(4, "Relu")
			file.number(1, 8)
			if harmless {
				node.bytes(77, []byte("colour"))
				node.text(6, "documentation of a location")
				graph.text(10, "location")
			} else {
				change(&node, &graph, &file)
			}
			graph.bytes(1, node)
			file.bytes(7, graph)
			m, err := Decode(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.ExternalFiles()
			if harmless != (err == nil) || !harmless && !strings.Contains(err.Error(), "does not know and that may name files") {
				t.Errorf("%s, harmless %v: %v", name, harmless, err)
			}
		}
	}
	m := &Model{IRVersion: 8, Functions: []Function{{Nodes: []Node{{Op: "EPContext", Name: "npu"}}}}}
	if _, err := m.ExternalFiles(); err == nil || !strings.Contains(err.Error(), `node "npu" (EPContext)`) {
		t.Errorf("EPContext: %v", err)
	}

	var inner message
	for range 200 { // a body in a body in a body
		var a, n, g message
		a.bytes(6, inner)
		n.bytes(5, a)
		g.bytes(1, n)
		inner = g
	}
	var file message
	file.number(1, 8)
	file.bytes(7, inner)
	if _, err := Decode(file); err == nil || !strings.Contains(err.Error(), "more than 100 deep") {
		t.Errorf("too deep: %v", err)
	}
}
