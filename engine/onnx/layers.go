package onnx

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/pixel"
)

// Layers is an ONNX file as layers in float64, which can be bounded and differentiated (package feedforward), and
// what runs the same file on ONNX Runtime. The Network is not compared with it; package engine does so.
type Layers struct {
	Network *feedforward.Network

	source Source
	file   *contents // as ONNX Runtime gets it
	dims   []int64   // of the input after the batch
	fill   filler    // nil: values enter as they are
	layout layout    // of images, as is card
	card   Card

	images *feedforward.Images
}

// Encoded is the source of Network, for feedforward.FromONNX in another process: an ONNX file without others, and
// how images enter.
func (l *Layers) Encoded() ([]byte, *feedforward.Images, error) {
	graph, err := l.loaded()
	if err != nil {
		return nil, nil, fmt.Errorf("onnx: %s: %w", l.source.Path, err)
	}
	return onnxfile.Encode(graph), l.images, nil
}

// ReadLayers reads an ONNX file whose images enter as they do in a Model with the same options, the card beside the
// file included; a last Softmax or LogSoftmax over the classes is taken off. It needs no ONNX Runtime. Errors:
// those of Open, a network on uint8, an output that is no row of logits, and operators that feedforward has no
// layer for.
func ReadLayers(source Source) (*Layers, error) {
	if source.Contents == nil {
		m, err := Open(source.Path, source.Options)
		if err != nil {
			return nil, err
		}
		source.Options = m.options
	} else if err := source.Options.check(); err != nil {
		return nil, fmt.Errorf("onnx: %s: %w", source.Path, err)
	}
	l, err := source.layers(false)
	if err != nil {
		return nil, fmt.Errorf("onnx: %s: %w", source.Path, err)
	}
	return l, nil
}

