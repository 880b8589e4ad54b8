package onnxfile

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Encode writes the model as an ONNX file. Equal models give equal bytes.
func Encode(m *Model) []byte {
	var b message
	b.number(1, m.IRVersion)
	b.text(2, m.Producer)
	b.text(3, m.ProducerVersion)
	b.bytes(7, encodeGraph(&m.Graph))
	for _, set := range m.Opsets {
		var s message
		s.text(1, set.Domain)
		s.number(2, set.Version)
		b.bytes(8, s)
	}
	for _, p := range m.Metadata {
		b.bytes(14, encodeProperty(p.Key, p.Value))
	}
	return b
}

func encodeGraph(g *Graph) []byte {
	var b message
	for i := range g.Nodes {
		b.bytes(1, encodeNode(&g.Nodes[i]))
	}
	b.text(2, g.Name)
	for i := range g.Initializers {
		b.bytes(5, encodeTensor(&g.Initializers[i]))
	}
	for _, v := range g.Inputs {
		b.bytes(11, encodeValue(v))
	}
	for _, v := range g.Outputs {
		b.bytes(12, encodeValue(v))
	}
	return b
}

func encodeNode(n *Node) []byte {
	var b message
	for _, name := range n.Inputs {
		b.bytes(1, []byte(name)) // an empty name is an optional input left out
	}
	for _, name := range n.Outputs {
		b.bytes(2, []byte(name))
	}
	b.text(3, n.Name)
	b.text(4, n.Op)
	for _, a := range n.Attributes {
		b.bytes(5, encodeAttribute(a))
	}
	b.text(7, n.Domain)
	return b
}

func encodeAttribute(a Attribute) []byte {
	var b message
	b.text(1, a.Name)
	switch a.Kind {
	case KindFloat:
		b = protowire.AppendTag(b, 2, protowire.Fixed32Type)
		b = protowire.AppendFixed32(b, math.Float32bits(a.Float))
	case KindInt:
		b.always(3, a.Int)
	case KindTensor:
		b.bytes(5, encodeTensor(a.Tensor))
	case KindInts:
		for _, v := range a.Ints {
			b.always(8, v)
		}
	default:
		panic("onnxfile: attribute " + a.Name + " of a kind that is not written")
	}
	b.number(20, int64(a.Kind))
	return b
}

func encodeTensor(t *Tensor) []byte {
	var b message
	for _, d := range t.Dims {
		b.always(1, d)
	}
	b.number(2, int64(t.Type))
	b.text(8, t.Name)
	if t.External != "" {
		b.bytes(13, encodeProperty("location", t.External))
		b.number(14, 1)
		return b
	}
	b.bytes(9, t.Raw)
	return b
}

func encodeValue(v Value) []byte {
	var shape message
	for _, d := range v.Dims {
		var dim message
		dim.number(1, d.Size)
		if d.Size == 0 {
			dim.text(2, d.Name)
		}
		shape.bytes(1, dim)
	}
	var tensor message
	tensor.number(1, int64(v.Type))
	tensor.bytes(2, shape)
	var kind message
	kind.bytes(1, tensor)
	var b message
	b.text(1, v.Name)
	b.bytes(2, kind)
	return b
}

func encodeProperty(key, value string) []byte {
	var b message
	b.text(1, key)
	b.text(2, value)
	return b
}

// Float32Tensor is a tensor with these values.
func Float32Tensor(name string, values []float32, dims ...int64) Tensor {
	raw := make([]byte, 0, 4*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return Tensor{Name: name, Type: Float32, Dims: dims, Raw: raw}
}

// Int64Tensor is a vector with these values.
func Int64Tensor(name string, values ...int64) Tensor {
	raw := make([]byte, 0, 8*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return Tensor{Name: name, Type: Int64, Dims: []int64{int64(len(values))}, Raw: raw}
}

// message is a protocol buffer message that grows. As in proto3, zero values are left out
// except where always and bytes write them.
type message []byte

func (b *message) number(field protowire.Number, v int64) {
	if v != 0 {
		b.always(field, v)
	}
}

func (b *message) always(field protowire.Number, v int64) {
	*b = protowire.AppendVarint(protowire.AppendTag(*b, field, protowire.VarintType), uint64(v))
}

func (b *message) text(field protowire.Number, v string) {
	if v != "" {
		b.bytes(field, []byte(v))
	}
}

func (b *message) bytes(field protowire.Number, v []byte) {
	*b = protowire.AppendBytes(protowire.AppendTag(*b, field, protowire.BytesType), v)
}
