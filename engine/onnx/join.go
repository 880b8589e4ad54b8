package onnx

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/pixel"
)

// Source is an ONNX file: that at Path, or Contents, for which Path stands in messages.
type Source struct {
	Path     string
	Contents []byte
	Options  Options
}

// leastLogP is the least log-probability of a class in a joined network, as in those that certspec trains.
const leastLogP = -100

// Join sets a discriminator h beside a classifier f, as ProoD does (Meinke, Bitterwolf and Hein 2022, arXiv
// 2106.04260). The logits ln(1 + K·exp(h + Δ)·softmax_k(f)) of the new network have the probabilities
//
//	p(k|x) = π·softmax_k(f(x)) + (1 − π)/K,  π = 1/(1 + exp(−h(x) − Δ)).
//
// So a bound h̄ on h bounds the confidence, Conf ≤ π̄ + (1 − π̄)/K, whatever f is. The network takes images in [0, 1]
// in planes; the preparation on the cards of both files becomes part of the graph. head names the result of the
// discriminator's graph that is h, if it has one of that name; else h is its output. The new file, at path, has the
// metadata besides its own; beyond 2 GiB its weights are in a second one, path.data.
//
// Errors: those of Open; images of other shapes; a discriminator with several outputs or layers that package
// feedforward cannot bound; a classifier that gives no logits in float32; operator sets that cannot stand in one file.
func Join(classifier, discriminator Source, head string, shift float64, metadata map[string]string, path string) error {
	joined, err := join(classifier, discriminator, head, shift)
	if err != nil {
		return err
	}
	return writeJoined(path, joined, metadata, func(string, []byte) error { return nil })
}

// mostConstants is how many bytes of constants stand in a file: the 2 GiB of protobuf, less room for all else.
var mostConstants = math.MaxInt32 - 1<<26

