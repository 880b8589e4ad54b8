package onnxfile

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one field of a message, as it stands on the wire.
type field struct {
	number  protowire.Number
	kind    protowire.Type
	varint  uint64
	fixed32 uint32
	fixed64 uint64
	bytes   []byte
	whole   []byte // with its tag
}

// fields calls read for each field of a message, up to the first error.
func fields(data []byte, read func(field) error) error {
	for len(data) > 0 {
		number, kind, tag := protowire.ConsumeTag(data)
		if tag < 0 {
			return fmt.Errorf("%w (truncated?)", protowire.ParseError(tag))
		}
		f := field{number: number, kind: kind}
		rest, n := data[tag:], 0
		switch kind {
		case protowire.VarintType:
			f.varint, n = protowire.ConsumeVarint(rest)
		case protowire.Fixed32Type:
			f.fixed32, n = protowire.ConsumeFixed32(rest)
		case protowire.Fixed64Type:
			f.fixed64, n = protowire.ConsumeFixed64(rest)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(rest)
		default:
			n = protowire.ConsumeFieldValue(number, kind, rest)
		}
		if n < 0 {
			return fmt.Errorf("field %d: %w (truncated?)", number, protowire.ParseError(n))
		}
		f.whole, data = data[:tag+n], rest[n:]
		if err := read(f); err != nil {
			return err
		}
	}
	return nil
}

func (f field) wrongType() error {
	return fmt.Errorf("field %d has wire type %d", f.number, f.kind)
}

func (f field) text(to *string) error {
	if f.kind != protowire.BytesType {
		return f.wrongType()
	}
	*to = string(f.bytes)
	return nil
}

func (f field) texts(to *[]string) error {
	*to = append(*to, "")
	return f.text(&(*to)[len(*to)-1])
}

func (f field) int(to *int64) error { return number(f, to) }

// number reads a whole number or an enumeration.
func number[T ~int32 | ~int64](f field, to *T) error {
	if f.kind != protowire.VarintType {
		return f.wrongType()
	}
	*to = T(f.varint)
	return nil
}

func (f field) ints(to *[]int64) error {
	return packed(f, to, protowire.VarintType, f.varint, protowire.ConsumeVarint, func(v uint64) int64 { return int64(v) })
}

func (f field) floats(to *[]float32) error {
	return packed(f, to, protowire.Fixed32Type, f.fixed32, protowire.ConsumeFixed32, math.Float32frombits)
}

func (f field) doubles(to *[]float64) error {
	return packed(f, to, protowire.Fixed64Type, f.fixed64, protowire.ConsumeFixed64, math.Float64frombits)
}

// packed appends the values of a repeated field, which may come one by one or packed.
func packed[W, T any](f field, to *[]T, kind protowire.Type, one W, next func([]byte) (W, int), value func(W) T) error {
	if f.kind == kind {
		*to = append(*to, value(one))
		return nil
	}
	if f.kind != protowire.BytesType {
		return f.wrongType()
	}
	for data := f.bytes; len(data) > 0; {
		v, n := next(data)
		if n < 0 {
			return fmt.Errorf("field %d: %w", f.number, protowire.ParseError(n))
		}
		*to, data = append(*to, value(v)), data[n:]
	}
	return nil
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

func (b *message) float(field protowire.Number, v float32) {
	*b = protowire.AppendFixed32(protowire.AppendTag(*b, field, protowire.Fixed32Type), math.Float32bits(v))
}

func (b *message) text(field protowire.Number, v string) {
	if v != "" {
		b.bytes(field, []byte(v))
	}
}

func (b *message) texts(field protowire.Number, list []string) {
	for _, v := range list {
		b.bytes(field, []byte(v))
	}
}

func (b *message) bytes(field protowire.Number, v []byte) {
	*b = protowire.AppendBytes(protowire.AppendTag(*b, field, protowire.BytesType), v)
}
