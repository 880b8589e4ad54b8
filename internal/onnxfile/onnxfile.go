// Package onnxfile reads and writes the part of the ONNX format that certspec needs: what
// a file expects and gives, which operators it uses and where its weights are, and graphs
// of our own. Field numbers are those of onnx.proto3 of ONNX 1.23 (IR version 13).
package onnxfile

// Versions that we write: old enough for every runtime of the last years.
const (
	IRVersion = 8
	Opset     = 17
)

// Type is the element type of a tensor (TensorProto.DataType).
type Type int32

// The types that occur in image classifiers.
const (
	Float32 Type = 1
	Uint8   Type = 2
	Int8    Type = 3
	Int32   Type = 6
	Int64   Type = 7
	Float16 Type = 10
	Float64 Type = 11
)

var typeNames = [...]string{"undefined", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool",
	"float16", "float64", "uint32", "uint64", "complex64", "complex128", "bfloat16"}

func (t Type) String() string {
	if t >= 0 && int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "a type of fewer than 16 bits"
}

// Model is a whole file (ModelProto).
type Model struct {
	IRVersion       int64
	Producer        string
	ProducerVersion string
	Opsets          []OperatorSet
	Graph           Graph
	Metadata        []Property
}

// OperatorSet says which version of a domain's operators a model uses; "" is ONNX itself.
type OperatorSet struct {
	Domain  string
	Version int64
}

// Property is a key with its value.
type Property struct{ Key, Value string }

// Graph is a network: nodes in an order in which they can be evaluated.
type Graph struct {
	Name         string
	Nodes        []Node
	Initializers []Tensor
	Inputs       []Value
	Outputs      []Value
}

// Node is one operator at work.
type Node struct {
	Op, Name, Domain string
	Inputs, Outputs  []string
	Attributes       []Attribute
}

// Attribute is a constant of a node; the one of its fields that is not zero holds it.
// Attributes of other kinds (strings of text, subgraphs) are not kept.
type Attribute struct {
	Name   string
	Kind   Kind
	Int    int64
	Float  float32
	Ints   []int64
	Tensor *Tensor
}

// Kind tells which field of an Attribute holds it (AttributeProto.AttributeType).
type Kind int32

// The kinds that are read and written.
const (
	KindFloat  Kind = 1
	KindInt    Kind = 2
	KindTensor Kind = 4
	KindInts   Kind = 7
)

// Tensor is a constant array, row-major.
type Tensor struct {
	Name     string
	Type     Type
	Dims     []int64
	Raw      []byte // little-endian; a decoded one shares the memory of the file
	External string // the file beside the model that holds the values instead, or ""
}

// Value names and describes an input or output of the graph.
type Value struct {
	Name string
	Type Type // 0 where it is not a tensor
	Dims []Dim
}

// Dim is a size of a tensor: a number, or unknown before a run where Size is 0.
type Dim struct {
	Size int64
	Name string
}
