package onnxfile

import (
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// AllNodes are the nodes of the graph, of bodies inside of nodes, of functions and of training.
func (m *Model) AllNodes() iter.Seq[*Node] {
	return func(yield func(*Node) bool) { m.walk(yield, func(*Tensor) bool { return true }) }
}

// AllTensors are all constants of the model, at any depth: initializers and attributes of nodes,
// sparse ones too, of the graph, of bodies inside of nodes, of functions and of training.
func (m *Model) AllTensors() iter.Seq[*Tensor] {
	return func(yield func(*Tensor) bool) { m.walk(func(*Node) bool { return true }, yield) }
}

// walk visits until one of the functions says false.
func (m *Model) walk(node func(*Node) bool, tensor func(*Tensor) bool) {
	var nodes func([]Node) bool
	sparse := func(s *SparseTensor) bool { return tensor(&s.Values) && tensor(&s.Indices) }
	graph := func(g *Graph) bool {
		return each(g.Initializers, tensor) && each(g.Sparse, sparse) && nodes(g.Nodes)
	}
	attribute := func(a *Attribute) bool {
		return maybe(a.Tensor, tensor) && each(a.Tensors, tensor) && maybe(a.Sparse, sparse) &&
			each(a.Sparses, sparse) &&
			maybe(a.Graph, graph) && each(a.Graphs, graph)
	}
	nodes = func(list []Node) bool {
		return each(list, func(n *Node) bool { return node(n) && each(n.Attributes, attribute) })
	}
	_ = graph(&m.Graph) && each(m.Functions, func(f *Function) bool {
		return each(f.Defaults, attribute) && nodes(f.Nodes)
	}) && each(m.Training, func(t *Training) bool {
		return maybe(t.Initialization, graph) && maybe(t.Algorithm, graph)
	})
}

func each[T any](list []T, visit func(*T) bool) bool {
	for i := range list {
		if !visit(&list[i]) {
			return false
		}
	}
	return true
}

func maybe[T any](v *T, visit func(*T) bool) bool { return v == nil || visit(v) }

// ExternalFiles are the names of all files beside the model that hold values of its constants,
// sorted. It is an error where that cannot be known: a field of a later version of ONNX that
// may name files, or a node that loads a network of its own.
func (m *Model) ExternalFiles() ([]string, error) {
	if len(m.foreign) > 0 {
		return nil, fmt.Errorf("it has fields that this program does not know and that may name files with weights "+
			"(%s); expected ONNX 1.23 or older",
			strings.Join(m.foreign, ", "))
	}
	for n := range m.AllNodes() {
		if n.Op == "EPContext" {
			return nil, fmt.Errorf("node %q (EPContext) holds a network in a form of its own, which may lie in "+
				"another file; expected operators", n.Name)
		}
	}
	var names []string
	for t := range m.AllTensors() {
		for _, p := range t.External {
			if p.Key == locationKey {
				names = append(names, p.Value)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Load reads the values that are in files of folder dir into the constants themselves.
func (m *Model) Load(dir string) error {
	files := map[string]*os.File{}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	for t := range m.AllTensors() {
		if len(t.External) == 0 || t.source != nil && t.location != elsewhere {
			continue
		}
		raw, err := t.load(dir, files)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		t.SetRaw(t.Type, raw)
	}
	return nil
}

func (t *Tensor) load(dir string, files map[string]*os.File) ([]byte, error) {
	var name string
	offset, length := int64(0), int64(-1)
	for _, p := range t.External {
		var err error
		switch p.Key {
		case locationKey:
			name = p.Value
		case offsetKey:
			offset, err = strconv.ParseInt(p.Value, 10, 64)
		case lengthKey:
			length, err = strconv.ParseInt(p.Value, 10, 64)
		}
		if err != nil || offset < 0 {
			return nil, fmt.Errorf("%s %q; expected a number of bytes", p.Key, p.Value)
		}
	}
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("its values are to be in %q; expected a file beside the model", name)
	}
	file := files[name]
	if file == nil {
		var err error
		if file, err = os.Open(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
		files[name] = file
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if length < 0 {
		length = info.Size() - offset
	}
	if length < 0 || offset > info.Size() || length > info.Size()-offset {
		return nil, fmt.Errorf("its values are to be at bytes %d to %d of %s, which has %d", offset, offset+length,
			name, info.Size())
	}
	if n, err := t.Len(); err != nil {
		return nil, err
	} else if size := int64(t.Type.size()); size > 0 && length != size*int64(n) {
		return nil, fmt.Errorf("%d bytes of %s for %v%v; expected %d", length, name, t.Type, t.Dims, size*int64(n))
	}
	raw := make([]byte, length)
	if _, err := io.ReadFull(io.NewSectionReader(file, offset, length), raw); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return raw, nil
}
