package export

import (
	"math"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/pixel"
)

// builder makes a graph out of the weights of a network. Its methods take and give the
// names of activations, [batch, channels, height, width].
type builder struct {
	graph   onnxfile.Graph
	weights map[string]modelfile.Tensor
	flat    bool // something was flattened
}

func newBuilder(m *modelfile.Model) *builder {
	b := &builder{weights: map[string]modelfile.Tensor{}}
	for _, t := range m.Weights {
		b.weights[t.Name] = t
	}
	return b
}

func (b *builder) tensor(name string) modelfile.Tensor {
	t, found := b.weights[name]
	if !found {
		panic("export: the network has no tensor " + name)
	}
	return t
}

// node adds a node with one output of its own name.
func (b *builder) node(op, name string, inputs []string, attributes ...onnxfile.Attribute) string {
	b.graph.Nodes = append(b.graph.Nodes, onnxfile.Node{
		Op: op, Name: name, Inputs: inputs, Outputs: []string{name}, Attributes: attributes,
	})
	return name
}

func (b *builder) constant(name string, values []float32, dims ...int) string {
	sides := make([]int64, len(dims))
	for i, d := range dims {
		sides[i] = int64(d)
	}
	b.graph.Initializers = append(b.graph.Initializers, onnxfile.Float32Tensor(name, values, sides...))
	return name
}

// normalized applies the input layer.
func (b *builder) normalized(a nets.Architecture, x string) string {
	mean, deviation := a.Normalization()
	if mean != nil {
		x = b.node("Sub", "centered", []string{x, b.constant("input/mean", narrow(mean), len(mean), 1, 1)})
	}
	if deviation != nil {
		x = b.node("Div", "standardized", []string{x, b.constant("input/deviation", narrow(deviation), len(deviation),
			1, 1)})
	}
	return x
}

func narrow(values []float64) []float32 {
	out := make([]float32, len(values))
	for i, v := range values {
		out[i] = float32(v)
	}
	return out
}

// factors are batch normalisation as y = x·factor + bias, per channel.
func (b *builder) factors(norm string) (factor, bias []float64) {
	scale, shift := b.tensor(norm+"/scale").Values, b.tensor(norm+"/shift").Values
	mean, variance := b.tensor(norm+"/mean").Values, b.tensor(norm+"/variance").Values
	for c := range scale {
		factor = append(factor, float64(scale[c])/math.Sqrt(float64(variance[c])+netparts.NormEpsilon))
		bias = append(bias, float64(shift[c])-float64(mean[c])*factor[c])
	}
	return factor, bias
}

// affine is a batch normalisation with no convolution before it.
func (b *builder) affine(l netparts.Layer, x string) string {
	dims := func(channels int) []int {
		if l.Flat {
			return []int{channels}
		}
		return []int{channels, 1, 1}
	}
	factor, bias := b.factors(l.Name)
	x = b.node("Mul", l.Name+"/scaled", []string{x, b.constant(l.Name+"/factor", narrow(factor), dims(len(factor))...)})
	return b.node("Add", l.Name, []string{x, b.constant(l.Name+"/bias", narrow(bias), dims(len(bias))...)})
}

// flatten makes rows of images.
func (b *builder) flatten(x string) string {
	name := "flat"
	if b.flat {
		name = x + "/flat"
	}
	b.flat = true
	return b.node("Flatten", name, []string{x})
}

func ints(name string, values ...int64) onnxfile.Attribute {
	return onnxfile.Attribute{Name: name, Kind: onnxfile.KindInts, Ints: values}
}

// folded is a convolution whose outputs are scaled by factors and moved by biases.
func (b *builder) folded(l netparts.Layer, x string, factors, biases []float64) string {
	conv, stride := l.Name, l.Stride
	kernel := b.tensor(conv + "/kernel") // [size, size, in, out]
	if l.Bias {
		for o, v := range b.tensor(conv + "/bias").Values {
			biases[o] += float64(v) * factors[o]
		}
	}
	size, in, out := kernel.Shape[0], kernel.Shape[2], kernel.Shape[3]
	folded := make([]float32, len(kernel.Values)) // [out, in, size, size]
	for o := range out {
		for i := range in {
			for p := range size * size {
				folded[(o*in+i)*size*size+p] = float32(float64(kernel.Values[(p*in+i)*out+o]) * factors[o])
			}
		}
	}
	k, pad, s := int64(size), int64(size-1)/2, int64(stride)
	return b.node("Conv", conv, []string{
		x,
		b.constant(conv+"/weight", folded, out, in, size, size),
		b.constant(conv+"/bias", narrow(biases), out),
	}, ints("kernel_shape", k, k), ints("strides", s, s), ints("pads", pad, pad, pad, pad))
}

