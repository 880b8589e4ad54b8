package onnxfile

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Decode reads an ONNX file. Tensors share the memory of data, which must not be changed.
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
	d := decoder{most: fewestMessages + len(data)/messageBytes}
	err := d.read(m, data)
	if m.IRVersion == 0 { // every ONNX file begins with it
		return nil, errors.New("not an ONNX file")
	}
	if err != nil {
		return nil, fmt.Errorf("a damaged ONNX file: %w", err)
	}
	graphs := 0
	_ = fields(data, func(f field) error {
		if f.number == 7 {
			graphs++
		}
		return nil
	})
	if graphs != 1 {
		return nil, fmt.Errorf("a damaged ONNX file: it has %d graphs; expected 1 (%d bytes; truncated?)", graphs,
			len(data))
	}
	m.foreign = d.foreign
	return m, nil
}

// part is a message of the format.
type part interface {
	decode(d *decoder, f field) error // one field; errUnknown where it is none of the struct's
	encode(b *message)                // the struct's own fields
	newest() protowire.Number         // the last field that ONNX 1.23 defines
	origin() *kept
}

// kept is a message as it stands in the file that it was read from, nil for one that was made.
type kept struct{ source []byte }

func (k *kept) origin() *kept { return k }

// errUnknown says that a field is none of the struct's.
var errUnknown = errors.New("unknown field")

// deepest nesting of messages, as in other readers of protocol buffers.
const deepest = 100

// A file may hold so many messages, and one more for so many bytes: an empty one takes two bytes in a file, and some
// hundreds in memory.
const (
	fewestMessages = 1 << 20
	messageBytes   = 64
)

type decoder struct {
	depth    int
	messages int
	most     int // messages; 0: any number
	foreign  []string
}

// read takes up a message. What was read into m before stays: the format joins two messages in
// the place of one.
func (d *decoder) read(m part, data []byte) error {
	if d.depth++; d.depth > deepest {
		return fmt.Errorf("messages lie within each other more than %d deep", deepest)
	}
	defer func() { d.depth-- }()
	if d.messages++; d.most > 0 && d.messages > d.most {
		return errors.New("more messages than networks have")
	}
	if k := m.origin(); k.source == nil {
		k.source = data[:len(data):len(data)]
	} else {
		k.source = append(k.source, data...) // the capacity above makes this a copy
	}
	return fields(data, func(f field) error {
		err := m.decode(d, f)
		if err != errUnknown {
			return err
		}
		if f.number > m.newest() && bytes.Contains(f.whole, []byte(locationKey)) {
			d.foreign = append(d.foreign, fmt.Sprintf("%T %d", m, f.number))
		}
		return nil
	})
}

// message reads a field that is a message.
func (d *decoder) message(f field, m part) error {
	if f.kind != protowire.BytesType {
		return f.wrongType()
	}
	return d.read(m, f.bytes)
}

// appended reads a message of a repeated field.
func appended[T any, P interface {
	*T
	part
}](d *decoder, f field, list *[]T) error {
	*list = append(*list, *new(T))
	return d.message(f, P(&(*list)[len(*list)-1]))
}

// single reads a message that may be missing.
func single[T any, P interface {
	*T
	part
}](d *decoder, f field, place **T) error {
	if *place == nil {
		*place = new(T)
	}
	return d.message(f, P(*place))
}

func (m *Model) newest() protowire.Number { return 26 }
func (m *Model) decode(d *decoder, f field) error {
	switch f.number {
	case 1:
		return f.int(&m.IRVersion)
	case 2:
		return f.text(&m.Producer)
	case 3:
		return f.text(&m.ProducerVersion)
	case 7:
		return d.message(f, &m.Graph)
	case 8:
		return appended(d, f, &m.Opsets)
	case 14:
		return appended(d, f, &m.Metadata)
	case 20:
		return appended(d, f, &m.Training)
	case 25:
		return appended(d, f, &m.Functions)
	}
	return errUnknown
}

func (s *OperatorSet) newest() protowire.Number { return 2 }
func (s *OperatorSet) decode(_ *decoder, f field) error {
	switch f.number {
	case 1:
		return f.text(&s.Domain)
	case 2:
		return f.int(&s.Version)
	}
	return errUnknown
}

func (p *Property) newest() protowire.Number { return 2 }
func (p *Property) decode(_ *decoder, f field) error {
	switch f.number {
	case 1:
		return f.text(&p.Key)
	case 2:
		return f.text(&p.Value)
	}
	return errUnknown
}

func (g *Graph) newest() protowire.Number { return 16 }
func (g *Graph) decode(d *decoder, f field) error {
	switch f.number {
	case 1:
		return appended(d, f, &g.Nodes)
	case 2:
		return f.text(&g.Name)
	case 5:
		return appended(d, f, &g.Initializers)
	case 11:
		return appended(d, f, &g.Inputs)
	case 12:
		return appended(d, f, &g.Outputs)
	case 13:
		return appended(d, f, &g.Values)
	case 15:
		return appended(d, f, &g.Sparse)
	}
	return errUnknown
}

