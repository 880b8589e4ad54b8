package feedforward

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/onnxfile"
)

// drawing is a graph for tests, from an input x to an output y.
type drawing struct {
	opset   int64
	kind    onnxfile.Type
	in      []int64 // with the batch; 0 is open
	tensors []onnxfile.Tensor
	nodes   []onnxfile.Node
}

func draw(in ...int64) *drawing {
	return &drawing{opset: onnxfile.Opset, kind: onnxfile.Float32, in: in}
}

// of sets the version of the operators.
func (d *drawing) of(opset int64) *drawing { d.opset = opset; return d }

// node adds an operator: "a b -> c" are names of inputs and of the output, "_" is left out.
func (d *drawing) node(op, names string, attributes ...onnxfile.Attribute) *drawing {
	from, to, _ := strings.Cut(names, "->")
	inputs := strings.Fields(from)
	for i, name := range inputs {
		if name == "_" {
			inputs[i] = ""
		}
	}
	d.nodes = append(d.nodes, onnxfile.Node{Op: op, Inputs: inputs, Outputs: strings.Fields(to), Attributes: attributes})
	return d
}

func (d *drawing) floats(name string, dims []int64, values ...float32) *drawing {
	d.tensors = append(d.tensors, onnxfile.Float32Tensor(name, values, dims...))
	return d
}

func (d *drawing) ints(name string, values ...int64) *drawing {
	d.tensors = append(d.tensors, onnxfile.Int64Tensor(name, values...))
	return d
}

func (d *drawing) tensor(t onnxfile.Tensor) *drawing { d.tensors = append(d.tensors, t); return d }

func (d *drawing) model() *onnxfile.Model {
	m := &onnxfile.Model{IRVersion: onnxfile.IRVersion, Opsets: []onnxfile.OperatorSet{{Version: d.opset}}}
	in := onnxfile.Value{Name: "x", Type: d.kind}
	for _, size := range d.in {
		in.Dims = append(in.Dims, onnxfile.Dim{Size: size})
	}
	m.Graph = onnxfile.Graph{Inputs: []onnxfile.Value{in}, Outputs: []onnxfile.Value{{Name: "y", Type: d.kind}},
		Nodes: d.nodes, Initializers: d.tensors}
	return m
}

// read reads the graph as a program reads a file of it.
func (d *drawing) read() (*Network, error) {
	m, err := onnxfile.Decode(onnxfile.Encode(d.model()))
	if err != nil {
		return nil, err
	}
	return FromONNX("net.onnx", m, nil)
}

// gives checks the shape and the values of the output.
func (d *drawing) gives(t *testing.T, x []float64, shape Shape, want ...float64) {
	t.Helper()
	n, err := d.read()
	if err != nil {
		t.Error(err)
		return
	}
	layers := n.Layers()
	y, err := n.Forward(x)
	if got := layers[len(layers)-1].Shape; err != nil || !slices.Equal(got, shape) || !slices.Equal(y, want) {
		t.Errorf("%v of shape %v, %v; expected %v of shape %v", y, got, err, want, shape)
	}
}

// refused checks that the graph is not read, and what is said of it.
func (d *drawing) refused(t *testing.T, words string) {
	t.Helper()
	if _, err := d.read(); err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("%v; expected an error with %q", err, words)
	}
}

func ints(name string, v ...int64) onnxfile.Attribute { return onnxfile.IntsAttribute(name, v...) }
func real(name string, v float32) onnxfile.Attribute  { return onnxfile.FloatAttribute(name, v) }
func whole(name string, v int64) onnxfile.Attribute   { return onnxfile.IntAttribute(name, v) }