// join is the posterior of logits and of one value h, softplus(h + Δ + ln K + max(log softmax, −100)).
func (b *builder) join(name, logits, h string, classes int, shift float64) string {
	p := b.node("LogSoftmax", name+"/log-softmax", []string{logits}, onnxfile.Attribute{Name: "axis",
		Kind: onnxfile.KindInt, Int: -1})
	p = b.node("Clip", name+"/log-p", []string{p, b.constant(name+"/least", []float32{netparts.LeastLogP}),
		b.constant(name+"/most", []float32{0})})
	h = b.node("Add", name+"/h", []string{h, b.constant(name+"/classes",
		narrow([]float64{math.Log(float64(classes)) + shift}), 1)})
	return b.node("Softplus", name, []string{b.node("Add", name+"/sum", []string{p, h})})
}

// mixture is ln p(x|in) − ln p(x|out) of two mixtures; see nets.CCU.
func (b *builder) mixture(name, x string, of pixel.Shape) string {
	d, pixels := of.Len(), of.Height*of.Width
	transform := b.tensor(name + "/transform").Values
	ordered := make([]float32, 0, len(transform))
	for c := range of.Channels {
		for p := range pixels {
			ordered = append(ordered, transform[(p*of.Channels+c)*d:][:d]...)
		}
	}
	w := b.node("Gemm", name+"/white", []string{x, b.constant(name+"/transform", ordered, d, d),
		b.constant(name+"/shift", b.tensor(name+"/shift").Values, d)})
	squares := b.node("Mul", name+"/squares", []string{w, w})
	var sides []string
	for _, side := range []string{"in", "out"} {
		at := name + "/" + side
		means, variances, weights := b.tensor(at+"/means").Values, b.tensor(at+"/log-variances").Values,
			b.tensor(at+"/log-weights").Values
		n := len(weights)
		slopes, halves, offsets := make([]float32, d*n), make([]float32, d*n), make([]float64, n)
		for k := range n {
			half, norm := math.Exp(-float64(variances[k]))/2, 0.0
			for j := range d {
				v := float64(means[k*d+j])
				norm += v * v
				slopes[j*n+k], halves[j*n+k] = float32(2*half*v), float32(-half)
			}
			offsets[k] = float64(weights[k]) - float64(d)/2*float64(variances[k]) - half*norm
		}
		near := b.node("Gemm", at+"/products", []string{w, b.constant(at+"/slopes", slopes, d, n),
			b.constant(at+"/offsets", narrow(offsets), n)})
		far := b.node("MatMul", at+"/norms", []string{squares, b.constant(at+"/halves", halves, d, n)})
		terms := b.node("Add", at+"/terms", []string{near, far})
		sides = append(sides, b.node("ReduceLogSumExp", at+"/density", []string{terms}, ints("axes", 1),
			onnxfile.Attribute{Name: "keepdims", Kind: onnxfile.KindInt, Int: 1}))
	}
	return b.node("Sub", name, sides)
}

// dense is a dense layer. Its inputs come from activations of so many pixels, channel by
// channel, where the network's own order is pixel by pixel.
func (b *builder) dense(l netparts.Layer, x string, pixels int) string {
	name := l.Name
	kernel := b.tensor(name + "/kernel")
	inputs, outputs := kernel.Shape[0], kernel.Shape[1]
	channels := inputs / pixels
	ordered := make([]float32, len(kernel.Values))
	for c := range channels {
		for p := range pixels {
			copy(ordered[(c*pixels+p)*outputs:][:outputs], kernel.Values[(p*channels+c)*outputs:])
		}
	}
	if l.Negative {
		for i, w := range ordered {
			ordered[i] = float32(-math.Exp(float64(w)))
		}
	}
	takes := []string{x, b.constant(name+"/weight", ordered, inputs, outputs)}
	if l.Bias {
		takes = append(takes, b.constant(name+"/bias", b.tensor(name+"/bias").Values, outputs))
	}
	return b.node("Gemm", name, takes)
}

// maximum is that over 3×3 or 2×2 pixels of an image.
func (b *builder) maximum(l netparts.Layer, x string, of pixel.Shape) string {
	size := int64(l.Size)
	pads := ints("pads", 1, 1, 1, 1)
	if size == 2 {
		pads = ints("pads", 0, 0, int64(of.Height%2), int64(of.Width%2))
	}
	return b.node("MaxPool", l.Name, []string{x}, ints("kernel_shape", size, size), ints("strides", 2, 2), pads)
}
