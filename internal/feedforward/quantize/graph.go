package quantize

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/onnxfile"
)

// graph is a network on its way.
type graph struct {
	*onnxfile.Graph
	ranges    map[string]Range
	constants map[string]*onnxfile.Tensor
	prefix    string         // of names that are made, which no name of the file has
	users     map[string]int // of results; an output of the graph counts
	outputs   map[string]bool
	made      map[string]string // results that are uint8: what reads them instead
	nodes     []onnxfile.Node   // the new ones
	tensors   []onnxfile.Tensor
	record    *Record
}

// hoist makes constants of nodes that are nothing else.
func (g *graph) hoist() {
	g.Nodes = slices.DeleteFunc(g.Nodes, func(n onnxfile.Node) bool {
		value := n.Attribute("value")
		if n.Op != "Constant" || value == nil || value.Tensor == nil {
			return false
		}
		t := *value.Tensor
		t.Name = n.Outputs[0]
		g.Initializers = append(g.Initializers, t)
		return true
	})
}

func (g *graph) index() {
	g.constants, g.users, g.outputs = map[string]*onnxfile.Tensor{}, map[string]int{}, map[string]bool{}
	var names []string
	for i := range g.Initializers {
		g.constants[g.Initializers[i].Name] = &g.Initializers[i]
		names = append(names, g.Initializers[i].Name)
	}
	for _, n := range g.Nodes {
		for _, in := range n.Inputs {
			g.users[in]++
		}
		names = append(names, n.Outputs...)
	}
	if g.prefix == "" { // the first time
		for g.prefix = "int8/"; slices.ContainsFunc(names, func(name string) bool {
			return strings.HasPrefix(name, g.prefix)
		}); {
			g.prefix += "/"
		}
	}
	for _, out := range g.Outputs {
		g.users[out.Name]++
		g.outputs[out.Name] = true
	}
}

// values are the values of a constant input of so many dimensions in float32, nil where it is none.
func (g *graph) values(n *onnxfile.Node, input, dims int) (*onnxfile.Tensor, []float64) {
	if input >= len(n.Inputs) {
		return nil, nil
	}
	t := g.constants[n.Inputs[input]]
	if t == nil || t.Type != onnxfile.Float32 || len(t.Dims) != dims {
		return nil, nil
	}
	v, err := t.Float64s()
	if err != nil || len(v) == 0 || slices.ContainsFunc(v, func(v float64) bool { return v-v != 0 }) {
		return nil, nil
	}
	return t, v
}

// only is the place of the one node of that operator that reads a result alone, as its first input, or −1.
func (g *graph) only(result, op string) int {
	if g.users[result] != 1 {
		return -1
	}
	return slices.IndexFunc(g.Nodes, func(n onnxfile.Node) bool {
		return n.Op == op && len(n.Inputs) > 0 && n.Inputs[0] == result
	})
}

// fold makes one of a convolution and the normalisation behind it: with f = γ/√(variance + ε),
// weights w·f and bias (b − mean)·f + β.
func (g *graph) fold() {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Op != "Conv" {
			continue
		}
		at := g.only(n.Outputs[0], "BatchNormalization")
		w, kernel := g.values(n, 1, 4)
		if at < 0 || w == nil || len(g.Nodes[at].Outputs) != 1 || g.Nodes[at].Int("training_mode", 0) != 0 {
			continue
		}
		norm := &g.Nodes[at]
		var p [4][]float64 // γ, β, mean, variance
		channels := int(w.Dims[0])
		whole := true
		for k := range p {
			_, p[k] = g.values(norm, k+1, 1)
			whole = whole && len(p[k]) == channels
		}
		biased := len(n.Inputs) > 2 && n.Inputs[2] != ""
		b := make([]float64, channels)
		if biased {
			_, b = g.values(n, 2, 1)
		}
		if !whole || len(b) != channels {
			continue
		}
		kernel32, bias32 := make([]float32, len(kernel)), make([]float32, channels)
		for c := range channels {
			f := p[0][c] / math.Sqrt(p[3][c]+float64(norm.Float("epsilon", 1e-5)))
			bias32[c] = float32((b[c]-p[2][c])*f + p[1][c])
			for k := c * len(kernel) / channels; k < (c+1)*len(kernel)/channels; k++ {
				kernel32[k] = float32(kernel[k] * f)
			}
		}
		n.Outputs = slices.Clone(norm.Outputs)
		n.Inputs = []string{n.Inputs[0], g.prefix + n.Outputs[0] + "/folded/weight", g.prefix + n.Outputs[0] +
			"/folded/bias"}
		g.Initializers = append(g.Initializers, onnxfile.NewTensor(n.Inputs[1], kernel32, w.Dims...),
			onnxfile.NewTensor(n.Inputs[2], bias32, int64(channels)))
		norm.Op = "" // gone
		norm.Inputs = nil
	}
	g.Nodes = slices.DeleteFunc(g.Nodes, func(n onnxfile.Node) bool { return n.Op == "" })
	g.index()
}

