// Package layergraph makes a graph of GoMLX out of the layers of a feedforward.Network: the same function in
// float32, batch first.
//
// Images lie channels last, whatever the file has, as in our own networks: so package xlakernels takes the
// convolutions. A transposition of the file renames axes, and nothing moves. Behind images, the weights of a
// dense layer are put in the order of its input.
package layergraph

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/feedforward/parts"
)

// Revision changes with the bits that graphs compute.
const Revision = 1

// Network is one of layers, planned. Forward may be called several times.
type Network struct {
	Weights []modelfile.Tensor

	steps   []step
	outputs form
	head    string
}

// step is a layer; in are the steps that it reads.
type step struct {
	in    []int
	build func(b *build, in []*Node) *Node
	again bool // several layers read it
}

// build is a graph under way.
type build struct {
	native bool // the backend has a fast convolution
	weight func(name string) *Node
}

// form says how the values of an image lie in a node: axis order[i] of dims is axis 1 + i. The shape of the
// layer may be another one, with as many values.
type form struct{ dims, order []int }

// New plans the graph of layers, with the operator that was taken off behind them: "Softmax", "LogSoftmax"
// or "". Errors: layers that no file has, and weights that float32 does not hold.
func New(layers []parts.Layer, head string) (*Network, error) {
	p := &planner{forms: []form{plain(layers[0].Shape)}, shapes: [][]int{layers[0].Shape}}
	p.steps = make([]step, len(layers))
	read := make([]bool, len(layers))
	for i, l := range layers[1:] {
		p.at = strconv.Itoa(1 + i)
		build, out := p.layer(&l)
		if build == nil {
			return nil, fmt.Errorf("layer %q: %s has no form in a graph", l.Name, l.Op)
		}
		for _, in := range l.In {
			p.steps[in].again, read[in] = read[in], true
		}
		p.steps[1+i] = step{in: l.In, build: build}
		p.forms, p.shapes = append(p.forms, out), append(p.shapes, l.Shape)
	}
	infinite := func(v float32) bool { return math.IsInf(float64(v), 0) }
	for _, w := range p.Weights {
		if slices.ContainsFunc(w.Values, infinite) {
			return nil, fmt.Errorf("a weight of layer %q is above what float32 holds", w.Name)
		}
	}
	p.outputs, p.head = p.forms[len(p.forms)-1], head
	return &p.Network, nil
}

// Forward builds the graph: from images [N, height, width, channels], or another input in the shape of layer
// 0, to outputs [N, classes]. weight gives the nodes of Weights by name.
func (g *Network) Forward(input *Node, weight func(name string) *Node) *Node {
	b := &build{native: input.Graph().Backend().String() != "go", weight: weight}
	nodes := []*Node{input}
	for _, s := range g.steps[1:] {
		in := make([]*Node, len(s.in))
		for i, layer := range s.in {
			in[i] = nodes[layer]
		}
		x := s.build(b, in)
		if s.again && b.native {
			x = OptimizationBarrier(x) // so that XLA computes it once
		}
		nodes = append(nodes, x)
	}
	x := g.outputs.flat(nodes[len(nodes)-1])
	switch g.head {
	case "Softmax":
		x = Softmax(x, 1)
	case "LogSoftmax":
		x = LogSoftmax(x, 1)
	}
	return x
}

// plain is the form of values in their order.
func plain(dims []int) form {
	order := make([]int, len(dims))
	for i := range order {
		order[i] = i
	}
	return form{dims, order}
}

// row is the form of values in their order along one axis.
func row(f form) form { return plain([]int{len(f.places())}) }

// image is the form of channels × height × width, channels last.
func image(dims []int) form { return form{dims, []int{1, 2, 0}} }

// stored are the dimensions of a node behind its batch.
func (f form) stored() []int {
	out := make([]int, len(f.order))
	for i, axis := range f.order {
		out[i] = f.dims[axis]
	}
	return out
}

// places are the values of the node in its order: where each stands in the layer.
func (f form) places() []int {
	steps, n := make([]int, len(f.dims)), 1
	for i := len(f.dims) - 1; i >= 0; i-- {
		steps[i], n = n, n*f.dims[i]
	}
	places := []int{0}
	for _, axis := range f.order {
		var next []int
		for _, at := range places {
			for i := range f.dims[axis] {
				next = append(next, at+i*steps[axis])
			}
		}
		places = next
	}
	return places
}

// to brings a node of this form into another.
func (f form) to(x *Node, want form) *Node {
	if slices.Equal(f.dims, want.dims) {
		if slices.Equal(f.order, want.order) {
			return x
		}
		axes := []int{0}
		for _, axis := range want.order {
			axes = append(axes, 1+slices.Index(f.order, axis))
		}
		return TransposeAllDims(x, axes...)
	}
	x = f.to(x, plain(f.dims))
	x = Reshape(x, append([]int{x.Shape().Dimensions[0]}, want.dims...)...)
	return plain(want.dims).to(x, want)
}

// flat gives rows of the layer's values.
func (f form) flat(x *Node) *Node {
	x = f.to(x, plain(f.dims))
	return Reshape(x, x.Shape().Dimensions[0], -1)
}

// planner makes the steps.
type planner struct {
	Network
	forms  []form
	shapes [][]int
	at     string // the layer under way, in the names of its weights
}

// tensor adds a weight and returns its name.
func (p *planner) tensor(name string, dims []int, values []float64) string {
	t := modelfile.Tensor{Name: name, Shape: dims, Values: make([]float32, len(values))}
	for i, v := range values {
		t.Values[i] = float32(v)
	}
	p.Weights = append(p.Weights, t)
	return name
}

// along adds a weight for values in a form, of which at gives that of a place. Axes along which all are equal
// have length 1.
func (p *planner) along(name string, f form, at func(place int) float64) string {
	dims := f.stored()
	values := make([]float64, 0, len(dims))
	for _, place := range f.places() {
		values = append(values, at(place))
	}
	inner := 1
	for axis := len(dims) - 1; axis >= 0; axis-- {
		n := dims[axis]
		if block := n * inner; equalAlong(values, n, inner) {
			kept := make([]float64, 0, len(values)/n)
			for i := 0; i < len(values); i += block {
				kept = append(kept, values[i:i+inner]...)
			}
			values, dims[axis] = kept, 1
		}
		inner *= dims[axis]
	}
	return p.tensor(p.at+"/"+name, append([]int{1}, dims...), values)
}

// equalAlong reports whether n blocks of inner values that follow each other are equal, everywhere.
func equalAlong(values []float64, n, inner int) bool {
	for i, v := range values {
		if v != values[i/(n*inner)*(n*inner)+i%inner] {
			return false
		}
	}
	return true
}
