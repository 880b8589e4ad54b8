// Package drawnet draws small ONNX networks at random, with every operator and attribute that
// package feedforward reads, in the forms of opsets 7 to 25. Tests read them, run them on ONNX
// Runtime, and compare. A drawn network has the shapes that its operators ask for, as far as this
// package knows; what a runtime refuses all the same is no network.
//
// Sizes repeat on purpose, so that a constant along the wrong axis, or an axis counted wrongly,
// still fits. Now and then a form is drawn that a reader has to refuse, such as a Softmax over the
// batch.
package drawnet

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/x448/float16"

	"github.com/certspec/certspec/internal/onnxfile"
)

// Network is a drawn network with a box of inputs.
type Network struct {
	Model        *onnxfile.Model
	Input        []int         // dimensions behind the batch
	Output       []int         // of the output for a batch of one, the batch included, as far as known
	Type         onnxfile.Type // of input and output: Float32, Float64 or Float16
	OpenBatch    bool          // else the batch is 1
	Lower, Upper []float64     // of each value of the input; values of Type, and of float32

	Images map[string][]int // dimensions of what convolutions and pools take, as far as known
}

// builder draws a network node by node.
type builder struct {
	*Choices
	net    *Network
	graph  *onnxfile.Graph
	opset  int
	odd    int  // forms that a reader may have to refuse come once in so many chances; 0: never
	wild   bool // weights of all exponents
	kind   onnxfile.Type
	numbed int // names given
	listed bool
}

// value is a result of a node, or the input. Its first dimension is the batch, counted as 1.
type value struct {
	name string
	dims []int
	mag  int // about the logarithm to base 2 of its largest values
}

func (v value) size() int { return product(v.dims) }

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// Draw draws a network by the choices.
func Draw(c *Choices) *Network {
	net := &Network{Type: onnxfile.Float32, Model: &onnxfile.Model{IRVersion: 10}, Images: map[string][]int{}}
	b := &builder{Choices: c, net: net, graph: &net.Model.Graph}
	b.odd = among(c, 0, 0, 0, 24, 24, 12, 6, 6)
	b.wild = c.weighed(2, 1) == 1
	b.opset = among(c, 17, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 20, 21, 22, 23, 24, 25)
	b.kind = []onnxfile.Type{onnxfile.Float32, onnxfile.Float64, onnxfile.Float16}[c.weighed(18, 1, 1)]
	net.Type = b.kind
	net.OpenBatch = c.upTo(3) < 2
	switch c.upTo(6) {
	case 4:
		net.Model.IRVersion, b.listed = 3, true // initializers are inputs, too
	case 5:
		net.Model.IRVersion = 8
	}
	domain := ""
	if c.once(16) {
		domain = "ai.onnx"
	}
	net.Model.Opsets = []onnxfile.OperatorSet{{Domain: domain, Version: int64(b.opset)}}
	b.graph.Name = "drawn"
	x := b.input()
	for range c.weighed(1, 3, 4, 4, 3, 2) {
		x = b.block(x)
	}
	x = b.end(x)
	net.Output = x.dims
	b.graph.Outputs = []onnxfile.Value{{Name: x.name, Type: net.Type, Dims: b.declared(x.dims)}}
	return net
}

// declared are dimensions as the file says them.
func (b *builder) declared(dims []int) []onnxfile.Dim {
	out := make([]onnxfile.Dim, len(dims))
	for i, d := range dims {
		out[i] = onnxfile.Dim{Size: int64(d)}
	}
	if b.net.OpenBatch && len(out) > 0 {
		out[0] = onnxfile.Dim{Name: "N"}
	}
	return out
}

// input draws the input's shape and the box.
func (b *builder) input() value {
	small := func() int { return 1 + b.weighed(1, 3, 3, 1, 1) }
	switch b.weighed(30, 50, 10, 1) {
	case 3: // long sums
		b.net.Input = []int{b.between(100, 300)}
	case 0:
		b.net.Input = []int{1 + b.upTo(6)}
	case 1:
		if s := 1 + b.weighed(1, 4, 3, 1); b.upTo(2) == 0 {
			b.net.Input = []int{s, s, s}
		} else {
			b.net.Input = []int{1 + b.weighed(3, 2, 2, 1), small(), small()}
		}
	default:
		b.net.Input = []int{small(), small()}
	}
	x := value{name: "x", dims: append([]int{1}, b.net.Input...)}
	if b.wild {
		x.mag = among(b.Choices, 0, 0, 0, 100, -100, -130)
	}
	width := []float64{0.25, 1, 0x1p-7, 0x1p-20, 0}[b.weighed(4, 3, 2, 1, 1)]
	centre := among(b.Choices, 0.5, 0, 0.25, -0.25)
	r := b.numbers()
	for range x.size() {
		lo := centre + (r.Float64()-0.5)/2 - width/2
		hi := lo + width
		if r.IntN(8) == 0 {
			hi = lo
		}
		lo, hi = b.single(math.Ldexp(lo, x.mag)), b.single(math.Ldexp(hi, x.mag))
		b.net.Lower, b.net.Upper = append(b.net.Lower, lo), append(b.net.Upper, max(lo, hi))
	}
	b.graph.Inputs = append(b.graph.Inputs, onnxfile.Value{Name: "x", Type: b.kind, Dims: b.declared(x.dims)})
	return x
}