// carries are operators that give values of their input on, so that steps stay the same.
var carries = []string{"MaxPool", "GlobalMaxPool", "Flatten", "Reshape", "Squeeze", "Unsqueeze", "Transpose",
	"Identity"}

var means = []string{"GlobalAveragePool", "AveragePool"}

// quantise goes through the nodes in their order.
func (g *graph) quantise() error {
	relu := map[int]bool{} // nodes that are in the one before
	for i := range g.Nodes {
		if relu[i] {
			continue
		}
		n := g.Nodes[i]
		if !g.integer(&n) {
			if shape := len(n.Inputs) > 0 && (slices.Contains(carries, n.Op) || n.Op == "Shape" ||
				n.Op == "Gather"); !shape && n.Op != "Constant" {
				g.record.Float32 = append(g.record.Float32, fmt.Sprintf("%s (%s)", nameOf(&n), n.Op))
			}
			n.Inputs = slices.Clone(n.Inputs)
			for k, in := range n.Inputs {
				if read := g.made[in]; read != "" {
					n.Inputs[k] = read
				}
			}
			g.nodes = append(g.nodes, n)
			continue
		}
		g.record.Integer++
		dynamic := 1
		if n.Op == "Add" {
			dynamic = 2
		}
		n.Inputs, n.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
		source := n.Inputs[0]
		for k := range dynamic {
			read, err := g.quantised(n.Inputs[k])
			if err != nil {
				return err
			}
			n.Inputs[k] = read
		}
		if n.Op == "Conv" || n.Op == "Gemm" {
			g.layer(&n, source)
		}
		out := n.Outputs[0]
		rectified := false
		if at := g.only(out, "Relu"); at >= 0 && !g.outputs[g.Nodes[at].Outputs[0]] &&
			(n.Op == "Conv" || n.Op == "Gemm" || n.Op == "Add") {
			relu[at], rectified = true, true
			out = g.Nodes[at].Outputs[0]
			n.Outputs[0] = out
		}
		g.nodes = append(g.nodes, n)
		switch {
		case g.outputs[out]:
		case slices.Contains(carries, n.Op):
			g.ranges[out] = g.record.Activations[source].Range
			fallthrough
		default:
			if rectified {
				r := g.ranges[out]
				g.ranges[out] = Range{0, r.High} // what is below is cut off by uint8
			}
			if _, err := g.quantised(out); err != nil {
				return err
			}
		}
	}
	return nil
}

// integer says whether a node can compute on integers.
func (g *graph) integer(n *onnxfile.Node) bool {
	if n.Domain != "" && n.Domain != "ai.onnx" || len(n.Inputs) == 0 || len(n.Outputs) != 1 {
		return false
	}
	constant := func(input int) bool { return g.constants[n.Inputs[input]] != nil }
	biased := len(n.Inputs) > 2 && n.Inputs[2] != ""
	switch {
	case n.Op == "Conv":
		w, _ := g.values(n, 1, 4)
		b, _ := g.values(n, 2, 1)
		return w != nil && (b != nil || !biased) && !constant(0) && !g.outputs[n.Outputs[0]]
	case n.Op == "Gemm":
		w, _ := g.values(n, 1, 2)
		b, _ := g.values(n, 2, 1)
		outputs := int64(0)
		if w != nil {
			outputs = w.Dims[1-n.Int("transB", 0)]
		}
		return w != nil && (!biased || b != nil && b.Dims[0] == outputs) && !constant(0) && n.Int("transA", 0) == 0 &&
			n.Float("alpha", 1) == 1 && n.Float("beta", 1) == 1
	case n.Op == "Add":
		return len(n.Inputs) == 2 && g.made[n.Inputs[0]] != "" && g.made[n.Inputs[1]] != "" && !g.outputs[n.Outputs[0]]
	case slices.Contains(carries, n.Op), slices.Contains(means, n.Op):
		return g.made[n.Inputs[0]] != "" && !g.outputs[n.Outputs[0]]
	}
	return false
}

