package feedforward

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/array"
)

// Builder makes a Network layer by layer. Every method adds a layer behind given ones and returns its number; the
// input is number 0. The first error is kept, and Network returns it.
type Builder struct {
	net        Network
	name       string // of the next layer, for messages
	parameters []list // of the next layer, for Digest
	size       size   // of the layers so far
	err        error
}

// list is values for Digest, each times times.
type list struct {
	values []float64
	times  int
}

// NewBuilder begins a network for inputs of that shape: features, or channels × height × width.
func NewBuilder(input ...int) *Builder {
	b := &Builder{}
	if reason := b.room(input, 0, 0); len(input) == 0 || reason != "" {
		b.err = &InputError{fmt.Sprintf("an input of shape %v: %s", input, cmp.Or(reason,
			"want features, or channels × height × width"))}
		input = []int{1}
	}
	b.net.nodes = []node{{name: "input", op: "Input", shape: slices.Clone(input)}}
	b.size.values, b.size.largest = array.Size(input), array.Size(input)
	return b
}

// Name gives the next layer a name, for messages.
func (b *Builder) Name(name string) *Builder {
	b.name = name
	return b
}

// with says what the next layer computes with, besides its kind and the shapes.
func (b *Builder) with(parameters ...[]float64) *Builder {
	b.parameters = nil
	for _, values := range parameters {
		b.parameters = append(b.parameters, list{values, 1})
	}
	return b
}

// Network is the finished network, whose outputs are a layer's. Errors: the first that a layer had.
func (b *Builder) Network(output int) (*Network, error) {
	if b.err != nil {
		return nil, b.err
	}
	if output < 1 || output >= len(b.net.nodes) {
		return nil, &InputError{fmt.Sprintf("layer %d as output, of %d", output, len(b.net.nodes))}
	}
	return &Network{nodes: b.net.nodes[:output+1], output: output}, nil
}

// Shape is the shape of a layer's output.
func (b *Builder) Shape(layer int) Shape { return b.net.nodes[layer].shape }

func (b *Builder) fail(op, format string, args ...any) int {
	if b.err == nil {
		name := b.name
		if name == "" {
			name = fmt.Sprintf("layer %d", len(b.net.nodes))
		}
		b.err = &InputError{fmt.Sprintf("%s (%s): %s", name, op, fmt.Sprintf(format, args...))}
	}
	b.name = ""
	return 0
}

func (b *Builder) add(op string, shape Shape, l layer, in ...int) int {
	for _, i := range in {
		if i < 0 || i >= len(b.net.nodes) {
			return b.fail(op, "reads layer %d of %d", i, len(b.net.nodes))
		}
	}
	held := 0
	for _, p := range b.parameters {
		held += 8 * len(p.values)
	}
	if !b.size.fixed {
		b.size.file += held / 2
	}
	if l, ok := l.(*arrange); ok {
		held += 4 * len(l.from)
	}
	if reason := b.room(shape, 0, held); reason != "" {
		return b.fail(op, "%s", reason)
	}
	b.size.values, b.size.largest, b.size.held = b.size.values+shape.Size(), max(b.size.largest, shape.Size()),
		b.size.held+held
	name := b.name
	if name == "" {
		name = fmt.Sprintf("%s_%d", op, len(b.net.nodes))
	}
	b.net.nodes = append(b.net.nodes, node{name: name, op: op, in: in, shape: slices.Clone(shape),
		parameters: b.parameters, layer: l})
	if _, moves := l.(*arrange); moves {
		b.net.nodes[len(b.net.nodes)-1].terms = b.net.nodes[in[0]].terms
	}
	b.name, b.parameters = "", nil
	return len(b.net.nodes) - 1
}

func finite(values ...[]float64) error {
	for _, v := range values {
		for i, w := range v {
			if math.IsNaN(w) || math.IsInf(w, 0) {
				return fmt.Errorf("weight %d is %v", i, w)
			}
		}
	}
	return nil
}

func (b *Builder) addLinear(op string, shape Shape, l linear, in int) int {
	switch products := float64(l.terms()) * float64(shape.Size()); {
	case l.terms() > mostTerms:
		return b.fail(op, "%d products in one output, at most %d are bounded", l.terms(), mostTerms)
	case products > mostProducts:
		return b.fail(op, "%.3g products, at most %d are computed", products, mostProducts)
	}
	layer := b.add(op, shape, affine{l}, in)
	if b.err == nil {
		b.net.nodes[layer].folding, b.net.nodes[layer].terms = l.folding(), l.terms()
	}
	return layer
}

// PoolOptions are the attributes of ONNX's pooling operators.
type PoolOptions struct {
	Kernel, Stride, Dilation [2]int // height, width; zero stride or dilation: 1; zero kernel: the whole image
	Pad                      [4]int // top, left, bottom, right
	CountPadding             bool   // average pooling divides by the kernel's size, places in the padding included
	CeilMode                 bool
}

// window is that of a convolution.
func (p PoolOptions) window() ConvOptions {
	return ConvOptions{Kernel: p.Kernel, Stride: p.Stride, Dilation: p.Dilation, Pad: p.Pad}
}

func floats(values []int) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}

// Limits, so that a small file cannot ask for much memory or time.
const (
	mostProducts = 1 << 32 // of a layer, some seconds of work between two looks at an interrupt
	// mostMemory is the number of bytes for bounds and tables of all layers, and besides, for each
	// byte of weights in a file,
	mostMemory = 768 << 20
	ofWeights  = 6
)

// size of layers and of their weights, in bytes.
type size struct {
	values, largest int // of all layers, and of one
	held            int // by weights and tables
	file            int // weights, of 4 bytes each
	fixed           bool
}

// need are the bytes for bounds, two numbers a value, for steps from layer to layer, some arrays of the largest one,
// and for what layers hold.
func (s size) need() int { return 16*s.values + 64*s.largest + s.held }

func (s size) limit() int { return mostMemory + ofWeights*s.file }

// tooLarge says that something of a shape needs too much memory; "" where it does not.
func (s size) tooLarge(what string, shape []int) string {
	if s.need() <= s.limit() {
		return ""
	}
	return fmt.Sprintf("%s %v needs too much memory: with it the network takes %d MB, and one with so few weights "+
		"may take %d MB",
		what, shape, s.need()>>20, s.limit()>>20)
}

// room says why a layer of a shape that holds so many bytes a value, and so many besides, is too large, before
// anything is made for it.
func (b *Builder) room(shape []int, table, held int) string {
	n, ok := array.Fits(shape)
	if !ok {
		return fmt.Sprintf("an output of shape %v, want 1 to %d values", shape, array.MostValues)
	}
	s := b.size
	s.values, s.largest, s.held = s.values+n, max(s.largest, n), s.held+table*n+held
	return s.tooLarge("an output of shape", shape)
}