// single rounds to a value that the network's type and float32 hold.
func (b *builder) single(v float64) float64 {
	if b.kind == onnxfile.Float16 {
		return rounded(v, onnxfile.Float16)
	}
	return rounded(v, onnxfile.Float32)
}

// rounded is v in a type, at its largest value where it is larger.
func rounded(v float64, kind onnxfile.Type) float64 {
	switch kind {
	case onnxfile.Float16:
		return float64(float16.Fromfloat32(float32(min(max(v, -65504), 65504))).Float32())
	case onnxfile.Float32:
		return float64(float32(min(max(v, -math.MaxFloat32), math.MaxFloat32)))
	}
	return v
}

func (b *builder) name(prefix string) string {
	b.numbed++
	return fmt.Sprintf("%s%d", prefix, b.numbed)
}

// node adds a node with one output and returns its name.
func (b *builder) node(op string, inputs []string, attributes ...onnxfile.Attribute) string {
	n := onnxfile.Node{Op: op, Name: b.name("n"), Inputs: inputs, Outputs: []string{b.name("v")},
		Attributes: attributes}
	b.graph.Nodes = append(b.graph.Nodes, n)
	return n.Outputs[0]
}

// result is node for a value of these dimensions.
func (b *builder) result(op string, in value, dims []int, inputs []string, attributes ...onnxfile.Attribute) value {
	return value{b.node(op, append([]string{in.name}, inputs...), attributes...), dims, in.mag}
}

// last is the node that was added last.
func (b *builder) last() *onnxfile.Node { return &b.graph.Nodes[len(b.graph.Nodes)-1] }

// strange is true where a form that a reader may have to refuse is to be drawn.
func (b *builder) strange() bool { return b.odd > 0 && b.once(b.odd) }

// weights draws n factors for sums of so many products of values of magnitude mag, and the
// magnitude of the sums.
func (b *builder) weights(n, products, mag int) (w []float64, out int) {
	exponent := -bits(products)/2 + b.between(-1, 1)
	if b.wild {
		target := mag
		switch b.weighed(4, 2, 1, 1) {
		case 1:
			target = b.between(-100, 110)
		case 2:
			target = b.between(112, 132)
		case 3:
			target = b.between(-150, -118)
		}
		exponent = min(max(target-mag-bits(products)/2, -149), 127)
	}
	if b.kind == onnxfile.Float16 {
		exponent = min(max(exponent, -20), 14)
	}
	style, r := b.weighed(6, 1, 1, 1), b.numbers()
	w = make([]float64, n)
	for i := range w {
		v := min(max(r.NormFloat64(), -3), 3)
		switch style {
		case 1: // sums that cancel
			if i%2 == 1 {
				w[i] = -w[i-1]
				continue
			}
		case 2: // whole numbers
			v = math.Round(v)
		case 3: // exponents of all sizes within a layer
			if b.wild {
				v *= math.Ldexp(1, -r.IntN(200))
			} else {
				v *= math.Ldexp(1, -r.IntN(20))
			}
		}
		w[i] = b.single(math.Ldexp(v, exponent))
	}
	return w, min(max(exponent+mag+bits(products)/2, -150), 128)
}

// bits is the logarithm to base 2, rounded up.
func bits(n int) int { return int(math.Ceil(math.Log2(float64(max(n, 1))))) }

// plain are n values of ordinary size.
func plain(r *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(float32(r.NormFloat64()))
	}
	return v
}

// offsets draws n values to be added to results of that magnitude.
func (b *builder) offsets(n, mag int) []float64 {
	v, exponent := plain(b.numbers(), n), 0
	if b.wild {
		exponent = min(max(mag+b.between(-3, 1), -149), 125)
	}
	for i := range v {
		v[i] = b.single(math.Ldexp(v[i], exponent))
	}
	return v
}