// quantised puts QuantizeLinear and DequantizeLinear behind a result, once, and names what reads it.
func (g *graph) quantised(result string) (string, error) {
	if read := g.made[result]; read != "" {
		return read, nil
	}
	r, seen := g.ranges[result]
	if !seen {
		return "", fmt.Errorf("quantize: result %q has no range", result)
	}
	a := r.activation()
	g.record.Activations[result] = a
	name := g.prefix + result
	scale, zero, q, read := name+"/scale", name+"/zero", name+"/uint8", name+"/read"
	g.tensors = append(g.tensors, onnxfile.NewTensor(scale, []float32{a.Scale}), onnxfile.NewTensor(zero,
		[]uint8{a.Zero}))
	g.nodes = append(g.nodes,
		onnxfile.Node{Op: "QuantizeLinear", Name: q, Inputs: []string{result, scale, zero}, Outputs: []string{q}},
		onnxfile.Node{Op: "DequantizeLinear", Name: read, Inputs: []string{q, scale, zero}, Outputs: []string{read}})
	g.made[result] = read
	return read, nil
}

// layer gives a Conv or Gemm weights of int8 and a bias of int32, in steps of the input's scale times the weights'.
func (g *graph) layer(n *onnxfile.Node, source string) {
	input := g.record.Activations[source].Scale
	dims, axis := 4, int64(0)
	if n.Op == "Gemm" {
		dims, axis = 2, 1-n.Int("transB", 0)
	}
	t, w := g.values(n, 1, dims)
	_, b := g.values(n, 2, 1)
	outputs := int(t.Dims[axis])
	each := len(w) / outputs
	at := func(o, i int) int { return o*each + i }
	if axis == 1 {
		at = func(o, i int) int { return i*outputs + o }
	}
	q, scales := weights(w, b, outputs, at, input)
	name := g.prefix + n.Outputs[0]
	steps := func(part, of string, zeros onnxfile.Tensor, values onnxfile.Tensor, scales []float32) string {
		full := name + "/" + part
		values.Name, zeros.Name = full+"/"+of, full+"/zero"
		g.tensors = append(g.tensors, values, zeros, onnxfile.NewTensor(full+"/scale", scales, int64(outputs)))
		axis := axis
		if len(values.Dims) == 1 {
			axis = 0
		}
		g.nodes = append(g.nodes, onnxfile.Node{Op: "DequantizeLinear", Name: full, Inputs: []string{values.Name,
			full + "/scale", zeros.Name}, Outputs: []string{full},
			Attributes: []onnxfile.Attribute{onnxfile.IntAttribute("axis", axis)}})
		return full
	}
	n.Inputs[1] = steps("weight", "int8", onnxfile.NewTensor("", make([]int8, outputs), int64(outputs)),
		onnxfile.NewTensor("", q, t.Dims...), scales)
	if b == nil {
		return
	}
	whole, both := make([]int32, outputs), make([]float32, outputs)
	for o := range b {
		both[o] = input * scales[o]
		whole[o] = int32(min(max(math.RoundToEven(b[o]/float64(both[o])), math.MinInt32), math.MaxInt32))
	}
	n.Inputs[2] = steps("bias", "int32", onnxfile.NewTensor("", make([]int32, outputs), int64(outputs)),
		onnxfile.NewTensor("", whole, int64(outputs)), both)
}

// sweep puts the new graph in place of the old one, without constants that nobody reads.
func (g *graph) sweep() {
	g.Nodes = g.nodes
	used := map[string]bool{}
	for _, n := range g.Nodes {
		for _, in := range n.Inputs {
			used[in] = true
		}
	}
	unused := func(t onnxfile.Tensor) bool { return !used[t.Name] && !g.outputs[t.Name] }
	gone := map[string]bool{}
	for _, t := range g.Initializers {
		gone[t.Name] = unused(t)
	}
	g.Inputs = slices.DeleteFunc(g.Inputs, func(v onnxfile.Value) bool { return gone[v.Name] })
	g.Initializers = append(slices.DeleteFunc(g.Initializers, unused), g.tensors...)
	g.Values = nil // of results that may be gone
}

func (g *graph) operators() []string {
	var ops []string
	for _, n := range g.Graph.Nodes {
		ops = append(ops, n.Op)
	}
	slices.Sort(ops)
	return slices.Compact(ops)
}

func nameOf(n *onnxfile.Node) string {
	if n.Name != "" {
		return n.Name
	}
	return n.Outputs[0]
}
