// Package quantize makes of a network in ONNX one that computes in integers of 8 bits (static
// quantisation): the weights of convolutions and dense layers become int8, symmetric around 0, with
// a scale for each output channel; what goes between layers becomes uint8 with a scale and a zero
// point. In the file QuantizeLinear and DequantizeLinear stand around the layers, as every runtime
// reads them; one that knows them puts integer layers in their place.
//
// Source: Jacob et al. 2018 (affine quantisation, equation 1; accumulation in int32).
package quantize

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/onnxfile"
)

// Key is the property of the file's metadata that holds its Record, in JSON.
const Key = "certspec_quantized"

// Identity is the part of a quantised network's identity behind the digest of its weights.
const Identity = "quantised to 8 bits"

// Range of the values that a node was seen to give.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Activation is how a result becomes uint8: value = Scale·(q − Zero), q in 0 … 255.
type Activation struct {
	Range
	Scale float32 `json:"scale"`
	Zero  uint8   `json:"zero"`
}

// Record says how a file was made; it stands in its metadata.
type Record struct {
	Source string `json:"source"` // digest of the network in float32
	// with what its layers were; "no"; "": an earlier file
	Compared    string                `json:"compared,omitempty"`
	Data        string                `json:"data"` // whose noise samples gave the ranges
	DataDigest  string                `json:"data_digest"`
	Images      int                   `json:"images"`
	Sigma       float64               `json:"sigma"`
	Seed        uint64                `json:"seed"`
	Activations map[string]Activation `json:"activations"` // by the names of results
	Integer     int                   `json:"integer"`     // nodes that compute on integers
	Float32     []string              `json:"float32"`     // nodes that stay as they were, "name (operator)"
}

// Widen makes ranges hold the results of one more image.
func Widen(ranges map[string]Range, results map[string][]float64) error {
	for name, values := range results {
		r, seen := ranges[name]
		if !seen {
			r = Range{math.Inf(1), math.Inf(-1)}
		}
		for _, v := range values {
			if v-v != 0 {
				return fmt.Errorf("quantize: result %q has the value %v; expected finite values", name, v)
			}
			r.Low, r.High = min(r.Low, v), max(r.High, v)
		}
		ranges[name] = r
	}
	return nil
}

// activation is the uint8 form of a range; 0 is one of its values, as padding is.
func (r Range) activation() Activation {
	low, high := min(r.Low, 0), max(r.High, 0)
	scale := float32((high - low) / 255)
	if !(scale > math.SmallestNonzeroFloat32*(1<<24)) {
		scale = 1
	}
	return Activation{r, scale, uint8(min(max(math.RoundToEven(-low/float64(scale)), 0), 255))}
}

// weights are int8 with a scale for each of the outputs, which lie stride apart in rows of w. A
// scale is at least so large that the bias, in steps of input·scale, is an int32.
func weights(w, bias []float64, outputs int, at func(output, i int) int, input float32) (q []int8, scales []float32) {
	q, scales = make([]int8, len(w)), make([]float32, outputs)
	each := len(w) / outputs
	for o := range outputs {
		largest := 0.0
		for i := range each {
			largest = max(largest, math.Abs(w[at(o, i)]))
		}
		scale := largest / 127
		if bias != nil {
			scale = max(scale, math.Abs(bias[o])/float64(input)/(1<<30))
		}
		scales[o] = float32(scale)
		if scales[o] < math.SmallestNonzeroFloat32*(1<<24) {
			scales[o] = 1
		}
		for i := range each {
			q[at(o, i)] = int8(min(max(math.RoundToEven(w[at(o, i)]/float64(scales[o])), -127), 127))
		}
	}
	return q, scales
}

// Apply quantises a network in place, with the ranges of its results, and returns what it made; the
// fields of the record that say where the ranges come from are left to the caller, and Write puts
// it into the file. Batch normalisation behind a convolution is folded into it first. Conv, Gemm,
// Add of two results and pooling compute on integers then, ReLU behind one is its saturation at 0;
// all other nodes, and a Conv or Add that gives the logits, stay in float32, and Record.Float32
// names them. Errors: files without a node to quantise, operators older than opset 13 that cannot
// be read as newer ones, results without a range.
func Apply(m *onnxfile.Model, ranges map[string]Range) (*Record, error) {
	if err := raise(m); err != nil {
		return nil, err
	}
	g := &graph{Graph: &m.Graph, ranges: ranges, made: map[string]string{},
		record: &Record{Activations: map[string]Activation{}}}
	g.hoist()
	g.index()
	g.fold()
	if err := g.quantise(); err != nil {
		return nil, err
	}
	if g.record.Integer == 0 {
		return nil, fmt.Errorf("quantize: no node that can compute on integers; expected Conv or Gemm with constant "+
			"weights in float32, among %v", g.operators())
	}
	g.sweep()
	return g.record, nil
}

// ReadRecord reads the record in a file's metadata.
func ReadRecord(path string) (*Record, error) {
	data, _, err := onnxfile.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := onnxfile.Decode(data)
	if err != nil {
		return nil, err
	}
	for _, p := range m.Metadata {
		if p.Key == Key {
			r := new(Record)
			return r, json.Unmarshal([]byte(p.Value), r)
		}
	}
	return nil, fmt.Errorf("quantize: %s has no record of how it was made", path)
}

// Write puts the record into the file's metadata, and takes from it what said how the source was made.
func (r *Record) Write(m *onnxfile.Model, stale ...string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	m.Metadata = slices.DeleteFunc(m.Metadata, func(p onnxfile.Property) bool {
		return p.Key == Key || slices.Contains(stale, p.Key)
	})
	m.Metadata = append(m.Metadata, onnxfile.Property{Key: Key, Value: string(text)})
	return nil
}

// opset is the first in which DequantizeLinear takes a scale for each channel.
const opset = 13

// unchanged are operators whose meaning in inference has not changed from opset 9 to 13.
var unchanged = []string{"Conv", "Gemm", "MatMul", "BatchNormalization", "Relu", "Add", "Sub", "Mul", "Div", "MaxPool",
	"AveragePool",
	"GlobalAveragePool", "GlobalMaxPool", "Flatten", "Reshape", "Identity", "Constant", "Shape", "Gather", "Concat",
	"Transpose"}

func raise(m *onnxfile.Model) error {
	for i := range m.Opsets {
		set := &m.Opsets[i]
		if set.Domain != "" && set.Domain != "ai.onnx" || set.Version >= opset {
			continue
		}
		if set.Version < 9 {
			return fmt.Errorf("quantize: the file is of opset %d; expected 9 or later, best 13 or later", set.Version)
		}
		for _, n := range m.Graph.Nodes {
			if !slices.Contains(unchanged, n.Op) {
				return fmt.Errorf("quantize: the file is of opset %d, and node %q (%s) may mean something else in "+
					"opset 13, which per-channel weights need; export it with opset 13 or later",
					set.Version, n.Name, n.Op)
			}
		}
		set.Version = opset
	}
	if m.IRVersion < 7 {
		m.IRVersion = 7 // the first of opset 13
	}
	if len(m.Functions) > 0 {
		return errors.New("quantize: the file defines functions; expected plain nodes")
	}
	return nil
}
