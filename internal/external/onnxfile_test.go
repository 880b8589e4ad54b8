//go:build external

package external

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/testkit"
)

// All models that the package onnx tests itself with: read and written they are the bytes they were, and with the graph and
// every node renamed they are, to onnx itself, what they were but for the names.
func TestExternalONNXFilesStayAsTheyAre(t *testing.T) {
	var files []string
	python(t, `
import glob, os, onnx
answer = sorted(glob.glob(os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "**", "*.onnx"), recursive=True))
`, nil, &files)
	if len(files) < 100 {
		t.Errorf("%d models; expected more than a hundred", len(files))
	}
	dir := t.TempDir()
	renamed := map[string]string{}
	for i, file := range files {
		data := testkit.Read(t, file)
		m, err := onnxfile.Decode(data)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if !bytes.Equal(onnxfile.Encode(m), data) {
			t.Errorf("%s: other bytes", file)
		}
		m.Graph.Name += " renamed"
		for n := range m.AllNodes() {
			n.Name += " renamed"
			for i := range n.Attributes {
				n.Attributes[i].Name += " renamed"
			}
		}
		for tensor := range m.AllTensors() {
			tensor.Name += " renamed"
		}
		for i := range m.Graph.Outputs {
			m.Graph.Outputs[i].Name += " renamed"
		}
		to := testkit.Write(t, onnxfile.Encode(m), dir, fmt.Sprint(i)+".onnx")
		renamed[file] = to
	}
	var differ []string
	python(t, `
import onnx
def short(name):
    assert name.endswith(" renamed"), name
    return name[:-8]
def tensor(t):
    t.name = short(t.name)
def sparse(s):
    tensor(s.values); tensor(s.indices)
def graph(g):
    for t in g.initializer: tensor(t)
    for s in g.sparse_initializer: sparse(s)
    nodes(g.node)
def nodes(list):
    for n in list:
        n.name = short(n.name)
        for a in n.attribute:
            a.name = short(a.name)
            if a.HasField("t"): tensor(a.t)
            if a.HasField("g"): graph(a.g)
            if a.HasField("sparse_tensor"): sparse(a.sparse_tensor)
            for t in a.tensors: tensor(t)
            for g in a.graphs: graph(g)
            for s in a.sparse_tensors: sparse(s)
def clear(m): # a text that is empty, or not there
    for n in m.DESCRIPTOR.fields:
        if n.type == n.TYPE_MESSAGE:
            v = getattr(m, n.name)
            for x in (v if hasattr(v, "__len__") else [v] if m.HasField(n.name) else []): clear(x)
        elif n.type == n.TYPE_STRING and getattr(m, n.name) == "": m.ClearField(n.name)
answer = []
for was, now in arg.items():
    a, b = onnx.load(was, load_external_data=False), onnx.load(now, load_external_data=False)
    b.graph.name = short(b.graph.name)
    for o in b.graph.output: o.name = short(o.name)
    graph(b.graph)
    for f in b.functions: nodes(f.node)
    clear(a); clear(b)
    if a != b: answer.append(was)
`, renamed, &differ)
	if len(differ) > 0 {
		t.Errorf("%d of %d models differ, %q first", len(differ), len(files), differ[0])
	}
}