// What only other outputs need is not read: a network that was trained with a second head is bounded by its first
// one. Of a node that the output needs, the operator is refused.
func TestOtherOutputsAreNotRead(t *testing.T) {
	d := draw(0, 2).floats("w", []int64{2, 2}, 1, 2, 3, 4).node("Gelu", "x -> g").node("MatMul", "x w -> y").
		node("Erf", "y _ -> z")
	for output, op := range map[string]string{"y": "", "z": "Erf", "g": "Gelu"} {
		m := d.model()
		m.Graph.Outputs[0].Name = output
		n, err := FromONNX("net.onnx", m, nil)
		var refused *OperatorError
		if op != "" {
			if !errors.As(err, &refused) || refused.Op != op {
				t.Errorf("%s: %v; expected an error on %s", output, err, op)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if y, err := n.Forward([]float64{1, 10}); err != nil || y[0] != 31 || y[1] != 42 {
			t.Errorf("%v, %v", y, err)
		}
	}
}

// A constant keeps its axes through every operator that moves values, so that it meets the axes of a result that
// NumPy's rule says. The values are worked out by hand.
func TestConstantsKeepTheirAxes(t *testing.T) {
	c23 := func() *drawing { return draw(1, 2, 3).floats("c", []int64{2, 3}, 1, 2, 3, 4, 5, 6) }
	channels := func() *drawing { return draw(1, 2, 2, 2).floats("c", []int64{2}, 10, 0) }
	for name, test := range map[string]struct {
		*drawing
		shape Shape
		want  []float64
	}{
		"Unsqueeze": {channels().ints("a", 1, 2).node("Unsqueeze", "c a -> k"), Shape{2, 2, 2}, []float64{10, 10,
			10, 10, 0, 0, 0, 0}},
		"Unsqueeze by 11": {channels().of(11).node("Unsqueeze", "c -> k", ints("axes", -1, 1)), Shape{2, 2, 2},
			[]float64{10, 10, 10, 10, 0, 0, 0, 0}},
		"Reshape": {channels().ints("s", 2, -1, 1).node("Reshape", "c s -> k"), Shape{2, 2, 2}, []float64{10, 10,
			10, 10, 0, 0, 0, 0}},
		"Flatten": {channels().node("Flatten", "c -> k", whole("axis", 1)), Shape{2, 2, 2}, []float64{10, 10, 0,
			0, 10, 10, 0, 0}},
		"Squeeze": {draw(1, 2, 2, 2).floats("c", []int64{2, 1, 1}, 10, 0).ints("a", 1).node("Squeeze", "c a -> k"),
			Shape{2, 2, 2},
			[]float64{10, 10, 0, 0, 10, 10, 0, 0}},
		"Transpose": {draw(1, 3, 2).floats("c", []int64{2, 3}, 1, 2, 3, 4, 5, 6).node("Transpose", "c -> k"), Shape{3, 2},
			[]float64{1, 4, 2, 5, 3, 6}},
		"Gather": {c23().ints("i", -1, 0, 0).node("Gather", "c i -> k", whole("axis", 1)), Shape{2, 3}, []float64{3, 1,
			1, 6, 4, 4}},
		"Gather a row": {c23().tensor(onnxfile.NewTensor("i", []int64{1})).node("Gather", "c i -> k"), Shape{2, 3},
			[]float64{4, 5, 6, 4, 5, 6}},
		"Concat": {draw(1, 2, 6).floats("c", []int64{2, 3}, 1, 2, 3, 4, 5, 6).node("Concat", "c c -> k", whole("axis",
			1)), Shape{2, 6},
			[]float64{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}},
		"Slice": {draw(1, 2, 2).floats("c", []int64{2, 3}, 1, 2, 3, 4, 5, 6).ints("s", -1).ints("e", -9).ints("a", 1).
			ints("d", -2).
			node("Slice", "c s e a d -> k"), Shape{2, 2}, []float64{3, 1, 6, 4}},
		"Slice by 9": {draw(1, 2, 2).of(9).floats("c", []int64{2, 3}, 1, 2, 3, 4, 5, 6).node("Slice", "c -> k",
			ints("starts", 1), ints("ends", 99), ints("axes", 1)),
			Shape{2, 2}, []float64{2, 3, 5, 6}},
		"Expand": {c23().floats("r", []int64{2, 1}, 7, 8).ints("s", 1, 3).node("Expand", "r s -> k"), Shape{2, 3},
			[]float64{7, 7, 7, 8, 8, 8}},
		"ConstantOfShape": {c23().ints("s", 2, 1).node("ConstantOfShape", "s -> k", onnxfile.TensorAttribute("value",
			onnxfile.Float32Tensor("", []float32{4}, 1))),
			Shape{2, 3}, []float64{4, 4, 4, 4, 4, 4}},
		"Where": {c23().tensor(onnxfile.NewTensor("i", []int64{1, 0}, 2, 1)).node("Cast", "i -> b", whole("to",
			int64(onnxfile.Bool))).
			floats("o", nil, 9).node("Where", "b c o -> k"), Shape{2, 3}, []float64{1, 2, 3, 9, 9, 9}},
		"arithmetic": {c23().floats("r", []int64{2, 1}, 10, 20).node("Mul", "c r -> m").node("Sub", "m c -> k"), Shape{2, 3},
			[]float64{9, 18, 27, 76, 95, 114}},
		"value_float": {draw(1, 2).node("Constant", "-> k", real("value_float", 3)), Shape{2}, []float64{3, 3}},
		"Range": {draw(1, 3).tensor(onnxfile.NewTensor("s", []int64{5})).tensor(onnxfile.NewTensor("l", []int64{0})).
			tensor(onnxfile.NewTensor("d", []int64{-2})).
			node("Range", "s l d -> r").node("Cast", "r -> k", whole("to", int64(onnxfile.Float32))), Shape{3}, []float64{5,
			3, 1}},
		"a shape": {draw(1, 4, 2).ints("i", 1, 2).node("Shape", "x -> s").node("Gather", "s i -> g").node("Cast",
			"g -> k", whole("to", int64(onnxfile.Float32))),
			Shape{4, 2}, []float64{4, 2, 4, 2, 4, 2, 4, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			test.node("Add", "x k -> y").gives(t, make([]float64, test.shape.Size()), test.shape, test.want...)
		})
	}
}

// The axes that a constant adds by broadcasting count for what comes behind: axis 1 of the sum is of one value.
func TestBroadcastKeepsRank(t *testing.T) {
	d := draw(1, 2).floats("c", []int64{1, 1, 2}, 10, 20).node("Add", "x c -> a")
	d.node("Concat", "a a -> y", whole("axis", 1)).gives(t, []float64{1, 2}, Shape{2, 2}, 11, 22, 11, 22)
	d = draw(1, 2).floats("c", []int64{1, 2, 1}, 10, 20).node("Add", "x c -> a")
	d.node("Concat", "a a -> y", whole("axis", -1)).gives(t, []float64{1, 2}, Shape{2, 4}, 11, 12, 11, 12, 21, 22, 21, 22)
	draw(1, 2).floats("c", []int64{2, 1, 1}, 1, 2).node("Add", "x c -> y").refused(t, "along the batch")
	draw(0, 2).floats("c", []int64{1, 1, 2}, 1, 2).node("Add", "x c -> y").refused(t, "moves the images of a batch")
	draw(0, 2).node("Flatten", "x -> f", whole("axis", 0)).node("Relu", "f -> y").refused(t, "joins images")
	draw(0, 4).ints("s", 1, -1).node("Reshape", "x s -> f").node("Relu", "f -> y").refused(t, "joins images")
	draw(0, 2).node("Shape", "x -> s").node("Cast", "s -> k", whole("to", 1)).node("Add", "x k -> y").refused(t,
		"depends on the number of images")
	draw(1, 1, 5).node("Squeeze", "x -> f").node("Relu", "f -> y").refused(t, "not that of the batch")
	draw(1, 1, 2).ints("a", 1).node("Squeeze", "x a -> f").ints("b", 2).node("Unsqueeze", "f b -> y").gives(t,
		[]float64{1, 2}, Shape{2, 1}, 1, 2)
	draw(0, 4).node("Shape", "x -> s").ints("i", 0).node("Gather", "s i -> n").ints("r", 2, -1).node("Concat",
		"n r -> d", whole("axis", 0)).
		node("Reshape", "x d -> y").gives(t, []float64{1, 2, 3, 4}, Shape{2, 2}, 1, 2, 3, 4)
}

// Cast of constants as the operator's text says.
func TestCastOfConstants(t *testing.T) {
	const f32, f64, f16, i8, i64, boolean = int64(onnxfile.Float32), int64(onnxfile.Float64), int64(onnxfile.Float16),
		int64(onnxfile.Int8), int64(onnxfile.Int64),
		int64(onnxfile.Bool)
	for _, test := range []struct {
		through []int64
		value   float64
		want    float64
		refused string
	}{
		{[]int64{i64, f32}, 1.7, 1, ""}, {[]int64{i64, f32}, -1.7, -1, ""}, {[]int64{i8, f32}, -128.5, -128, ""},
		{[]int64{i8, f32}, 300, 0, "300 to int8"},
		{[]int64{i64, f32}, math.Inf(1), 0, "+Inf to int64"}, {[]int64{i64, f32}, math.NaN(), 0, "NaN to int64"},
		{[]int64{i64, f32}, 0x1p63, 0, "to int64"},
		{[]int64{boolean, f32}, 0.5, 1, ""}, {[]int64{boolean, f32}, 0, 0, ""}, {[]int64{boolean, f32}, math.NaN(), 0,
			"NaN to a boolean"},
		{[]int64{f16, f32}, float64(float32(1. / 3)), 0.333251953125, ""}, {[]int64{f16, f32}, 65520, 0,
			"65520 to float16"}, {[]int64{f32}, 1e39, 0, "to float32"},
		{[]int64{f32}, 0.1, float64(float32(0.1)), ""}, {[]int64{f32}, 1e-40, 0, "subnormal"},
		{[]int64{int64(onnxfile.BFloat16), f32}, 1, 0, "bfloat16"},
		{[]int64{int64(onnxfile.String)}, 1, 0, "to string"}, {[]int64{i64, f64, f32}, 1 << 24, 1 << 24, ""},
	} {
		d := draw(1, 1).tensor(onnxfile.NewTensor("c", []float64{test.value}, 1))
		from := "c"
		for i, to := range test.through {
			name := string(rune('d' + i))
			d.node("Cast", from+" -> "+name, whole("to", to))
			from = name
		}
		d.node("Add", "x "+from+" -> y")
		if test.refused != "" {
			d.refused(t, test.refused)
			continue
		}
		d.gives(t, []float64{0}, Shape{1}, test.want)
	}
}

// Arithmetic on constants is done in their type; where engines may differ, it is refused.
func TestArithmeticOnConstants(t *testing.T) {
	sum := func(op string, a, b onnxfile.Tensor) *drawing {
		a.Name, b.Name = "a", "b"
		return draw(1, 1).tensor(a).tensor(b).node(op, "a b -> s").node("Cast", "s -> k", whole("to", 1)).node("Add",
			"x k -> y")
	}
	i32 := func(v int32) onnxfile.Tensor { return onnxfile.NewTensor("", []int32{v}, 1) }
	f32 := func(v float32) onnxfile.Tensor { return onnxfile.Float32Tensor("", []float32{v}, 1) }
	sum("Div", i32(-7), i32(2)).gives(t, []float64{0}, Shape{1}, -3)
	sum("Add", f32(1<<24), f32(1)).gives(t, []float64{0}, Shape{1}, 1<<24)
	sum("Min", i32(-7), i32(2)).gives(t, []float64{0}, Shape{1}, -7)
	sum("Equal", i32(2), i32(2)).gives(t, []float64{0}, Shape{1}, 1)
	sum("Add", i32(math.MaxInt32), i32(1)).refused(t, "leaves int32")
	sum("Div", i32(1), i32(0)).refused(t, "leaves int32")
	sum("Mul", f32(1e30), f32(1e30)).refused(t, "overflows")
	sum("Mul", f32(1e-30), f32(1e-10)).refused(t, "subnormal")
	sum("Add", i32(1), f32(1)).refused(t, "int32 and float32")
}

// A node that is none of its operator's in the file's version is refused: what is not known would be passed over.
func TestNodesConform(t *testing.T) {
	c := func() *drawing { return draw(1, 2).floats("c", []int64{2}, 1, 2) }
	c().of(6).node("Add", "x c -> y", whole("broadcast", 1), whole("axis", 1)).refused(t, "opset 6; expected 7 to 25")
	c().of(26).node("Add", "x c -> y").refused(t, "opset 26")
	c().of(0).node("Add", "x c -> y").refused(t, "opset 0")
	c().node("Add", "x c -> y", whole("axis", 1)).refused(t, `attribute "axis"`)
	c().node("Add", "x c c -> y").refused(t, "3 inputs")
	c().node("Add", "x _ -> y").refused(t, "input 1 is missing")
	c().node("Relu", "x -> x").node("Add", "x c -> y").refused(t, "there is a result")
	c().node("Relu", "x -> r").node("Relu", "x -> r").node("Add", "r c -> y").refused(t, "there is a result")
	draw(1, 2).node("LeakyRelu", "x -> y", whole("alpha", 1)).refused(t, "another type")
	draw(1, 2).node("LeakyRelu", "x -> y", real("alpha", .5), real("alpha", .25)).refused(t, "twice")
	draw(1, 2).node("Clip", "x -> y", real("min", 0)).refused(t, `attribute "min"`)
	draw(1, 2).of(9).node("Range", "x x x -> y").refused(t, "not in opset 9")
	for _, op := range []string{"Softmax", "LogSoftmax"} { // at the end, where it is taken off
		draw(1, 2).node("Relu", "x -> r").node(op, "r -> y", real("axis", 1)).refused(t, "another type")
		draw(1, 2).node("Relu", "x -> r").node(op, "r -> y", whole("axes", 1)).refused(t, `attribute "axes"`)
	}
	d := c().node("Add", "x c -> y")
	d.tensors = append(d.tensors, d.tensors[0])
	d.refused(t, "two initializers")
	draw(1, 2).tensor(onnxfile.NewTensor("c", []float64{1, 2}, 2)).node("Add", "x c -> y").refused(t, "is of float64")
	draw(1, 1, 2, 2).floats("w", []int64{1, 1, 1, 1}, 1).node("Conv", "x w -> y", ints("kernel_shape", 2, 2)).
		refused(t, "kernel_shape")
	for name, values := range map[string][]int64{"kernel_shape": {0, 0}, "strides": {0, 1}, "dilations": {1, 0}} {
		d := draw(1, 1, 2, 2).node("MaxPool", "x -> y", ints(name, values...))
		if name != "kernel_shape" {
			d.nodes[0].Attributes = append(d.nodes[0].Attributes, ints("kernel_shape", 1, 1))
		}
		d.refused(t, "at least 1")
	}
	for _, mode := range []string{"SAME_UPPER", "SAME_LOWER"} {
		auto := func(attributes ...onnxfile.Attribute) *drawing {
			return draw(1, 1, 5, 5).node("MaxPool", "x -> y", append(attributes, onnxfile.TextAttribute("auto_pad", mode))...)
		}
		auto(ints("kernel_shape", 3, 3), ints("dilations", 2, 1)).refused(t, "auto_pad")
		auto(ints("kernel_shape", 3, 2), ints("strides", 2, 3)).refused(t, "auto_pad")
		auto(ints("kernel_shape", 3, 2), ints("pads", 1, 0, 0, 0)).refused(t, "beside auto_pad")
	}
}

// ONNX Runtime's optimiser moves a Pad by 0 into a MaxPool behind it. Where values may be negative that is another
// function: of −1 and −2 with a 0 behind, the file has the maxima −1 and 0, ONNX Runtime 1.31 has −1 and −2.
func TestPadBeforeMaxPool(t *testing.T) {
	padded := func(before string, value float32, by ...onnxfile.Attribute) *drawing {
		return draw(1, 1, 1, 2).node(before, "x -> b", by...).ints("p", 0, 0, 0, 0, 0, 0, 0, 1).
			tensor(onnxfile.Float32Tensor("v", []float32{value})).node("Pad", "b p v -> c").node("Cast", "c -> d", whole("to", 1)).
			node("MaxPool", "d -> y", ints("kernel_shape", 1, 2))
	}
	const reason = "behind a Pad by 0"
	padded("LeakyRelu", 0).refused(t, reason)
	padded("Tanh", 0).refused(t, reason)
	padded("Transpose", 0, ints("perm", 0, 1, 2, 3)).refused(t, reason)
	padded("Relu", 0).gives(t, []float64{-1, 2}, Shape{1, 1, 2}, 2, 2)
	padded("Sigmoid", 0).gives(t, []float64{0, 0}, Shape{1, 1, 2}, .5, .5)
	padded("LeakyRelu", -3, real("alpha", .5)).gives(t, []float64{-1, -2}, Shape{1, 1, 2}, -.5, -1)
}

// Half precision is refused wherever results are in it; constants may be.
func TestHalfPrecisionIsRefused(t *testing.T) {
	for _, kind := range []onnxfile.Type{onnxfile.Float16, onnxfile.BFloat16} {
		d := draw(1, 2).node("Relu", "x -> y")
		d.kind = kind
		d.refused(t, "it computes in "+kind.String())
		draw(1, 2).node("Cast", "x -> h", whole("to", int64(kind))).node("Cast", "h -> y", whole("to", 1)).refused(t,
			"it computes in "+kind.String())
	}
	half := onnxfile.Tensor{Name: "h", Dims: []int64{1}}
	half.SetRaw(onnxfile.Float16, []byte{0, 0x3e}) // 1.5
	draw(1, 1).tensor(half).node("Cast", "h -> c", whole("to", 1)).node("Mul", "x c -> y").gives(t, []float64{2},
		Shape{1}, 3)
}

// A graph in float64 is read, and said to be one; what it rounds to float32 in between lies in the bounds.
func TestDoublesAreRead(t *testing.T) {
	d := draw(1, 1).tensor(onnxfile.NewTensor("c", []float64{1. / 3}, 1)).node("Mul", "x c -> m").node("Cast",
		"m -> s", whole("to", 1)).node("Relu", "s -> y")
	d.kind = onnxfile.Float64
	n, err := d.read()
	if err != nil || !strings.Contains(n.Assumes(), "float64") {
		t.Fatal(n.Assumes(), err)
	}
	rng := rand.New(rand.NewPCG(5, 38))
	for range 100 {
		x := rng.Float64()
		box, err := n.Intervals(Box{[]float64{x}, []float64{x}}, Rigorous)
		if v := float64(float32(x * (1. / 3))); err != nil || v < box.Lower[0] || v > box.Upper[0] {
			t.Fatalf("%v is not in %v, %v", v, box, err)
		}
	}
}

// Pooling against the text of the operators, written out place by place.
func TestPoolingAsWritten(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 38))
	accepted := 0
	for range 2000 {
		size, kernel, stride, dilation, pad := [2]int{1 + rng.IntN(7), 1 + rng.IntN(7)}, [2]int{}, [2]int{}, [2]int{1, 1},
			[4]int{}
		for i := range 2 {
			kernel[i], stride[i], pad[i], pad[i+2] = 1+rng.IntN(4), 1+rng.IntN(4), rng.IntN(3), rng.IntN(3)
			if rng.IntN(3) == 0 {
				dilation[i] = 2
			}
		}
		o := PoolOptions{Kernel: kernel, Stride: stride, Dilation: dilation, Pad: pad,
			CountPadding: rng.IntN(2) == 0, CeilMode: rng.IntN(2) == 0}
		x := uniform(rng, size[0]*size[1])
		b := NewBuilder(1, size[0], size[1])
		average, err := b.Network(b.AveragePool(0, o))
		if err != nil {
			continue // a window in the padding alone, or none
		}
		b = NewBuilder(1, size[0], size[1])
		most, err := b.Network(b.MaxPool(0, o))
		if err != nil {
			t.Fatal(err)
		}
		accepted++
		var means, maxima []float64
		var sides [2]int
		for i := range sides {
			reach := size[i] + pad[i] + pad[i+2] - dilation[i]*(kernel[i]-1) - 1
			sides[i] = reach/stride[i] + 1
			// One more window, if it begins before the end.
			if o.CeilMode && reach%stride[i] != 0 && sides[i]*stride[i] < size[i]+pad[i] {
				sides[i]++
			}
		}
		for oy := range sides[0] {
			for ox := range sides[1] {
				sum, count, largest := 0.0, 0, math.Inf(-1)
				for ky := range kernel[0] {
					for kx := range kernel[1] {
						y, x0 := oy*stride[0]-pad[0]+ky*dilation[0], ox*stride[1]-pad[1]+kx*dilation[1]
						image := y >= 0 && y < size[0] && x0 >= 0 && x0 < size[1]
						if image {
							sum, largest = sum+x[y*size[1]+x0], max(largest, x[y*size[1]+x0])
						}
						if image || o.CountPadding && y < size[0]+pad[2] && x0 < size[1]+pad[3] {
							count++
						}
					}
				}
				means, maxima = append(means, sum/float64(count)), append(maxima, largest)
			}
		}
		a, _ := average.Forward(x)
		m, _ := most.Forward(x)
		if !slices.Equal(a, means) || !slices.Equal(m, maxima) {
			t.Fatalf("%+v on %v: %v and %v; by the text %v and %v", o, size, a, m, means, maxima)
		}
	}
	if accepted < 500 {
		t.Errorf("only %d were read", accepted)
	}
}

// AveragePool(2, stride 2, ceil_mode, count_include_pad) on 5 × 5: the last window holds one pixel and nothing of the
// padding, so that its divisor is 1 (ONNX Runtime 1.32, PyTorch).
func TestCeilModeDividesByWhatIsThere(t *testing.T) {
	x := make([]float64, 25)
	x[24], x[4] = 3, 8
	draw(1, 1, 5, 5).node("AveragePool", "x -> y", ints("kernel_shape", 2, 2), ints("strides", 2, 2),
		whole("ceil_mode", 1), whole("count_include_pad", 1)).
		gives(t, x, Shape{1, 3, 3}, 0, 0, 4, 0, 0, 0, 0, 0, 3)
}
