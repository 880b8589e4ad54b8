package onnxfile

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// inside says for each message of onnx.proto3 which of its fields are messages, as far as files without types of sequences have them.
var inside = map[string]map[protowire.Number]string{
	"Model":       {7: "Graph", 8: "OperatorSet", 14: "Property", 20: "Training", 25: "Function"},
	"Graph":       {1: "Node", 5: "Tensor", 11: "Value", 12: "Value", 13: "Value", 15: "Sparse"},
	"Node":        {5: "Attribute"},
	"Attribute":   {5: "Tensor", 6: "Graph", 10: "Tensor", 11: "Graph", 22: "Sparse", 23: "Sparse"},
	"Tensor":      {13: "Property"},
	"Sparse":      {1: "Tensor", 2: "Tensor"},
	"Value":       {2: "Type"},
	"Type":        {1: "TensorType"},
	"TensorType":  {2: "TensorShape"},
	"TensorShape": {1: "Dim"},
	"Function":    {7: "Node", 9: "OperatorSet", 11: "Attribute"},
	"Training":    {1: "Graph", 2: "Graph"},
}

// marked is a message with a field that ONNX does not have, before its others, and so for each message inside; texts are what these
// fields hold, each another.
func marked(t *testing.T, data []byte, kind string, texts *[]string) []byte {
	text := fmt.Sprintf("<%s %d>", kind, len(*texts))
	*texts = append(*texts, text)
	out := protowire.AppendString(protowire.AppendTag(nil, 1000, protowire.BytesType), text)
	err := fields(data, func(f field) error {
		if part := inside[kind][f.number]; part != "" {
			out = protowire.AppendBytes(protowire.AppendTag(out, f.number, protowire.BytesType), marked(t, f.bytes, part, texts))
		} else {
			out = append(out, f.whole...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// messages finds all messages of a model that has been read.
func messages(v reflect.Value) (found []reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			found = messages(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			found = append(found, messages(v.Index(i))...)
		}
	case reflect.Struct:
		if v.FieldByName("kept").IsValid() {
			found = append(found, v)
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				found = append(found, messages(v.Field(i))...)
			}
		}
	}
	return found
}

// change gives the first field of a message that is a word or a number, or a list of numbers, another value, and a way back.
func change(m reflect.Value) (undo func()) {
	for i := range m.NumField() {
		f := m.Field(i)
		if !f.CanSet() {
			continue
		}
		was := reflect.ValueOf(f.Interface())
		switch {
		case f.Kind() == reflect.String:
			f.SetString(f.String() + "!")
		case f.CanInt():
			f.SetInt(f.Int() + 1)
		case f.Type() == reflect.TypeFor[[]int64]():
			f.Set(reflect.ValueOf([]int64{6}))
		default:
			continue
		}
		return func() { f.Set(was) }
	}
	return nil
}

func TestKeepsUnknownFieldsAtEveryLevel(t *testing.T) {
	var texts []string
	data := marked(t, Encode(example()), "Model", &texts)
	m, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if string(Encode(m)) != string(data) {
		t.Fatal("read and written, it has other bytes")
	}
	check := func(what any) {
		got := string(Encode(m))
		for _, text := range texts {
			if strings.Count(got, "\xc2\x3e"+string(rune(len(text)))+text) != 1 {
				t.Errorf("with another %T, it holds %s %d times; expected once", what, text, strings.Count(got, text))
			}
		}
		if got == string(data) {
			t.Errorf("the change of %T is not written", what)
		}
	}
	seen := map[reflect.Type]bool{}
	var undo []func()
	for _, message := range messages(reflect.ValueOf(m)) {
		back := change(message)
		if back == nil { // Training, which is graphs alone
			continue
		}
		check(message.Interface())
		back()
		undo = append(undo, change(message))
		seen[message.Type()] = true
	}
	check("all at once")
	for _, back := range undo {
		back()
	}
	if len(seen) != 11 {
		t.Errorf("changed %d kinds of messages; expected the 11 that have words or numbers", len(seen))
	}
	if string(Encode(m)) != string(data) {
		t.Error("changed and changed back, it has other bytes")
	}
}
