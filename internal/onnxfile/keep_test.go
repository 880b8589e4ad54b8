package onnxfile

import (
	"bytes"
	"strings"
	"testing"
)

// strange is a file as nobody would write it, and right all the same: fields in another order, numbers on more
// bytes than they need, packed lists, attributes of a type that is not known here, documentation, unknown fields
// of every wire type, one of them a group.
var strange = "\x42\x02\x10\x11" + // opset_import 17, before
	"\x08\x88\x00" + // ir_version 8 on two bytes
	"\x30\x03" + // a number 6, unknown in this wire type only
	in("\x3a", // graph
		"\x12\x01g", // name
		in("\x0a", // node
			"\x22\x04Relu", "\x12\x01y", "\x0a\x01x", "\x32\x03doc", // op_type, output, input, doc_string
			in("\x2a", "\x0a\x04pads", "\x42\x03\x01\x02\x03", "\xa0\x01\x07"),     // attribute with packed ints
			in("\x2a", "\x0a\x04type", "\x72\x04\x0a\x02\x08\x01", "\xa0\x01\x0d"), // attribute that is a type
			"\xbd\x3e\x01\x02\x03\x04"), // field 999, 32 bits
		in("\x5a", "\x0a\x01x", in("\x12", in("\x0a", "\x08\x01", in("\x12", "\x0a\x00")), "\x32\x02dn")), // an input, its type with a denotation
		"\xc1\x3e\x01\x02\x03\x04\x05\x06\x07\x08") +                                                      // field 1000, 64 bits
	"\xcb\x3e\x08\x01\xcc\x3e" // field 1001, a group

// in is a message of less than 128 bytes behind its tag.
func in(tag string, parts ...string) string {
	content := strings.Join(parts, "")
	return tag + string([]byte{byte(len(content))}) + content
}

func TestKeepsWhatItDoesNotKnow(t *testing.T) {
	m, err := Decode([]byte(strange))
	if err != nil {
		t.Fatal(err)
	}
	if got := Encode(m); string(got) != strange {
		t.Errorf("read and written\n%q\nexpected\n%q", got, strange)
	}
	node := &m.Graph.Nodes[0]
	if node.Op != "Relu" || len(node.Attributes) != 2 || len(node.Ints("pads")) != 3 || m.IRVersion != 8 || m.Opsets[0].Version != 17 {
		t.Errorf("read %+v", m)
	}

	// With another operator, all the rest is there.
	node.Op = "Selu"
	got := string(Encode(m))
	for _, part := range []string{"\x22\x04Selu", "\x32\x03doc", "\x42\x03\x01\x02\x03", "\x72\x04\x0a\x02\x08\x01", "\xbd\x3e\x01\x02\x03\x04",
		"\x32\x02dn", "\xc1\x3e\x01\x02\x03\x04\x05\x06\x07\x08", "\xcb\x3e\x08\x01\xcc\x3e", "\x30\x03"} {
		if strings.Count(got, part) != 1 {
			t.Errorf("changed, it is\n%q\nwhich lacks %q", got, part)
		}
	}
	if strings.Contains(got, "Relu") {
		t.Errorf("changed, it is\n%q", got)
	}

	// A batch of any size: the denotation of the type stays.
	m.Graph.Inputs[0].Dims[0] = Dim{Name: "batch"}
	if got := string(Encode(m)); !strings.Contains(got, "\x12\x05batch") || !strings.Contains(got, "\x32\x02dn") {
		t.Errorf("changed, it is\n%q", got)
	}
}

// A file that ONNX wrote in the past, whatever is in it, is written as it was; see also the test
// against the models of the package onnx.
func TestUnchangedBytes(t *testing.T) {
	data := Encode(example())
	m, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(Encode(m), data) {
		t.Error("other bytes")
	}
	m.Graph.Nodes[0].Attributes[4].Text = "VALID"
	again, err := Decode(Encode(m))
	if err != nil {
		t.Fatal(err)
	}
	if n := &again.Graph.Nodes[0]; n.Text("auto_pad", "") != "VALID" || n.Float("epsilon", 0) != 1e-5 || n.Int("axis", 0) != -1 || n.Int("none", 5) != 5 {
		t.Errorf("%+v", n)
	}
	again.Graph.Nodes[0].Attributes[4].Text = "SAME_UPPER"
	if !bytes.Equal(Encode(again), data) {
		t.Error("changed and changed back, it has other bytes")
	}
}
