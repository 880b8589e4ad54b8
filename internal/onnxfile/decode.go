package onnxfile

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Decode reads an ONNX file. Tensors share the memory of data.
func Decode(data []byte) (*Model, error) {
	switch {
	case len(data) == 0:
		return nil, errors.New("the file is empty")
	case bytes.HasPrefix(data, []byte("version https://git-lfs")):
		return nil, errors.New("this is a pointer of Git LFS, not the model; git lfs pull fetches the model")
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return nil, errors.New("this is a zip file, such as a PyTorch checkpoint; export the model to ONNX first")
	case bytes.HasPrefix(data, []byte("\x89HDF")):
		return nil, errors.New("this is an HDF5 file, such as a Keras model; export the model to ONNX first")
	}
	m := &Model{}
	graphs := 0
	err := fields(data, func(f field) (err error) {
		switch f.number {
		case 1:
			m.IRVersion, err = f.int()
		case 2:
			m.Producer, err = f.text()
		case 3:
			m.ProducerVersion, err = f.text()
		case 7:
			graphs++
			err = f.message(m.Graph.decode)
		case 8:
			var set OperatorSet
			err = f.message(set.decode)
			m.Opsets = append(m.Opsets, set)
		case 14:
			var p Property
			err = f.message(p.decode)
			m.Metadata = append(m.Metadata, p)
		}
		return err
	})
	switch {
	case m.IRVersion == 0: // every ONNX file begins with it
		return nil, errors.New("not an ONNX file")
	case err != nil:
		return nil, fmt.Errorf("a damaged ONNX file: %w", err)
	case graphs != 1:
		return nil, fmt.Errorf("a damaged ONNX file: it has %d graphs; expected 1 (%d bytes; truncated?)", graphs, len(data))
	}
	return m, nil
}

func (s *OperatorSet) decode(f field) (err error) {
	switch f.number {
	case 1:
		s.Domain, err = f.text()
	case 2:
		s.Version, err = f.int()
	}
	return err
}

func (p *Property) decode(f field) (err error) {
	switch f.number {
	case 1:
		p.Key, err = f.text()
	case 2:
		p.Value, err = f.text()
	}
	return err
}

func (g *Graph) decode(f field) (err error) {
	switch f.number {
	case 1:
		var n Node
		err = f.message(n.decode)
		g.Nodes = append(g.Nodes, n)
	case 2:
		g.Name, err = f.text()
	case 5:
		var t Tensor
		err = f.message(t.decode)
		g.Initializers = append(g.Initializers, t)
	case 11:
		var v Value
		err = f.message(v.decode)
		g.Inputs = append(g.Inputs, v)
	case 12:
		var v Value
		err = f.message(v.decode)
		g.Outputs = append(g.Outputs, v)
	}
	return err
}

func (n *Node) decode(f field) (err error) {
	var text string
	switch f.number {
	case 1:
		text, err = f.text()
		n.Inputs = append(n.Inputs, text)
	case 2:
		text, err = f.text()
		n.Outputs = append(n.Outputs, text)
	case 3:
		n.Name, err = f.text()
	case 4:
		n.Op, err = f.text()
	case 5:
		var a Attribute
		err = f.message(a.decode)
		n.Attributes = append(n.Attributes, a)
	case 7:
		n.Domain, err = f.text()
	}
	return err
}

func (a *Attribute) decode(f field) (err error) {
	var number int64
	switch f.number {
	case 1:
		a.Name, err = f.text()
	case 2:
		if f.kind != protowire.Fixed32Type {
			return f.wrongType()
		}
		a.Float = math.Float32frombits(f.fixed32)
	case 3:
		a.Int, err = f.int()
	case 5:
		a.Tensor = &Tensor{}
		err = f.message(a.Tensor.decode)
	case 8:
		a.Ints, err = f.ints(a.Ints)
	case 20:
		number, err = f.int()
		a.Kind = Kind(number)
	}
	return err
}

func (t *Tensor) decode(f field) (err error) {
	var number int64
	switch f.number {
	case 1:
		t.Dims, err = f.ints(t.Dims)
	case 2:
		number, err = f.int()
		t.Type = Type(number)
	case 8:
		t.Name, err = f.text()
	case 9:
		if f.kind != protowire.BytesType {
			return f.wrongType()
		}
		t.Raw = f.bytes
	case 13:
		var p Property
		err = f.message(p.decode)
		if p.Key == "location" {
			t.External = p.Value
		}
	}
	return err
}

func (v *Value) decode(f field) (err error) {
	switch f.number {
	case 1:
		v.Name, err = f.text()
	case 2: // TypeProto: field 1 is a tensor, whose fields 1 and 2 are element type and shape
		return f.message(func(f field) error {
			if f.number != 1 {
				return nil
			}
			return f.message(func(f field) error {
				switch f.number {
				case 1:
					number, err := f.int()
					v.Type = Type(number)
					return err
				case 2:
					return f.message(func(f field) error {
						if f.number != 1 {
							return nil
						}
						var d Dim
						err := f.message(d.decode)
						v.Dims = append(v.Dims, d)
						return err
					})
				}
				return nil
			})
		})
	}
	return err
}

func (d *Dim) decode(f field) (err error) {
	switch f.number {
	case 1:
		d.Size, err = f.int()
	case 2:
		d.Name, err = f.text()
	}
	return err
}

// field is one field of a message, as it stands on the wire.
type field struct {
	number  protowire.Number
	kind    protowire.Type
	varint  uint64
	fixed32 uint32
	bytes   []byte
}

// fields calls read for each field of a message, up to the first error.
func fields(data []byte, read func(field) error) error {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return fmt.Errorf("%w (truncated?)", protowire.ParseError(n))
		}
		data = data[n:]
		f := field{number: number, kind: kind}
		switch kind {
		case protowire.VarintType:
			f.varint, n = protowire.ConsumeVarint(data)
		case protowire.Fixed32Type:
			f.fixed32, n = protowire.ConsumeFixed32(data)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(data)
		default:
			n = protowire.ConsumeFieldValue(number, kind, data)
		}
		if n < 0 {
			return fmt.Errorf("field %d: %w (truncated?)", number, protowire.ParseError(n))
		}
		data = data[n:]
		if err := read(f); err != nil {
			return err
		}
	}
	return nil
}

func (f field) wrongType() error {
	return fmt.Errorf("field %d has wire type %d", f.number, f.kind)
}

func (f field) message(read func(field) error) error {
	if f.kind != protowire.BytesType {
		return f.wrongType()
	}
	return fields(f.bytes, read)
}

func (f field) text() (string, error) {
	if f.kind != protowire.BytesType {
		return "", f.wrongType()
	}
	return string(f.bytes), nil
}

func (f field) int() (int64, error) {
	if f.kind != protowire.VarintType {
		return 0, f.wrongType()
	}
	return int64(f.varint), nil
}

// ints appends the values of a repeated field, which may come one by one or packed.
func (f field) ints(values []int64) ([]int64, error) {
	if f.kind == protowire.VarintType {
		return append(values, int64(f.varint)), nil
	}
	if f.kind != protowire.BytesType {
		return nil, f.wrongType()
	}
	for data := f.bytes; len(data) > 0; {
		v, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return nil, fmt.Errorf("field %d: %w", f.number, protowire.ParseError(n))
		}
		values, data = append(values, int64(v)), data[n:]
	}
	return values, nil
}
