package mix

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/x448/float16"

	"github.com/certspec/certspec/internal/onnxfile"
)

// graphs are two ONNX files of one graph.
type graphs struct {
	data    []byte // of the first
	tensors [2][]onnxfile.Tensor
}

// mixed are the types whose values are interpolated; all other constants must be equal.
var mixed = []onnxfile.Type{onnxfile.Float32, onnxfile.Float64, onnxfile.Float16}

func openGraphs(paths ...string) (*graphs, error) {
	g := &graphs{}
	var rest [2][]byte // digests of all else
	for i, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("mix: %w", err)
		}
		m, err := onnxfile.Decode(data)
		if err != nil {
			return nil, fmt.Errorf("mix: %s: %w", path, err)
		}
		if files, err := m.ExternalFiles(); err != nil || len(files) > 0 {
			return nil, fmt.Errorf("mix: %s keeps values in other files, %v; export it as one file", path, files)
		}
		if i == 0 {
			g.data = data
		}
		g.tensors[i] = slices.Clone(m.Graph.Initializers)
		for k := range m.Graph.Initializers {
			if t := &m.Graph.Initializers[k]; slices.Contains(mixed, t.Type) {
				t.SetRaw(t.Type, nil)
			}
		}
		sum := sha256.New()
		if err := onnxfile.WriteComputing(sum, onnxfile.Encode(m)); err != nil {
			return nil, fmt.Errorf("mix: %s: %w", path, err)
		}
		rest[i] = sum.Sum(nil)
	}
	a, b := g.tensors[0], g.tensors[1]
	if len(a) != len(b) {
		return nil, fmt.Errorf("mix: %s has %d constants and %s %d; expected two files of one graph", paths[0], len(a),
			paths[1], len(b))
	}
	for i, t := range a {
		if o := b[i]; o.Name != t.Name || o.Type != t.Type || !slices.Equal(o.Dims, t.Dims) {
			return nil, fmt.Errorf("mix: constant %d is %q, %v%v, in %s and %q, %v%v, in %s; expected two files of "+
				"one graph",
				i, t.Name, t.Type, t.Dims, paths[0], o.Name, o.Type, o.Dims, paths[1])
		}
	}
	if !bytes.Equal(rest[0], rest[1]) {
		return nil, fmt.Errorf("mix: the graphs of %s and %s differ in more than the values of their weights; "+
			"expected two files of one graph", paths[0], paths[1])
	}
	for i := range g.tensors {
		for k := range g.tensors[i] {
			t := &g.tensors[i][k]
			if !slices.Contains(mixed, t.Type) {
				continue
			}
			values, err := t.Float64s()
			if err != nil {
				return nil, fmt.Errorf("mix: %s: %w", paths[i], err)
			}
			if at := slices.IndexFunc(values, func(v float64) bool { return v-v != 0 }); at >= 0 {
				return nil, fmt.Errorf("mix: %s: value %d of %q is %v; expected finite values", paths[i], at, t.Name,
					values[at])
			}
		}
	}
	return g, nil
}

// between is the first file with other values.
func (g *graphs) between(alpha float64) ([]byte, error) {
	m, err := onnxfile.Decode(g.data)
	if err != nil {
		return nil, err
	}
	for k := range m.Graph.Initializers {
		t := &m.Graph.Initializers[k]
		if !slices.Contains(mixed, t.Type) {
			continue
		}
		a, err := t.Float64s()
		if err != nil {
			return nil, err
		}
		b, err := g.tensors[1][k].Float64s()
		if err != nil {
			return nil, err
		}
		var raw []byte
		for i := range a {
			v := value(a[i], b[i], alpha)
			switch t.Type {
			case onnxfile.Float32:
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(v)))
			case onnxfile.Float64:
				raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
			case onnxfile.Float16:
				raw = binary.LittleEndian.AppendUint16(raw, float16.Fromfloat32(float32(v)).Bits())
			}
		}
		t.SetRaw(t.Type, raw)
	}
	// What the file says of its making, such as the card of a model of ours, is no longer true.
	m.Metadata = slices.DeleteFunc(m.Metadata, func(p onnxfile.Property) bool { return p.Key == cardKey })
	return onnxfile.Encode(m), nil
}

// cardKey is the key of package export, whose files name here the classes and the layout of images apart from the card.
const cardKey = "certspec_card"