func (n *Node) newest() protowire.Number { return 10 }
func (n *Node) decode(d *decoder, f field) error {
	switch f.number {
	case 1:
		return f.texts(&n.Inputs)
	case 2:
		return f.texts(&n.Outputs)
	case 3:
		return f.text(&n.Name)
	case 4:
		return f.text(&n.Op)
	case 5:
		return appended(d, f, &n.Attributes)
	case 7:
		return f.text(&n.Domain)
	}
	return errUnknown
}

func (a *Attribute) newest() protowire.Number { return 23 }
func (a *Attribute) decode(d *decoder, f field) error {
	switch f.number {
	case 1:
		return f.text(&a.Name)
	case 2:
		if f.kind != protowire.Fixed32Type {
			return f.wrongType()
		}
		a.Float = math.Float32frombits(f.fixed32)
		return nil
	case 3:
		return f.int(&a.Int)
	case 4:
		return f.text(&a.Text)
	case 5:
		return single(d, f, &a.Tensor)
	case 6:
		return single(d, f, &a.Graph)
	case 7:
		return f.floats(&a.Floats)
	case 8:
		return f.ints(&a.Ints)
	case 9:
		return f.texts(&a.Texts)
	case 10:
		return appended(d, f, &a.Tensors)
	case 11:
		return appended(d, f, &a.Graphs)
	case 20:
		return number(f, &a.Kind)
	case 21:
		return f.text(&a.Reference)
	case 22:
		return single(d, f, &a.Sparse)
	case 23:
		return appended(d, f, &a.Sparses)
	}
	return errUnknown
}

func (t *Tensor) newest() protowire.Number { return 16 }
func (t *Tensor) decode(d *decoder, f field) error {
	switch f.number {
	case 1:
		return f.ints(&t.Dims)
	case 2:
		return number(f, &t.Type)
	case 4, 5, 7, 10, 11:
		t.lists = append(t.lists, f.whole...)
		return nil
	case 6:
		return f.texts(&t.Texts)
	case 8:
		return f.text(&t.Name)
	case 9:
		if f.kind != protowire.BytesType {
			return f.wrongType()
		}
		t.Raw = f.bytes
		return nil
	case 13:
		return appended(d, f, &t.External)
	case 14:
		return f.int(&t.location)
	}
	return errUnknown
}

func (s *SparseTensor) newest() protowire.Number { return 3 }
func (s *SparseTensor) decode(d *decoder, f field) error {
	switch f.number {
	case 1:
		return d.message(f, &s.Values)
	case 2:
		return d.message(f, &s.Indices)
	case 3:
		return f.ints(&s.Dims)
	}
	return errUnknown
}

func (v *Value) newest() protowire.Number { return 4 }
func (v *Value) decode(d *decoder, f field) error {
	switch f.number {
	case 1:
		return f.text(&v.Name)
	case 2:
		var kind valueType
		if err := d.message(f, &kind); err != nil {
			return err
		}
		v.Type, v.Dims = kind.tensor.element, kind.tensor.shape.dims
		return nil
	}
	return errUnknown
}

// valueType, tensorType and tensorShape are what lies between a Value and its Dims.
type valueType struct { // TypeProto
	tensor tensorType
	kept
}
type tensorType struct { // TypeProto.Tensor
	element Type
	shape   tensorShape
	kept
}
type tensorShape struct { // TensorShapeProto
	dims []Dim
	kept
}

func (t *valueType) newest() protowire.Number { return 9 }
func (t *valueType) decode(d *decoder, f field) error {
	if f.number == 1 {
		return d.message(f, &t.tensor)
	}
	return errUnknown
}

func (t *tensorType) newest() protowire.Number { return 2 }
func (t *tensorType) decode(d *decoder, f field) error {
	switch f.number {
	case 1:
		return number(f, &t.element)
	case 2:
		return d.message(f, &t.shape)
	}
	return errUnknown
}

func (t *tensorShape) newest() protowire.Number { return 1 }
func (t *tensorShape) decode(d *decoder, f field) error {
	if f.number == 1 {
		return appended(d, f, &t.dims)
	}
	return errUnknown
}

func (s *Dim) newest() protowire.Number { return 3 }
func (s *Dim) decode(_ *decoder, f field) error {
	switch f.number { // one or the other: the last that is said
	case 1:
		s.Name = ""
		return f.int(&s.Size)
	case 2:
		s.Size = 0
		return f.text(&s.Name)
	}
	return errUnknown
}

func (u *Function) newest() protowire.Number { return 14 }
func (u *Function) decode(d *decoder, f field) error {
	switch f.number {
	case 1:
		return f.text(&u.Name)
	case 4:
		return f.texts(&u.Inputs)
	case 5:
		return f.texts(&u.Outputs)
	case 6:
		return f.texts(&u.Attributes)
	case 7:
		return appended(d, f, &u.Nodes)
	case 9:
		return appended(d, f, &u.Opsets)
	case 10:
		return f.text(&u.Domain)
	case 11:
		return appended(d, f, &u.Defaults)
	case 13:
		return f.text(&u.Overload)
	}
	return errUnknown
}

func (t *Training) newest() protowire.Number { return 4 }
func (t *Training) decode(d *decoder, f field) error {
	switch f.number {
	case 1:
		return single(d, f, &t.Initialization)
	case 2:
		return single(d, f, &t.Algorithm)
	}
	return errUnknown
}
