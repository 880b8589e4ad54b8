package onnx

import (
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/testkit"
)

// one is a linear network for a batch of one image, with other nodes in the place of its first and behind its last.
func one(front []onnxfile.Node, back ...onnxfile.Node) (*linear, *onnxfile.Model) {
	l := &linear{shape: colour, classes: 3, form: "NCHW", kind: onnxfile.Float32, batch: 1, tail: back}
	m := l.model()
	if front != nil {
		m.Graph.Nodes = append(front, m.Graph.Nodes[1:]...)
	}
	return l, m
}

func node(op, inputs, output string, attributes ...onnxfile.Attribute) onnxfile.Node {
	return onnxfile.Node{Op: op, Name: "node of " + output, Inputs: strings.Fields(inputs), Outputs: []string{output}, Attributes: attributes}
}

// Graphs that name one image and compute image by image: the nodes in front only move values, so that the
// answers equal those of the definition, for batches of any size.
func TestBatchMadeSymbolic(t *testing.T) {
	needLibrary(t)
	size := int64(colour.Len())
	constant := func(name string, values ...int64) onnxfile.Node {
		return node("Constant", "", name, onnxfile.TensorAttribute("value", onnxfile.Int64Tensor("", values...)))
	}
	axis := func(a int64) onnxfile.Attribute { return onnxfile.IntAttribute("axis", a) }
	swap := onnxfile.IntsAttribute("perm", 0, 2, 1, 3, 4)
	for name, front := range map[string][]onnxfile.Node{
		"Flatten":                     nil,
		"Reshape to one row":          {constant("shape", 1, size), node("Reshape", "image shape", "flat")},
		"Reshape to one row of any":   {constant("shape", 1, -1), node("Reshape", "image shape", "flat")},
		"Reshape to rows of so many":  {constant("shape", -1, size), node("Reshape", "image shape", "flat")},
		"Reshape to rows of the same": {constant("shape", 0, -1), node("Reshape", "image shape", "flat")},
		"Reshape by the shape": {node("Shape", "image", "sides"), constant("zero", 0), node("Gather", "sides zero", "n"), constant("rest", -1),
			node("Concat", "n rest", "shape", axis(0)), node("Reshape", "image shape", "flat")},
		"channels in groups and back": {constant("groups", 1, 1, 3, 5, 4), node("Reshape", "image groups", "grouped"), node("Transpose", "grouped", "turned", swap),
			node("Transpose", "turned", "back", swap), constant("shape", 1, size), node("Reshape", "back shape", "flat")},
		"constants of every rank": {node("Flatten", "image", "rows"), constant("none", 0), node("Cast", "none", "zero", onnxfile.IntAttribute("to", 1)),
			constant("axes", 0), node("Unsqueeze", "zero axes", "wide"), node("Add", "rows wide", "more"), node("Add", "zero more", "flat")},
		"halves joined": {node("Flatten", "image", "rows"), constant("from", 0), constant("middle", size/2), constant("to", size), constant("one", 1),
			node("Slice", "rows from middle one", "first"), node("Slice", "rows middle to one", "second"), node("Concat", "first second", "flat", axis(1))},
		"what does nothing": {node("Relu", "image", "positive"), node("Neg", "image", "minus"), node("Relu", "minus", "negative"), node("Sub", "positive negative", "sum"),
			node("Dropout", "sum", "dropped"), node("Flatten", "dropped", "flat")},
	} {
		t.Run(name, func(t *testing.T) {
			l, m := one(front)
			m.Graph.Initializers[0].External = nil
			path := write(t, m)
			model, err := Open(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer model.Close()
			details, err := model.Details()
			if err != nil {
				t.Fatal(err)
			}
			if details.Batch != 0 || details.BatchOf != 1 || !strings.Contains(details.String(), "batch of 1 made one of any size") {
				t.Errorf("%v", details)
			}
			for _, n := range []int{1, 2, 150} {
				batch := noisy(colour, n)
				result := classifier.Result{Classes: make([]int32, n), Scores: make([]float32, 3*n)}
				if err := model.Classify(t.Context(), batch, &result); err != nil {
					t.Fatal(err)
				}
				for i := range n {
					want := softmax(l.logits(func(j int) float64 { return float64(batch.Grid[i*colour.Len()+j]) / 255 }))
					for c := range want {
						if d := math.Abs(want[c] - float64(result.Scores[3*i+c])); d > 2e-5 {
							t.Fatalf("image %d of %d: scores %v; expected %v", i, n, result.Scores[3*i:3*i+3], want)
						}
					}
				}
			}
			info, err := model.Info()
			if err != nil {
				t.Fatal(err)
			}
			kept, err := Open(path, Options{KeepBatch: true})
			if err != nil {
				t.Fatal(err)
			}
			defer kept.Close()
			keptInfo, err := kept.Info()
			if err != nil {
				t.Fatal(err)
			}
			if got, want := info.Identity.Weights, keptInfo.Identity.Weights+", batch of 1 made symbolic"; got != want || strings.Contains(keptInfo.Identity.Weights, ",") {
				t.Errorf("identity %s; expected %s", got, want)
			}
			if details, err := kept.Details(); err != nil || details.Batch != 1 {
				t.Errorf("kept: %v, %v", details, err)
			}
		})
	}
}

// Weights in a second file are found from the changed graph, too.
func TestBatchMadeSymbolicWithWeightsBeside(t *testing.T) {
	needLibrary(t)
	_, m := one(nil)
	raw := m.Graph.Initializers[0].Raw
	m.Graph.Initializers[0].SetExternal("w.bin")
	path := write(t, m)
	testkit.Write(t, raw, filepath.Dir(path), "w.bin")
	model, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	if details, err := model.Details(); err != nil || details.Batch != 0 || details.BatchOf != 1 {
		t.Errorf("%v, %v", details, err)
	}
}

// A last softmax, or its logarithm, over anything but the classes is refused, whatever the batch.
func TestLastSoftmaxIsOverTheClasses(t *testing.T) {
	needLibrary(t)
	axis := func(a int64) onnxfile.Attribute { return onnxfile.IntAttribute("axis", a) }
	shape := func(sides ...int64) onnxfile.Node {
		return node("Constant", "", "shape", onnxfile.TensorAttribute("value", onnxfile.Int64Tensor("", sides...)))
	}
	for name, c := range map[string]struct {
		opset int64
		back  []onnxfile.Node
		want  string // "": it is over the classes
	}{
		"the batch":             {17, []onnxfile.Node{node("Softmax", "scores", "out", axis(0))}, "axis 0) normalises over the images"},
		"the batch, logarithm":  {17, []onnxfile.Node{node("LogSoftmax", "scores", "out", axis(-2))}, "axis -2) normalises over the images"},
		"the batch, renamed":    {17, []onnxfile.Node{node("Softmax", "scores", "share", axis(0)), node("Identity", "share", "out")}, "normalises over the images"},
		"all, of old operators": {11, []onnxfile.Node{node("Softmax", "scores", "out", axis(0))}, "normalises over the images"},
		"an axis of 1": {17, []onnxfile.Node{shape(-1, 3, 1), node("Reshape", "scores shape", "column"), node("Softmax", "column", "share"),
			node("Flatten", "share", "out")}, "probabilities that sum to 3"},
		"an axis of 1, logarithm": {17, []onnxfile.Node{shape(-1, 3, 1), node("Reshape", "scores shape", "column"), node("LogSoftmax", "column", "share"),
			node("Flatten", "share", "out")}, "probabilities that sum to 3"},
		"classes":            {17, []onnxfile.Node{node("Softmax", "scores", "out")}, ""},
		"classes, by number": {17, []onnxfile.Node{node("LogSoftmax", "scores", "out", axis(1))}, ""},
		"classes of a column": {17, []onnxfile.Node{shape(-1, 3, 1), node("Reshape", "scores shape", "column"), node("Softmax", "column", "share", axis(1)),
			node("Flatten", "share", "out")}, ""},
		"classes, of old operators": {11, []onnxfile.Node{node("Softmax", "scores", "out")}, ""},
	} {
		for _, batch := range []int64{0, 1} {
			l := &linear{shape: colour, classes: 3, form: "NCHW", kind: onnxfile.Float32, batch: batch, tail: c.back}
			m := l.model()
			m.Opsets[0].Version = c.opset
			path := write(t, m)
			model, err := Open(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := model.Info(); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s, batch %d: %v; expected %q", name, batch, err, c.want)
			}
			model.Close()
			layers, err := ReadLayers(Source{Path: path})
			head := c.back[len(c.back)-1].Op
			switch {
			case c.want != "" && err == nil:
				t.Errorf("%s: read as layers", name)
			case c.want == "" && strings.Contains(head, "Softmax") && (err != nil || layers.Network.Head() != head):
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Graphs whose images meet, each by another node, keep their batch, and it is said which node it is and what it costs.
func TestBatchStays(t *testing.T) {
	needLibrary(t)
	axis := func(a int64) onnxfile.Attribute { return onnxfile.IntAttribute("axis", a) }
	axes := func(a ...int64) onnxfile.Attribute { return onnxfile.IntsAttribute("axes", a...) }
	for want, back := range map[string][]onnxfile.Node{
		`node "node of mean" (ReduceMean) may mix the images`: {node("ReduceMean", "scores", "mean", axes(0)), node("Sub", "scores mean", "out")},
		`node "node of most" (ReduceMax) may mix`:             {node("ReduceMax", "scores", "most"), node("Sub", "scores most", "out")},
		`node "node of share" (Softmax) may mix`:              {node("Softmax", "scores", "share", axis(0)), node("Neg", "share", "out")},
		`node "node of share" (LogSoftmax) may mix`:           {node("LogSoftmax", "scores", "share", axis(-2)), node("Neg", "share", "out")},
		`node "node of turned" (Transpose) may mix`:           {node("Transpose", "scores", "turned"), node("Transpose", "turned", "out")},
		`node "node of square" (Gemm) may mix`:                {node("Transpose", "scores", "same", onnxfile.IntsAttribute("perm", 0, 1)), node("Gemm", "same scores", "square", onnxfile.IntAttribute("transA", 1)), node("MatMul", "scores square", "out")},
		`node "node of out" (CumSum) may mix`:                 {node("Constant", "", "zero", onnxfile.TensorAttribute("value", onnxfile.NewTensor("", []int64{0}))), node("CumSum", "scores zero", "out")},
		`node "node of column" (Reshape) turns [1 3] into [3 1]`: {node("Constant", "", "shape", onnxfile.TensorAttribute("value", onnxfile.Int64Tensor("", 3, 1))),
			node("Reshape", "scores shape", "column"), node("Transpose", "column", "out")},
		`node "node of bare" (Squeeze) may mix`: {node("Squeeze", "scores", "bare"), node("Constant", "", "a", onnxfile.TensorAttribute("value", onnxfile.Int64Tensor("", 0))),
			node("Unsqueeze", "bare a", "out")},
		`node "node of out" (Div) may mix`: {node("Shape", "scores", "sides"), node("Cast", "sides", "numbers", onnxfile.IntAttribute("to", 1)), node("ReduceSum", "numbers", "count", onnxfile.IntAttribute("keepdims", 0)),
			node("Div", "scores count", "out")},
	} {
		_, m := one(nil, back...)
		if strings.Contains(want, "ReduceMax") || strings.Contains(want, "ReduceMean") {
			m.Opsets[0].Version = 12
		}
		model, err := Open(write(t, m), Options{})
		if err != nil {
			t.Fatal(err)
		}
		details, err := model.Details()
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		if details.Batch != 1 || !strings.Contains(details.BatchFixed, want) || !(details.Rate > 0) {
			t.Errorf("batch %d, %s, %g images per second; expected %s", details.Batch, details.BatchFixed, details.Rate, want)
		}
		if text := details.String(); !regexp.MustCompile(`batch fixed at 1 \(node .* images per second, so 10,000 noise samples take some \S+; an export with a batch of any size can be`).MatchString(text) {
			t.Errorf("%s", text)
		}
		model.Close()
	}
	// A constant with a row for each image of the batch.
	l := &linear{shape: colour, classes: 3, form: "NCHW", kind: onnxfile.Float32, batch: 2}
	m := l.model()
	m.Graph.Initializers[1] = onnxfile.Float32Tensor("bias", []float32{1, 0, 0, 0, 1, 0}, 2, 3)
	model, err := Open(write(t, m), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	if details, err := model.Details(); err != nil || details.Batch != 2 || !strings.Contains(details.BatchFixed, "(Add) may mix") {
		t.Errorf("a bias by image: %v, %v", details, err)
	}
}

// The comparison of the two forms of a graph.
func TestSameAnswers(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		a, b []float32
		want string
	}{
		{[]float32{1, 2, -100, 4}, []float32{1, 2.0001, -100, 4}, ""},
		{[]float32{1, 2, -100, 4}, []float32{1, 2.001, -100, 4}, "outputs of image 0 differ"},
		{[]float32{1, 2, 3, 4}, []float32{3, 4, 1, 2}, "outputs of image 0 differ"},
		{[]float32{1, 2, 3, 4}, []float32{1, 2, 3, nan}, "image 1 gives output 4 by itself and NaN"},
		{[]float32{nan, 2, inf, 4}, []float32{inf, 2, nan, 4}, ""},
		{[]float32{0, 0, 0, 0}, []float32{0, 0, 0, 1e-9}, "outputs of image 1 differ"},
	} {
		err := same(c.a, c.b, 2, 1e-4)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v and %v: %v; expected %q", c.a, c.b, err, c.want)
		}
	}
}

// Of several outputs, the one with a value per class is found.
func TestSeveralOutputs(t *testing.T) {
	needLibrary(t)
	row := func(name string, kind onnxfile.Type, sides ...int64) onnxfile.Value {
		v := onnxfile.Value{Name: name, Type: kind, Dims: []onnxfile.Dim{{Name: "batch"}}}
		for _, s := range sides {
			v.Dims = append(v.Dims, onnxfile.Dim{Size: s})
		}
		return v
	}
	for name, c := range map[string]struct {
		nodes   []onnxfile.Node
		outputs []onnxfile.Value
		want    string
	}{
		"label and scores":          {[]onnxfile.Node{node("ArgMax", "scores", "label", onnxfile.IntAttribute("axis", 1), onnxfile.IntAttribute("keepdims", 0))}, []onnxfile.Value{row("label", onnxfile.Int64), row("scores", onnxfile.Float32, 3)}, "scores"},
		"logits and probabilities":  {[]onnxfile.Node{node("Softmax", "scores", "p")}, []onnxfile.Value{row("p", onnxfile.Float32, 3), row("scores", onnxfile.Float32, 3)}, "scores"},
		"scores and a map":          {nil, []onnxfile.Value{row("scores", onnxfile.Float32, 3), row("image", onnxfile.Float32, 3, 5, 4)}, "scores"},
		"label and one probability": {[]onnxfile.Node{node("ArgMax", "scores", "label", onnxfile.IntAttribute("axis", 1)), node("Softmax", "scores", "p")}, []onnxfile.Value{row("label", onnxfile.Int64, 1), row("p", onnxfile.Float32, 3)}, "p"},
	} {
		l := &linear{shape: colour, classes: 3, form: "NCHW", kind: onnxfile.Float32, tail: append([]onnxfile.Node{node("Identity", "scores", "unused")}, c.nodes...)}
		m := l.model()
		m.Graph.Outputs = c.outputs
		path := write(t, m)
		weights := func(options Options) string {
			model, err := Open(path, options)
			if err != nil {
				t.Fatal(err)
			}
			defer model.Close()
			info, err := model.Info()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return info.Identity.Weights
		}
		if found, named := weights(Options{}), weights(Options{Card: Card{Output: c.want}}); found != named || !strings.HasSuffix(found, `output "`+c.want+`"`) {
			t.Errorf("%s: %s; expected %s", name, found, named)
		}
	}
}

// A file may hold nodes that lack inputs or outputs: they are refused by name.
func TestNodesThatLackInputs(t *testing.T) {
	ops := []string{"Concat", "MatMul", "Reshape", "Dropout", "Softmax", "LayerNormalization", "Flatten", "Transpose", "Gemm", "Gather", "Split",
		"QuantizeLinear", "DequantizeLinear", "Squeeze", "Unsqueeze", "ReduceMean", "Slice", "Pad", "BatchNormalization", "Unheard"}
	for _, more := range []map[string]bool{each, broadcasting} {
		ops = slices.AppendSeq(ops, maps.Keys(more))
	}
	two := []string{"MatMul", "Gemm", "QuantizeLinear", "DequantizeLinear"}
	for _, op := range ops {
		for _, n := range []onnxfile.Node{
			{Op: op, Name: "short"},
			{Op: op, Name: "short", Outputs: []string{"y"}},
			{Op: op, Name: "short", Inputs: []string{"x"}},
			{Op: op, Name: "short", Inputs: []string{"x"}, Outputs: []string{"y"}},
		} {
			s := &symbolizer{graph: &onnxfile.Graph{}, batch: 1, roles: map[string]role{"x": batched}, dims: map[string][]int64{"x": {1, 3}, "y": {1, 3}}}
			_, why := s.allow(&n)
			lacks := len(n.Inputs) == 0 || len(n.Outputs) == 0 || slices.Contains(two, op)
			if lacks != strings.Contains(why, "expected at least") {
				t.Errorf("%s with %d inputs and %d outputs: %q", op, len(n.Inputs), len(n.Outputs), why)
			}
		}
	}
	_, m := one(nil)
	m.Graph.Inputs[0].Dims = nil
	unknown := func(_ *onnxfile.Model, names []string) ([][]int64, error) { return make([][]int64, len(names)), nil }
	if _, err := symbolic(m, m.Graph.Inputs[0].Name, m.Graph.Outputs[0].Name, unknown); err == nil || !strings.Contains(err.Error(), "has no shape") {
		t.Errorf("an input without a shape: %v", err)
	}
}
