package onnxfile

import (
	"bytes"
	"math"
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"
)

// Encode writes the model as an ONNX file. Equal models give equal bytes. Of a model that was
// read, messages that were not changed are written as they stood in the file; in one that was
// changed, the fields that are unknown here follow the known ones, in their order.
func Encode(m *Model) []byte { return write(m) }

// write gives the bytes of a message.
func write(m part) []byte {
	source := m.origin().source
	if source == nil {
		var b message
		m.encode(&b)
		return b
	}
	was := reflect.New(reflect.TypeOf(m).Elem())
	unknown, err := reread(was.Interface().(part), source)
	if err == nil && same(was.Elem(), reflect.ValueOf(m).Elem()) {
		return source
	}
	var b message
	m.encode(&b)
	return append(b, unknown...)
}

// reread reads a message once more and gives the fields that it does not know.
func reread(m part, source []byte) (unknown []byte, err error) {
	var d decoder
	if err := d.read(m, source); err != nil {
		return nil, err
	}
	err = fields(source, func(f field) error {
		if probe := reflect.New(reflect.TypeOf(m).Elem()).Interface().(part); probe.decode(&decoder{},
			f) == errUnknown {
			unknown = append(unknown, f.whole...)
		}
		return nil
	})
	return unknown, err
}

// same compares what two messages say; numbers that are NaN are equal to each other.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type() == modelType && a.Type().Field(i).Name == "foreign" {
				continue
			}
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		return same(a.Elem(), b.Elem())
	case reflect.Slice:
		switch {
		case a.Len() != b.Len():
			return false
		case a.Pointer() == b.Pointer():
			return true
		case a.Type().Elem().Kind() == reflect.Uint8:
			return bytes.Equal(a.Bytes(), b.Bytes())
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Float32:
		return math.Float32bits(float32(a.Float())) == math.Float32bits(float32(b.Float()))
	}
	return a.Equal(b)
}

var modelType = reflect.TypeFor[Model]()

// written adds each message of a list.
func written[T any, P interface {
	*T
	part
}](b *message, number protowire.Number, list []T) {
	for i := range list {
		b.bytes(number, write(P(&list[i])))
	}
}

// wrote adds a message that may be missing.
func wrote[T any, P interface {
	*T
	part
}](b *message, number protowire.Number, m *T) {
	if m != nil {
		b.bytes(number, write(P(m)))
	}
}

func (m *Model) encode(b *message) {
	b.number(1, m.IRVersion)
	b.text(2, m.Producer)
	b.text(3, m.ProducerVersion)
	b.bytes(7, write(&m.Graph))
	written(b, 8, m.Opsets)
	written(b, 14, m.Metadata)
	written(b, 20, m.Training)
	written(b, 25, m.Functions)
}

func (s *OperatorSet) encode(b *message) {
	b.text(1, s.Domain)
	b.number(2, s.Version)
}

func (p *Property) encode(b *message) {
	b.text(1, p.Key)
	b.text(2, p.Value)
}

func (g *Graph) encode(b *message) {
	written(b, 1, g.Nodes)
	b.text(2, g.Name)
	written(b, 5, g.Initializers)
	written(b, 11, g.Inputs)
	written(b, 12, g.Outputs)
	written(b, 13, g.Values)
	written(b, 15, g.Sparse)
}

func (n *Node) encode(b *message) {
	b.texts(1, n.Inputs)
	b.texts(2, n.Outputs)
	b.text(3, n.Name)
	b.text(4, n.Op)
	written(b, 5, n.Attributes)
	b.text(7, n.Domain)
}

func (a *Attribute) encode(b *message) {
	b.text(1, a.Name)
	if a.Kind == KindFloat || math.Float32bits(a.Float) != 0 {
		b.float(2, a.Float)
	}
	if a.Kind == KindInt || a.Int != 0 {
		b.always(3, a.Int)
	}
	if a.Kind == KindString || a.Text != "" {
		b.bytes(4, []byte(a.Text))
	}
	wrote(b, 5, a.Tensor)
	wrote(b, 6, a.Graph)
	for _, v := range a.Floats {
		b.float(7, v)
	}
	for _, v := range a.Ints {
		b.always(8, v)
	}
	b.texts(9, a.Texts)
	written(b, 10, a.Tensors)
	written(b, 11, a.Graphs)
	b.number(20, int64(a.Kind))
	b.text(21, a.Reference)
	wrote(b, 22, a.Sparse)
	written(b, 23, a.Sparses)
}

func (t *Tensor) encode(b *message) {
	for _, d := range t.Dims {
		b.always(1, d)
	}
	b.number(2, int64(t.Type))
	*b = append(*b, t.lists...)
	b.texts(6, t.Texts)
	b.text(8, t.Name)
	written(b, 13, t.External)
	if len(t.External) > 0 {
		location := t.location
		if t.source == nil {
			location = elsewhere
		}
		b.number(14, location)
	}
	if t.Raw != nil || t.lists == nil && t.Texts == nil && t.External == nil {
		b.bytes(9, t.Raw)
	}
}

func (s *SparseTensor) encode(b *message) {
	b.bytes(1, write(&s.Values))
	b.bytes(2, write(&s.Indices))
	for _, d := range s.Dims {
		b.always(3, d)
	}
}

func (v *Value) encode(b *message) {
	b.text(1, v.Name)
	if v.source == nil && v.Type == 0 && v.Dims == nil {
		return // a value without a type, which runtimes find out
	}
	// What the file said of the type, with the changes.
	var kind valueType
	_ = fields(v.source, func(f field) error {
		if f.number == 2 {
			return (&decoder{}).message(f, &kind)
		}
		return nil
	})
	changed := v.Type != kind.tensor.element || !same(reflect.ValueOf(v.Dims), reflect.ValueOf(kind.tensor.shape.dims))
	if v.source == nil || changed {
		kind.tensor.element, kind.tensor.shape.dims = v.Type, v.Dims
	} else if kind.source == nil {
		return // a value without a type
	}
	b.bytes(2, write(&kind))
}

func (t *valueType) encode(b *message) { b.bytes(1, write(&t.tensor)) }

func (t *tensorType) encode(b *message) {
	b.number(1, int64(t.element))
	b.bytes(2, write(&t.shape))
}

func (t *tensorShape) encode(b *message) { written(b, 1, t.dims) }

func (s *Dim) encode(b *message) {
	b.number(1, s.Size)
	if s.Size == 0 {
		b.text(2, s.Name)
	}
}

func (u *Function) encode(b *message) {
	b.text(1, u.Name)
	b.texts(4, u.Inputs)
	b.texts(5, u.Outputs)
	b.texts(6, u.Attributes)
	written(b, 7, u.Nodes)
	written(b, 9, u.Opsets)
	b.text(10, u.Domain)
	written(b, 11, u.Defaults)
	b.text(13, u.Overload)
}

func (t *Training) encode(b *message) {
	wrote(b, 1, t.Initialization)
	wrote(b, 2, t.Algorithm)
}