// ReadGraph reads an ONNX file with one input and one output. The Network takes what the graph takes, a single
// input without its batch; no card is looked for.
func ReadGraph(path string) (*Layers, error) {
	source := Source{Path: path}
	err := source.Options.check()
	if err == nil {
		var l *Layers
		if l, err = source.layers(true); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("onnx: %s: %w", path, err)
}

// FeedForwardBytes is the Network of ReadLayers for the contents of a file, with all its weights; name stands for
// the path.
func FeedForwardBytes(name string, data []byte, options Options) (*feedforward.Network, error) {
	if data == nil {
		data = []byte{}
	}
	l, err := ReadLayers(Source{name, data, options})
	if err != nil {
		return nil, err
	}
	return l.Network, nil
}

// layers reads the file; options are checked. raw: values enter as they are.
func (s Source) layers(raw bool) (*Layers, error) {
	file, err := readFile(s.Path, s.Contents, s.Options.Card)
	if err != nil {
		return nil, err
	}
	l := &Layers{source: s, file: file}
	switch {
	case !raw:
		if l.images, err = l.entry(); err != nil {
			return nil, err
		}
	case file.outputs != 1:
		return nil, fmt.Errorf("the graph has %d outputs; expected one", file.outputs)
	case file.input.Type != onnxfile.Float32 && file.input.Type != onnxfile.Float64:
		return nil, fmt.Errorf("input %q is %s; expected float32 or float64", file.input.Name, describeDims(file.input))
	}
	graph, err := l.loaded()
	if err != nil {
		return nil, err
	}
	if l.Network, err = feedforward.FromONNX(s.Path, graph, l.images); err != nil {
		return nil, err
	}
	if raw {
		for _, side := range l.Network.InputShape() {
			l.dims = append(l.dims, int64(side))
		}
	}
	return l, nil
}

// loaded is the graph that Network is read from, with the values that are in other files. They are not kept: the
// Network has them, and ONNX Runtime reads them itself.
func (l *Layers) loaded() (*onnxfile.Model, error) {
	graph := *l.file.model
	if external, err := graph.ExternalFiles(); err != nil {
		return nil, err
	} else if len(external) > 0 {
		again, err := readFile(l.source.Path, l.source.Contents, l.source.Options.Card)
		if err != nil {
			return nil, err
		}
		if again.former != l.file.former {
			return nil, errors.New("it changed while it was read")
		}
		graph = *again.model
		if err := graph.Load(filepath.Dir(l.source.Path)); err != nil {
			return nil, err
		}
	}
	graph.Graph.Inputs, graph.Graph.Outputs = []onnxfile.Value{l.file.input}, []onnxfile.Value{l.file.output}
	return &graph, nil
}

// entry says how images enter.
func (l *Layers) entry() (*feedforward.Images, error) {
	file := l.file
	at, err := findLayout(file.input, file.card)
	if err != nil {
		return nil, err
	}
	if at.kind == onnxfile.Uint8 {
		return nil, fmt.Errorf("its input is uint8, which rounds images; a network on real numbers can be bounded")
	}
	wide := 0
	for _, d := range file.output.Dims[min(1, len(file.output.Dims)):] {
		if d.Size > 1 {
			wide++
		}
	}
	if wide > 1 {
		return nil, fmt.Errorf("output %q is %s; expected one value per class", file.output.Name,
			describeDims(file.output))
	}
	card, err := file.card.complete(at)
	if err != nil {
		return nil, err
	}
	l.dims, l.fill, l.layout, l.card = at.dims, newFiller(at, card, 1), at, card
	bgr := card.ChannelOrder == bgr
	images := &feedforward.Images{Shape: at.shape, ChannelsLast: !at.planar, BGR: bgr, Scale: card.Scale}
	for c := range card.Mean {
		if card.Mean[c] != 0 || card.Std[c] != 1 { // else there is nothing to compute and nothing to round
			images.Mean, images.Std = card.Mean, card.Std
		}
	}
	return images, nil
}

// Details are what a Model says of the file, where the layers gave these rows of outputs in a trial on
// another engine. That engine's part is left open, in the identity as well. Errors: fewer than two outputs,
// class names of another number.
func (l *Layers) Details(rows [][]float32) (d Details, info classifier.Info, err error) {
	function, classes := l.card.function(l.layout, l.file), l.Network.Outputs()
	if err = errOneOutput; classes > 1 {
		d, function, err = l.file.describe(l.source.Path, l.layout, l.card, rows, function)
	}
	if err != nil {
		return d, info, fmt.Errorf("onnx: %s: %w", l.source.Path, err)
	}
	return d, d.info(l.layout, classes, append([]string{l.file.digest}, function...)), nil
}

// Digest is "sha256:" and the digest of what computes in the file, and of how images enter.
func (l *Layers) Digest() string {
	cards, err := json.Marshal([]Card{l.source.Options.Card, l.file.card})
	if err != nil {
		panic(err) // a Card holds nothing that JSON has not
	}
	entry := fmt.Appendf(cards, " %s %v %v", l.file.digest, l.dims, l.fill != nil)
	return fmt.Sprintf("sha256:%x", sha256.Sum256(entry))
}

// Runtime runs the file of a network on ONNX Runtime, one input at a time.
type Runtime struct {
	layers  *Layers
	session session
	results []string // of the graph that it gives
	version string
}

// Runtime loads the file, with ONNX Runtime's optimiser of graphs or without. It gives the output of the file and
// the Network's, and without the optimiser the result of every node that is a layer. Close frees it. Errors:
// no library (ErrNoLibrary), a file that it cannot run.
func (l *Layers) Runtime(optimised bool) (*Runtime, error) {
	fail := func(err error) (*Runtime, error) { return nil, fmt.Errorf("onnx: %s: %w", l.source.Path, err) }
	library, err := Library(l.source.Options.Library)
	if err != nil {
		return nil, err
	}
	r := &Runtime{layers: l}
	if r.version, err = loadLibrary(library); err != nil {
		return nil, err
	}
	model := *l.file.model
	r.results = []string{l.file.output.Name}
	model.Graph.Outputs = []onnxfile.Value{l.file.output}
	further := l.order()
	if optimised {
		network, _ := l.Output()
		further = []string{network}
	}
	for _, name := range further {
		if name != l.file.output.Name {
			r.results = append(r.results, name)
			model.Graph.Outputs = append(model.Graph.Outputs, onnxfile.Value{Name: name})
		}
	}
	options := Options{Threads: 1, plain: !optimised}
	r.session, err = openSession(l.source.Path, onnxfile.Encode(&model), l.file.input.Name, r.results, options)
	if err != nil {
		return fail(fmt.Errorf("ONNX Runtime %s cannot load it: %w", r.version, err))
	}
	return r, nil
}

// order names the results of nodes that are layers, in the order of the file.
func (l *Layers) order() (names []string) {
	layers := l.Network.ResultNames()
	for i := range l.file.model.Graph.Nodes {
		for _, name := range l.file.model.Graph.Nodes[i].Outputs {
			if slices.Contains(layers, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Describe says which node of the file gives a result, for messages.
func (l *Layers) Describe(result string) string {
	for i, n := range l.file.model.Graph.Nodes {
		if slices.Contains(n.Outputs, result) {
			return fmt.Sprintf("node %d %q (%s), result %q", i, n.Name, n.Op, result)
		}
	}
	return fmt.Sprintf("the input %q", result)
}

// Output names what the Network gives, in the file, and what the file gives, which is behind the operator that was
// taken off.
func (l *Layers) Output() (network, file string) {
	file = l.file.output.Name
	if l.Network.Head() == "" {
		return file, file
	}
	for i := range l.file.model.Graph.Nodes {
		if n := &l.file.model.Graph.Nodes[i]; slices.Contains(n.Outputs, file) {
			return n.Inputs[0], file
		}
	}
	return file, file
}

// Version of ONNX Runtime.
func (r *Runtime) Version() string { return r.version }

// Run evaluates one input and gives results by name, the input as it enters the graph among them. An image is of
// multiples of 1/255; other values are rounded to the type of the input. Results of other types than float32 and
// float64 are left out.
func (r *Runtime) Run(x []float64) (map[string][]float64, error) {
	l := r.layers
	in := newArray(l.file.input.Type, append([]int64{1}, l.dims...)...)
	switch {
	case l.fill != nil:
		grid := make([]int16, len(x))
		for i, v := range x {
			grid[i] = int16(math.Round(v * pixel.Steps))
		}
		l.fill(&in.values, 0, classifier.Batch{N: 1, Grid: grid}, 0, 1)
	case in.floats != nil:
		for i, v := range x {
			in.floats[i] = float32(v)
		}
	default:
		copy(in.doubles, x)
	}
	found, err := r.session.discover(in, len(r.results))
	if err != nil {
		return nil, fmt.Errorf("onnx: %s: ONNX Runtime %s cannot run it: %w", l.source.Path, r.version, err)
	}
	values := map[string][]float64{l.file.input.Name: in.float64s()}
	for i, name := range r.results {
		if v := found[i].float64s(); v != nil {
			values[name] = v
		}
	}
	return values, nil
}

// Close frees the runtime.
func (r *Runtime) Close() { r.session.close() }

// float64s are the values of float32 and float64, nil of other types.
func (v *values) float64s() []float64 {
	if v.doubles != nil {
		return slices.Clone(v.doubles)
	}
	var out []float64
	for _, x := range v.floats {
		out = append(out, float64(x))
	}
	return out
}

// Metadata returns the properties of a file. Errors: those of Open, and files that cannot be read.
func Metadata(path string, options Options) (map[string]string, error) {
	m, err := Open(path, options)
	if err != nil {
		return nil, err
	}
	file, err := readFile(path, nil, m.options.Card)
	if err != nil {
		return nil, fmt.Errorf("onnx: %s: %w", path, err)
	}
	return file.metadata, nil
}

// Whole returns the contents of a file for those who change it, with the values that lie in files beside it, what is
// known of its images, in metadata and in the card beside it, and the digest of what computes in it. Contents take
// the place of the file at path where they are not nil. Errors: those of Open, and files that cannot be read.
func Whole(path string, contents []byte, options Options) (whole []byte, card Card, digest string, err error) {
	if contents == nil {
		m, err := Open(path, options)
		if err != nil {
			return nil, Card{}, "", err
		}
		options = m.options
	}
	file, err := readFile(path, contents, options.Card)
	if err == nil {
		err = file.model.Load(filepath.Dir(path))
	}
	if err != nil {
		return nil, Card{}, "", fmt.Errorf("onnx: %s: %w", path, err)
	}
	return onnxfile.Encode(file.model), file.card, file.digest, nil
}
