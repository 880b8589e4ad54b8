package onnx

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/pixel"
)

// Most exported files take a batch of one size, often of one image, because they were made with an
// example of that size. Many of them compute image by image all the same, and run several times as
// fast on more. symbolic makes a graph that takes any number of images, where every node allows it;
// same then compares the two.

// symbolicPart is the number of images that a network takes at once whose batch was made symbolic:
// those of half a million values, and no fewer than 4. Small images gain by large batches; of
// 224×224 pixels only dense layers do, and the intermediate results of many images cost more than
// that.
func symbolicPart(size int) int { return min(max(1<<19/size, 4), cachedPart) }

// role is how a value depends on the images.
type role int

const (
	free    role = iota // not at all
	sized               // on their number alone
	batched             // its first axis is the batch, and row i depends on image i alone
)

// symbolic returns the graph with a batch of any size, or why there is none. shapes gives the
// shapes of the named values of the graph as it is.
func symbolic(m *onnxfile.Model, input, output string, shapes func(m *onnxfile.Model, names []string) ([][]int64,
	error)) (*onnxfile.Model, error) {
	copied, err := onnxfile.Decode(onnxfile.Encode(m))
	if err != nil {
		return nil, err
	}
	for _, f := range copied.Functions {
		if f.Domain == "" || f.Domain == "ai.onnx" {
			return nil, fmt.Errorf("it has a function %s in ONNX's own domain", f.Name)
		}
	}
	s := &symbolizer{graph: &copied.Graph, roles: map[string]role{}, dims: map[string][]int64{},
		constants: map[string]*onnxfile.Tensor{}}
	s.opset = copied.Opset()
	s.roles[input] = batched
	for i := range s.graph.Initializers {
		t := &s.graph.Initializers[i]
		s.dims[t.Name], s.constants[t.Name] = t.Dims, t
	}
	var names []string
	for i := range s.graph.Nodes {
		names = append(names, s.graph.Nodes[i].Outputs...)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	found, err := shapes(copied, names)
	if err != nil {
		return nil, fmt.Errorf("the sizes of its values cannot be found: %w", err)
	}
	for i, name := range names {
		s.dims[name] = found[i]
	}
	for i := range s.graph.Inputs {
		if v := &s.graph.Inputs[i]; v.Name == input {
			for _, d := range v.Dims {
				s.dims[input] = append(s.dims[input], d.Size)
			}
			if len(v.Dims) == 0 {
				return nil, fmt.Errorf("input %q has no shape", input)
			}
			v.Dims[0] = onnxfile.Dim{Name: "batch"}
		}
	}
	s.batch = s.dims[input][0]
	if err := s.nodes(); err != nil {
		return nil, err
	}
	if s.roles[output] != batched {
		return nil, fmt.Errorf("output %q does not depend on the images", output)
	}
	for _, v := range s.graph.Outputs {
		if v.Name == output {
			v.Dims = nil
			for _, d := range s.dims[output] {
				v.Dims = append(v.Dims, onnxfile.Dim{Size: d})
			}
			v.Dims[0] = onnxfile.Dim{Name: "batch"}
			s.graph.Outputs = []onnxfile.Value{v}
			break
		}
	}
	s.graph.Values = nil // they tell the sizes of before
	return copied, nil
}

type symbolizer struct {
	graph     *onnxfile.Graph
	opset     int64
	batch     int64
	roles     map[string]role
	dims      map[string][]int64
	constants map[string]*onnxfile.Tensor
	added     int
}

func (s *symbolizer) nodes() error {
	var nodes []onnxfile.Node
	for _, n := range s.graph.Nodes {
		var before *onnxfile.Node
		out := free
		for _, name := range n.Inputs {
			out = max(out, s.roles[name])
		}
		if slices.ContainsFunc(n.Attributes, func(a onnxfile.Attribute) bool {
			return a.Graph != nil || a.Graphs != nil
		}) {
			return fmt.Errorf("node %q (%s) has a graph of its own inside", n.Name, n.Op)
		}
		if n.Op == "Constant" && len(n.Outputs) == 1 {
			if a := n.Attribute("value"); a != nil && a.Tensor != nil {
				s.constants[n.Outputs[0]] = a.Tensor
			}
		}
		switch {
		case n.Op == "Shape" && out == batched:
			out = sized
		case out == batched:
			why := ""
			if before, why = s.allow(&n); why != "" {
				return fmt.Errorf("node %q (%s) %s", n.Name, n.Op, why)
			}
		}
		for _, name := range n.Outputs {
			if d := s.dims[name]; out == batched && name != "" && (len(d) == 0 || d[0] != s.batch) {
				return fmt.Errorf("node %q (%s) gives %v for %d images", n.Name, n.Op, d, s.batch)
			}
			s.roles[name] = out
		}
		if before != nil {
			nodes = append(nodes, *before)
		}
		nodes = append(nodes, n)
	}
	s.graph.Nodes = nodes
	return nil
}

// each says what operators do with the rows of their first input: those that compute each row by itself, whatever
// their attributes.
var each = func() map[string]bool {
	set := map[string]bool{}
	for _, op := range []string{
		"Relu", "LeakyRelu", "Sigmoid", "Tanh", "Elu", "Selu", "Celu", "Clip", "Exp", "Log", "Sqrt", "Abs", "Neg",
		"Erf", "HardSigmoid", "HardSwish",
		"Softplus", "Softsign", "Gelu", "Mish", "Identity", "Cast", "Floor", "Ceil", "Round", "Reciprocal",
		"ThresholdedRelu", "Sin", "Cos", "Not", "Sign", "Swish",
		"LRN", "Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool",
		"GlobalLpPool",
		"InstanceNormalization", "GroupNormalization", "DepthToSpace", "SpaceToDepth",
	} {
		set[op] = true
	}
	return set
}()

var broadcasting = map[string]bool{"Add": true, "Sub": true, "Mul": true, "Div": true, "Pow": true, "Min": true,
	"Max": true, "Sum": true, "Mean": true,
	"Mod": true, "And": true, "Or": true, "Xor": true, "Equal": true, "Greater": true, "Less": true,
	"GreaterOrEqual": true, "LessOrEqual": true,
	"Where": true, "PRelu": true}

const mixes = "may mix the images of a batch"

// allow says why a node with a batch among its inputs does not compute image by image, or "". A node that gets
// the batch's size as a constant gets another one, made by the node before.
func (s *symbolizer) allow(n *onnxfile.Node) (before *onnxfile.Node, why string) {
	if n.Domain != "" && n.Domain != "ai.onnx" {
		return nil, mixes
	}
	least := 1
	switch n.Op {
	case "MatMul", "Gemm", "QuantizeLinear", "DequantizeLinear":
		least = 2
	}
	if len(n.Inputs) < least || len(n.Outputs) == 0 {
		return nil, fmt.Sprintf("has %d inputs and %d outputs; expected at least %d and 1", len(n.Inputs),
			len(n.Outputs), least)
	}
	first := n.Inputs[0]
	rank := int64(len(s.dims[first]))
	axis := func(a int64) int64 { // counted from the front
		if a < 0 {
			return a + rank
		}
		return a
	}
	onlyFirst := s.roles[first] == batched
	for _, name := range n.Inputs[1:] {
		onlyFirst = onlyFirst && s.roles[name] == free
	}
	ok := false
	switch {
	case broadcasting[n.Op]:
		ok = s.aligned(n)
	case n.Op == "Concat":
		ok = axis(n.Int("axis", 1)) != 0 && !slices.ContainsFunc(n.Inputs,
			func(name string) bool { return s.roles[name] != batched })
	case n.Op == "MatMul":
		ok = s.matMul(n)
	case n.Op == "Reshape":
		return s.reshape(n)
	case !onlyFirst:
	case each[n.Op], n.Op == "BatchNormalization" && n.Int("training_mode", 0) == 0:
		ok = len(n.Outputs) == 1 // places of maxima count through the batch; statistics are of training
	case n.Op == "Dropout":
		ok = len(n.Inputs) < 3 || n.Inputs[2] == ""
	case n.Op == "Softmax", n.Op == "LogSoftmax", n.Op == "Hardmax":
		missing := int64(-1)
		if s.opset < 13 {
			missing = 1
		}
		ok = axis(n.Int("axis", missing)) != 0
	case n.Op == "LayerNormalization":
		ok = axis(n.Int("axis", -1)) != 0
	case n.Op == "Flatten":
		ok = axis(n.Int("axis", 1)) == 1
	case n.Op == "Transpose":
		perm := n.Ints("perm")
		ok = len(perm) > 0 && perm[0] == 0
	case n.Op == "Gemm":
		ok = n.Int("transA", 0) == 0 && (len(n.Inputs) < 3 || s.spread(n.Inputs[2], 2))
	case n.Op == "Gather", n.Op == "Split":
		ok = axis(n.Int("axis", 0)) != 0
	case n.Op == "QuantizeLinear", n.Op == "DequantizeLinear":
		ok = len(s.dims[n.Inputs[1]]) == 0 || axis(n.Int("axis", 1)) != 0
	case n.Op == "Squeeze", n.Op == "Unsqueeze", n.Op == "ReduceMean", n.Op == "ReduceSum", n.Op == "ReduceMax",
		n.Op == "ReduceMin", n.Op == "ReduceL2",
		n.Op == "ReduceProd", n.Op == "ReduceSumSquare", n.Op == "ReduceL1", n.Op == "ReduceLogSumExp":
		if n.Op == "Unsqueeze" {
			rank = int64(len(s.dims[n.Outputs[0]]))
		}
		axes := s.list(n, "axes", 1)
		ok = len(axes) > 0 && !slices.ContainsFunc(axes, func(a int64) bool { return axis(a) == 0 })
	case n.Op == "Slice":
		axes := s.list(n, "axes", 3)
		ok = len(axes) > 0 && !slices.ContainsFunc(axes, func(a int64) bool { return axis(a) == 0 })
	case n.Op == "Pad":
		pads := s.list(n, "pads", 1)
		ok = len(n.Inputs) < 4 && int64(len(pads)) == 2*rank && pads[0] == 0 && pads[rank] == 0
	}
	if !ok {
		return nil, mixes
	}
	return nil, ""
}

// list is a list of whole numbers that is an attribute or, in later versions, a constant input; nil
// where it is neither.
func (s *symbolizer) list(n *onnxfile.Node, name string, input int) []int64 {
	if list := n.Ints(name); list != nil {
		return list
	}
	if input < len(n.Inputs) && s.constants[n.Inputs[input]] != nil {
		list, err := s.constants[n.Inputs[input]].Int64s()
		if err == nil {
			return list
		}
	}
	return nil
}

// spread reports whether a constant meets every row of a value of that rank alike.
func (s *symbolizer) spread(name string, rank int) bool {
	d := s.dims[name]
	return name == "" || len(d) < rank || len(d) == rank && d[0] == 1
}

// aligned reports whether the rows of all batches among the inputs meet each other, and constants meet all rows alike.
func (s *symbolizer) aligned(n *onnxfile.Node) bool {
	if n.Attribute("axis") != nil || n.Attribute("broadcast") != nil { // before opset 7
		return false
	}
	rank := len(s.dims[n.Outputs[0]])
	for _, name := range n.Inputs {
		switch s.roles[name] {
		case batched:
			if len(s.dims[name]) != rank {
				return false
			}
		case free:
			if !s.spread(name, rank) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func (s *symbolizer) matMul(n *onnxfile.Node) bool {
	a, b := n.Inputs[0], n.Inputs[1]
	rank := func(name string) int { return len(s.dims[name]) }
	switch {
	case s.roles[a] == sized || s.roles[b] == sized:
		return false
	case s.roles[a] == batched && s.roles[b] == batched:
		return rank(a) == rank(b) && rank(a) > 2
	case s.roles[a] == batched:
		return rank(a) >= 2 && (rank(b) <= 2 || s.spread(b, rank(a)))
	default:
		return rank(b) > 2 && (rank(a) <= 2 || s.spread(a, rank(b)))
	}
}

// reshape keeps the batch in front where it is there, and names the other sides as they are.
func (s *symbolizer) reshape(n *onnxfile.Node) (*onnxfile.Node, string) {
	from, to := s.dims[n.Inputs[0]], slices.Clone(s.dims[n.Outputs[0]])
	if s.roles[n.Inputs[0]] != batched || len(from) == 0 || len(to) == 0 || to[0] != s.batch {
		return nil, fmt.Sprintf("turns %v into %v", from, to)
	}
	to[0] = -1
	if slices.Contains(to[1:], 0) {
		return nil, "gives an empty value"
	}
	if n.Attribute("shape") != nil { // before opset 5
		n.Attributes = []onnxfile.Attribute{onnxfile.IntsAttribute("shape", to...)}
		return nil, ""
	}
	s.added++
	name := fmt.Sprintf("certspec shape %d", s.added)
	n.Inputs = []string{n.Inputs[0], name}
	n.Attributes = nil // allowzero
	return &onnxfile.Node{Op: "Constant", Outputs: []string{name},
		Attributes: []onnxfile.Attribute{onnxfile.TensorAttribute("value", onnxfile.Int64Tensor("", to...))}}, ""
}

// withShapes is the graph with outputs that are the shapes of the named values.
func withShapes(m *onnxfile.Model, names []string) (*onnxfile.Model, []string, error) {
	copied, err := onnxfile.Decode(onnxfile.Encode(m))
	if err != nil {
		return nil, nil, err
	}
	g := &copied.Graph
	g.Outputs = nil
	var outputs []string
	for i, name := range names {
		output := fmt.Sprintf("certspec shape of %d", i)
		g.Nodes = append(g.Nodes, onnxfile.Node{Op: "Shape", Inputs: []string{name}, Outputs: []string{output}})
		g.Outputs = append(g.Outputs, onnxfile.Value{Name: output, Type: onnxfile.Int64, Dims: []onnxfile.Dim{{}}})
		outputs = append(outputs, output)
	}
	return copied, outputs, nil
}

// trialImages are images that a network which mixes a batch would hardly survive: noise, black, white, a gradient,
// noise off the range, and the first one again.
func trialImages(shape pixel.Shape) classifier.Batch {
	const n = 6
	random := rand.New(rand.NewPCG(1, 2))
	batch := classifier.Batch{N: n, Grid: make([]int16, n*shape.Len())}
	for i := range n {
		image := batch.Grid[i*shape.Len() : (i+1)*shape.Len()]
		for j := range image {
			switch i {
			case 0:
				image[j] = int16(random.IntN(pixel.Steps + 1))
			case 2:
				image[j] = pixel.Steps
			case 3:
				image[j] = int16(j * pixel.Steps / len(image))
			case 4:
				image[j] = int16(128 + 128*random.NormFloat64())
			case 5:
				image[j] = batch.Grid[j]
			}
		}
	}
	return batch
}

// logitTolerance is how far outputs may differ by rounding, of the largest in the row: more where the graph
// computes in half precision.
func logitTolerance(m *onnxfile.Model) float64 {
	for t := range m.AllTensors() {
		if t.Type == onnxfile.Float16 || t.Type == onnxfile.BFloat16 {
			return 2e-2
		}
	}
	return 1e-4
}

// same compares two rows of outputs for each image: classes may differ only where outputs do not by more than
// the tolerance.
func same(a, b []float32, classes int, tolerance float64) error {
	for i := 0; i < len(a); i += classes {
		x, y := a[i:i+classes], b[i:i+classes]
		largest, difference := 0.0, 0.0
		for c := range x {
			u, v := float64(x[c]), float64(y[c])
			if finite := !math.IsNaN(u-u) && !math.IsNaN(v-v); !finite {
				if math.IsNaN(u-u) != math.IsNaN(v-v) {
					return fmt.Errorf("image %d gives output %v by itself and %v in a batch", i/classes, u, v)
				}
				continue
			}
			largest, difference = max(largest, math.Abs(u)), max(difference, math.Abs(u-v))
		}
		if difference > tolerance*largest {
			return fmt.Errorf("outputs of image %d differ by %.2g of the largest, which is more than rounding explains",
				i/classes, difference/largest)
		}
	}
	return nil
}