// writeJoined writes a joined network that a trial takes, with more metadata. Where one file cannot hold the constants,
// they are in a second one beside it.
func writeJoined(path string, joined *onnxfile.Model, metadata map[string]string,
	try func(beside string, file []byte) error) error {
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		joined.Metadata = append(joined.Metadata, onnxfile.Property{Key: key, Value: metadata[key]})
	}
	stored, beside := 0, path+".data"
	for t := range joined.AllTensors() {
		stored += t.Stored()
	}
	if stored <= mostConstants {
		beside = ""
	} else if err := atomicfile.Build(beside, func(w io.Writer) error {
		for _, values := range joined.Graph.MoveOut(filepath.Base(beside)) {
			if _, err := w.Write(values); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("onnx: %w", err)
	}
	file := onnxfile.Encode(joined)
	err := try(beside, file)
	if err == nil {
		err = atomicfile.Write(path, file)
	}
	if err != nil && beside != "" {
		os.Remove(beside)
	}
	return err
}

func join(classifier, discriminator Source, head string, shift float64) (*onnxfile.Model, error) {
	if !(math.Abs(shift) <= -leastLogP) {
		return nil, fmt.Errorf("onnx: a shift of %v; expected a number from %d to %d", shift, leastLogP, -leastLogP)
	}
	f, err := classifier.part("classifier/")
	if err != nil {
		return nil, err
	}
	h, err := discriminator.part("discriminator/")
	if err != nil {
		return nil, err
	}
	if f.layout.shape != h.layout.shape {
		return nil, fmt.Errorf("onnx: %s takes images of %v, the discriminator %s of %v; they must agree", f.path,
			f.layout.shape, h.path, h.layout.shape)
	}
	if err := h.behead(head); err != nil {
		return nil, err
	}
	classes, err := f.logits()
	if err != nil {
		return nil, err
	}
	joined, err := frame(f, h, f.layout.shape, "posterior", classes)
	if err != nil {
		return nil, err
	}
	g := &joined.Graph
	var results [2]string
	for i, p := range []*part{f, h} {
		results[i] = p.enter(g, "image")
	}
	constant := func(name string, v float32, dims ...int64) string {
		g.Initializers = append(g.Initializers, onnxfile.Float32Tensor(name, []float32{v}, dims...))
		return name
	}
	p := addNode(g, "LogSoftmax", "posterior/log-softmax", results[:1], onnxfile.IntAttribute("axis", -1))
	p = addNode(g, "Clip", "posterior/log-p", []string{p, constant("posterior/least", leastLogP),
		constant("posterior/most", 0)})
	odds := addNode(g, "Add", "posterior/h", []string{results[1], constant("posterior/classes",
		float32(math.Log(float64(classes))+shift), 1)})
	addNode(g, "Softplus", "logits", []string{addNode(g, "Add", "posterior/sum", []string{p, odds})})
	return joined, nil
}

// frame is a graph for a classifier and another network, without a node: it takes images of a shape, "image", and
// gives "logits".
func frame(f, h *part, s pixel.Shape, name string, classes int) (*onnxfile.Model, error) {
	sets, err := operatorSets(f, h)
	if err != nil {
		return nil, err
	}
	card, err := json.Marshal(Card{Layout: nchw, ClassNames: f.card.ClassNames})
	if err != nil {
		return nil, err
	}
	batch := onnxfile.Dim{Name: "batch"}
	if f.layout.batch == 1 || h.layout.batch == 1 {
		batch = onnxfile.Dim{Size: 1}
	}
	value := func(name string, sides ...int) []onnxfile.Value {
		v := onnxfile.Value{Name: name, Type: onnxfile.Float32, Dims: []onnxfile.Dim{batch}}
		for _, side := range sides {
			v.Dims = append(v.Dims, onnxfile.Dim{Size: int64(side)})
		}
		return []onnxfile.Value{v}
	}
	return &onnxfile.Model{IRVersion: max(onnxfile.IRVersion, f.model.IRVersion, h.model.IRVersion),
		Producer: "certspec", Functions: f.model.Functions, Opsets: sets,
		Graph: onnxfile.Graph{Name: name, Inputs: value("image", s.Channels, s.Height, s.Width),
			Outputs: value("logits", classes)},
		Metadata: []onnxfile.Property{{Key: cardKey, Value: string(card)}}}, nil
}

// addNode adds a node with one result, of its name.
func addNode(g *onnxfile.Graph, op, name string, inputs []string, attributes ...onnxfile.Attribute) string {
	g.Nodes = append(g.Nodes, onnxfile.Node{Op: op, Name: name, Inputs: inputs, Outputs: []string{name},
		Attributes: attributes})
	return name
}

// part is a network on its way into another.
type part struct {
	path, prefix string
	*contents
	layout layout
	card   Card
}

func (s Source) part(prefix string) (*part, error) {
	options := s.Options
	if s.Contents == nil {
		m, err := Open(s.Path, options)
		if err != nil {
			return nil, err
		}
		options = m.options
	}
	p := &part{path: s.Path, prefix: prefix}
	var err error
	if p.contents, err = readFile(s.Path, s.Contents, options.Card); err != nil {
		return nil, p.wrong("%w", err)
	}
	if p.layout, err = findLayout(p.input, p.contents.card); err != nil {
		return nil, p.wrong("%w", err)
	}
	if p.card, err = p.contents.card.complete(p.layout); err != nil {
		return nil, p.wrong("%w", err)
	}
	if p.layout.kind != onnxfile.Float32 || p.output.Type != onnxfile.Float32 {
		return nil, p.wrong("it takes %v and gives %v; expected float32", p.layout.kind, p.output.Type)
	}
	if p.layout.batch > 1 {
		return nil, p.wrong("it takes batches of %d; expected any size, or 1", p.layout.batch)
	}
	if err := p.load(s.Path, ""); err != nil {
		return nil, p.wrong("%w", err)
	}
	return p, nil
}

// load reads the weights, and keeps of the inputs the image's and another one.
func (p *part) load(path, beside string) error {
	if err := p.model.Load(filepath.Dir(path)); err != nil {
		return err
	}
	p.model.Graph.Inputs = slices.DeleteFunc(slices.Clone(p.model.Graph.Inputs), func(v onnxfile.Value) bool {
		return v.Name != p.input.Name && v.Name != beside && slices.ContainsFunc(inputs(&p.model.Graph),
			func(in onnxfile.Value) bool { return in.Name == v.Name })
	})
	p.model.Graph.Keep(p.output)
	return nil
}

func (p *part) wrong(format string, args ...any) error {
	return fmt.Errorf("onnx: %s: %w", p.path, fmt.Errorf(format, args...))
}

// behead makes h the output of a discriminator, and looks whether it can be bounded.
func (p *part) behead(head string) error {
	for _, n := range p.model.Graph.Nodes {
		if slices.Contains(n.Outputs, head) {
			p.output = onnxfile.Value{Name: head, Type: onnxfile.Float32}
			p.model.Graph.Keep(p.output)
			break
		}
	}
	n, err := p.layers()
	if err != nil {
		return err
	}
	if n.Outputs() != 1 {
		return p.wrong("its output %q has %d values; expected a network that prood trained, or one with a single "+
			"output, large where an image is like the classifier's own", p.output.Name, n.Outputs())
	}
	return nil
}

// layers is the part as a network in float64.
func (p *part) layers() (*feedforward.Network, error) {
	copied := *p.model
	copied.Graph.Inputs, copied.Graph.Outputs = []onnxfile.Value{p.input}, []onnxfile.Value{p.output}
	n, err := feedforward.FromONNX(p.path, &copied, &feedforward.Images{Shape: p.layout.shape,
		ChannelsLast: !p.layout.planar})
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return n, nil
}

// logits are the number of classes of a classifier; a last softmax is taken off.
func (p *part) logits() (int, error) {
	classes := 1
	for _, d := range p.output.Dims[min(1, len(p.output.Dims)):] {
		classes *= int(d.Size)
	}
	if classes == 0 || len(p.output.Dims) < 2 {
		n, err := p.layers()
		if err != nil {
			return 0, p.wrong("it does not say how many values its output has: %w", err)
		}
		classes = n.Outputs()
	}
	if classes < 2 {
		return 0, p.wrong("its output %s has one value; expected a logit for each class", describeDims(p.output))
	}
	if p.softmax {
		axis, err := p.headAxis()
		if rank := int64(len(p.output.Dims)); err == nil && axis != -1 && axis != rank-1 &&
			(p.opset >= 13 || axis != 1) {
			err = p.wrongHead(axis, fmt.Sprintf("is not over the last axis of %s", describeDims(p.output)))
		}
		if err != nil {
			return 0, p.wrong("%w", err)
		}
	}
	if last := len(p.model.Graph.Nodes) - 1; p.softmax && p.model.Graph.Nodes[last].Op == "Softmax" {
		p.output = onnxfile.Value{Name: p.model.Graph.Nodes[last].Inputs[0], Type: onnxfile.Float32}
		p.model.Graph.Keep(p.output)
	} else if p.softmax || p.card.Scores == probabilities {
		return 0, p.wrong("it gives probabilities; expected logits, or a softmax as the last node")
	}
	return classes, nil
}

// enter lays the part into a graph, behind images and what its card says of them, and gives the name of its result, a
// row of values for each image.
func (p *part) enter(g *onnxfile.Graph, images string) (result string) {
	return addNode(g, "Flatten", p.prefix+"certspec/result", []string{p.lay(g, images)})
}

// lay is enter for the output as it is.
func (p *part) lay(g *onnxfile.Graph, at string) (result string) {
	p.model.Graph.Prefix(p.prefix)
	entrance := func(name string) string { return p.prefix + "certspec/" + name }
	if p.card.preprocessing() != "" {
		c := p.layout.shape.Channels
		weight, bias := make([]float32, c*c), make([]float32, c)
		for to := range c {
			from := to // the channel of the image that the network takes at this place
			if p.card.ChannelOrder == bgr {
				from = c - 1 - to
			}
			weight[to*c+from] = float32(p.card.Scale / p.card.Std[from])
			bias[to] = float32(-p.card.Mean[from] / p.card.Std[from])
		}
		n := int64(c)
		g.Initializers = append(g.Initializers, onnxfile.Float32Tensor(entrance("weight"), weight, n, n, 1, 1),
			onnxfile.Float32Tensor(entrance("bias"), bias, n))
		at = addNode(g, "Conv", entrance("values"), []string{at, entrance("weight"), entrance("bias")},
			onnxfile.IntsAttribute("kernel_shape", 1, 1))
	}
	if !p.layout.planar {
		at = addNode(g, "Transpose", entrance("layout"), []string{at}, onnxfile.IntsAttribute("perm", 0, 2, 3, 1))
	}
	if len(p.layout.dims) < 3 {
		g.Initializers = append(g.Initializers, onnxfile.Int64Tensor(entrance("shape"),
			append([]int64{-1}, p.layout.dims...)...))
		at = addNode(g, "Reshape", entrance("row"), []string{at, entrance("shape")})
	}
	addNode(g, "Identity", p.prefix+p.input.Name, []string{at})
	g.Nodes = append(g.Nodes, p.model.Graph.Nodes...)
	g.Initializers = append(g.Initializers, p.model.Graph.Initializers...)
	g.Sparse = append(g.Sparse, p.model.Graph.Sparse...)
	return p.prefix + p.output.Name
}

// steady are operators whose meaning in inference has not changed since opset 13.
var steady = []string{"Conv", "Gemm", "MatMul", "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Softplus", "Clip", "Add",
	"Sub", "Mul", "Div", "MaxPool", "AveragePool",
	"GlobalAveragePool", "GlobalMaxPool", "DepthToSpace", "Flatten", "Reshape", "Identity", "Constant", "Concat",
	"Transpose"}

// operatorSets are the operator sets of a classifier, where the nodes of the discriminator mean the same in them.
func operatorSets(f, h *part) ([]onnxfile.OperatorSet, error) {
	if f.opset != h.opset {
		for _, n := range h.model.Graph.Nodes {
			if min(f.opset, h.opset) < 13 || !slices.Contains(steady, n.Op) {
				return nil, fmt.Errorf("onnx: %s is of opset %d and %s of opset %d, in which its "+
					"node %q (%s) may mean something else; export both with one opset, from 13 on",
					f.path, f.opset, h.path, h.opset, n.Name, n.Op)
			}
		}
	}
	if f.opset < 11 {
		return nil, fmt.Errorf("onnx: %s is of opset %d; expected 11 or later, best 13 or later", f.path, f.opset)
	}
	for _, n := range h.model.Graph.Nodes {
		if n.Domain != "" && n.Domain != "ai.onnx" {
			return nil, h.wrong("node %q (%s) is of the domain %q; expected operators of ONNX", n.Name, n.Op, n.Domain)
		}
	}
	return slices.Clone(f.model.Opsets), nil
}
