// Package onnxfile reads and writes ONNX files: nodes with their attributes, constants of every
// type at any depth, inputs and outputs. A file that was read and not changed is written byte for
// byte, and one that was changed keeps what this package does not know: every message that is as
// it was read, and every field that is not of the structs below. Field numbers follow
// onnx.proto3 of ONNX 1.23 (IR version 13).
package onnxfile

// Versions that we write: old enough for every runtime of the last years.
const (
	IRVersion = 8
	Opset     = 17
)

// Model is a whole file (ModelProto).
type Model struct {
	IRVersion       int64
	Producer        string
	ProducerVersion string
	Opsets          []OperatorSet
	Graph           Graph
	Metadata        []Property
	Training        []Training
	Functions       []Function

	kept
	foreign []string // fields of later versions of ONNX that may name files; see ExternalFiles
}

// Opset is the version of ONNX's own operators, 0 where the file names none.
func (m *Model) Opset() (version int64) {
	for _, set := range m.Opsets {
		if set.Domain == "" || set.Domain == "ai.onnx" {
			version = set.Version
		}
	}
	return version
}

// OperatorSet says which version of a domain's operators a model uses; "" is ONNX itself.
type OperatorSet struct {
	Domain  string
	Version int64

	kept
}

// Property is a key with its value.
type Property struct {
	Key, Value string

	kept
}

// Graph is a network: nodes in an order in which they can be evaluated.
type Graph struct {
	Name         string
	Nodes        []Node
	Initializers []Tensor
	Sparse       []SparseTensor // initializers, too
	Inputs       []Value
	Outputs      []Value
	Values       []Value // what the file says of results of nodes; it may say nothing

	kept
}

// Node is one operator at work.
type Node struct {
	Op, Name, Domain string
	Inputs, Outputs  []string // an empty name is an optional one left out
	Attributes       []Attribute

	kept
}

// Attribute is a constant of a node; the field that belongs to its Kind holds it. In the body of
// a function, Reference names the function's own attribute that is meant instead.
type Attribute struct {
	Name      string
	Kind      Kind
	Float     float32
	Int       int64
	Text      string // KindString, bytes of any form
	Tensor    *Tensor
	Graph     *Graph // the body of an If, Loop or Scan
	Floats    []float32
	Ints      []int64
	Texts     []string
	Tensors   []Tensor
	Graphs    []Graph
	Sparse    *SparseTensor
	Sparses   []SparseTensor
	Reference string

	kept
}

// Kind tells which field of an Attribute holds it (AttributeProto.AttributeType). Files of the
// first versions of ONNX leave it out.
type Kind int32

// The kinds of attributes, but for those that hold types.
const (
	KindFloat         Kind = 1
	KindInt           Kind = 2
	KindString        Kind = 3
	KindTensor        Kind = 4
	KindGraph         Kind = 5
	KindFloats        Kind = 6
	KindInts          Kind = 7
	KindStrings       Kind = 8
	KindTensors       Kind = 9
	KindGraphs        Kind = 10
	KindSparseTensor  Kind = 11
	KindSparseTensors Kind = 12
)

// FloatAttribute makes an attribute of a number.
func FloatAttribute(name string, v float32) Attribute {
	return Attribute{Name: name, Kind: KindFloat, Float: v}
}
func IntAttribute(name string, v int64) Attribute {
	return Attribute{Name: name, Kind: KindInt, Int: v}
}
func TextAttribute(name, v string) Attribute {
	return Attribute{Name: name, Kind: KindString, Text: v}
}
func TensorAttribute(name string, v Tensor) Attribute {
	return Attribute{Name: name, Kind: KindTensor, Tensor: &v}
}
func IntsAttribute(name string, v ...int64) Attribute {
	return Attribute{Name: name, Kind: KindInts, Ints: v}
}
func FloatsAttribute(name string, v ...float32) Attribute {
	return Attribute{Name: name, Kind: KindFloats, Floats: v}
}

// Attribute finds an attribute by its name, nil where the node has none of it.
func (n *Node) Attribute(name string) *Attribute {
	for i := range n.Attributes {
		if n.Attributes[i].Name == name {
			return &n.Attributes[i]
		}
	}
	return nil
}

// Int is the value of a whole-number attribute, or missing where the node does not have it.
func (n *Node) Int(name string, missing int64) int64 {
	if a := n.Attribute(name); a != nil {
		return a.Int
	}
	return missing
}

// Float is the value of a real attribute, or missing where the node does not have it.
func (n *Node) Float(name string, missing float32) float32 {
	if a := n.Attribute(name); a != nil {
		return a.Float
	}
	return missing
}

// Text is the value of an attribute that is a word, or missing where the node does not have it.
func (n *Node) Text(name, missing string) string {
	if a := n.Attribute(name); a != nil {
		return a.Text
	}
	return missing
}

// Ints is the value of an attribute that is a list of whole numbers, or nil.
func (n *Node) Ints(name string) []int64 {
	if a := n.Attribute(name); a != nil {
		return a.Ints
	}
	return nil
}

// Value names and describes an input, an output or a result of a node.
type Value struct {
	Name string
	Type Type // 0 where it is not a tensor
	Dims []Dim

	kept
}

// Dim is a size of a tensor: a number, or unknown before a run where Size is 0.
type Dim struct {
	Size int64
	Name string

	kept
}

// Function is an operator that a model brings along, made of others (FunctionProto).
type Function struct {
	Domain, Name, Overload string
	Inputs, Outputs        []string
	Attributes             []string    // without a default
	Defaults               []Attribute // those with one
	Nodes                  []Node
	Opsets                 []OperatorSet

	kept
}

// Training is how a model goes on learning (TrainingInfoProto).
type Training struct {
	Initialization, Algorithm *Graph

	kept
}
