package onnx

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/openvino"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
)

// linear is a network whose logits are Weights · (normalised values) + Bias, for any form of
// input. Its answers are computed here once more, in float64 and from the definition.
type linear struct {
	shape   pixel.Shape
	classes int
	card    Card
	form    string // "NCHW", "NHWC", "NHW" or "flat NCHW", "flat NHWC"
	batch   int64  // fixed batch, or 0
	kind    onnxfile.Type
	softmax bool
	tail    []onnxfile.Node // further nodes between "scores" and "out"
	output  onnxfile.Type

	weights []float32 // [value of the network's input, class]
	bias    []float32
}

func (l *linear) fill() {
	random := rand.New(rand.NewPCG(11, uint64(l.shape.Len())))
	unit := 1.0
	if l.kind == onnxfile.Uint8 || l.card.Scale == 255 {
		unit = 255
	}
	for range l.shape.Len() * l.classes {
		l.weights = append(l.weights, float32(random.NormFloat64()/unit))
	}
	for range l.classes {
		l.bias = append(l.bias, float32(random.NormFloat64()))
	}
	if l.output == 0 {
		l.output = onnxfile.Float32
	}
}

func (l *linear) planar() bool { return l.form == "NCHW" || l.form == "flat NCHW" }

// model is the network as an ONNX file.
func (l *linear) model() *onnxfile.Model {
	if l.weights == nil {
		l.fill()
	}
	s := l.shape
	h, w, c := int64(s.Height), int64(s.Width), int64(s.Channels)
	sides := map[string][]int64{
		"NCHW": {c, h, w}, "NHWC": {h, w, c}, "NHW": {h, w},
		"flat NCHW": {h * w * c}, "flat NHWC": {h * w * c}, "column": {h * w * c, 1}, "row": {1, h * w * c},
	}[l.form]
	dims := []onnxfile.Dim{{Size: l.batch, Name: "batch"}}
	for _, side := range sides {
		dims = append(dims, onnxfile.Dim{Size: side})
	}
	x := "image"
	var nodes []onnxfile.Node
	if l.kind != onnxfile.Float32 {
		nodes = append(nodes, onnxfile.Node{Op: "Cast", Inputs: []string{x}, Outputs: []string{"cast"}, Attributes: []onnxfile.Attribute{
			{Name: "to", Kind: onnxfile.KindInt, Int: int64(onnxfile.Float32)}}})
		x = "cast"
	}
	nodes = append(nodes,
		onnxfile.Node{Op: "Flatten", Inputs: []string{x}, Outputs: []string{"flat"}},
		onnxfile.Node{Op: "MatMul", Inputs: []string{"flat", "weights"}, Outputs: []string{"product"}},
		onnxfile.Node{Op: "Add", Inputs: []string{"product", "bias"}, Outputs: []string{"scores"}},
	)
	last := "scores"
	if l.softmax {
		nodes = append(nodes, onnxfile.Node{Op: "Softmax", Inputs: []string{last}, Outputs: []string{"probabilities"}})
		last = "probabilities"
	}
	if l.output != onnxfile.Float32 {
		nodes = append(nodes, onnxfile.Node{Op: "Cast", Inputs: []string{last}, Outputs: []string{"narrow"}, Attributes: []onnxfile.Attribute{
			{Name: "to", Kind: onnxfile.KindInt, Int: int64(l.output)}}})
		last = "narrow"
	}
	nodes = append(nodes, l.tail...)
	if l.tail == nil {
		nodes = append(nodes, onnxfile.Node{Op: "Identity", Inputs: []string{last}, Outputs: []string{"out"}})
	}
	k := int64(l.classes)
	return &onnxfile.Model{
		IRVersion: onnxfile.IRVersion, Producer: "certspec test", Opsets: []onnxfile.OperatorSet{{Version: onnxfile.Opset}},
		Graph: onnxfile.Graph{
			Name: "linear", Nodes: nodes,
			Initializers: []onnxfile.Tensor{
				onnxfile.Float32Tensor("weights", l.weights, int64(s.Len()), k),
				onnxfile.Float32Tensor("bias", l.bias, k),
			},
			Inputs:  []onnxfile.Value{{Name: "image", Type: l.kind, Dims: dims}},
			Outputs: []onnxfile.Value{{Name: "out", Type: l.output, Dims: []onnxfile.Dim{{Size: l.batch, Name: "batch"}, {Size: k}}}},
		},
	}
}

// logits of one image given by its values in [0, 1], off it too.
func (l *linear) logits(value func(i int) float64) []float64 {
	s := l.shape
	out := make([]float64, l.classes)
	for c, b := range l.bias {
		out[c] = float64(b)
	}
	entry := func(values []float64, channel int, missing float64) float64 {
		if len(values) == 0 {
			return missing
		}
		return values[min(channel, len(values)-1)]
	}
	scale := l.card.Scale
	if scale == 0 {
		scale = 1
		if l.kind == onnxfile.Uint8 {
			scale = 255
		}
	}
	for row := range s.Height {
		for column := range s.Width {
			for channel := range s.Channels {
				v := (scale*value((row*s.Width+column)*s.Channels+channel) - entry(l.card.Mean, channel, 0)) / entry(l.card.Std, channel, 1)
				switch l.kind {
				case onnxfile.Uint8:
					v = math.RoundToEven(min(max(v, 0), 255))
				case onnxfile.Float16:
					v = math.Round(v*1024) / 1024 // near enough for values about 1
				}
				entered := channel
				if l.card.ChannelOrder == bgr {
					entered = s.Channels - 1 - channel
				}
				at := (row*s.Width+column)*s.Channels + entered
				if l.planar() {
					at = (entered*s.Height+row)*s.Width + column
				}
				for c := range out {
					out[c] += v * float64(l.weights[at*l.classes+c])
				}
			}
		}
	}
	return out
}

func softmax(logits []float64) []float64 {
	largest, sum := slices.Max(logits), 0.0
	out := make([]float64, len(logits))
	for c, v := range logits {
		out[c] = math.Exp(v - largest)
		sum += out[c]
	}
	for c := range out {
		out[c] /= sum
	}
	return out
}

func write(t testing.TB, model *onnxfile.Model) string {
	t.Helper()
	return testkit.Write(t, onnxfile.Encode(model), t.TempDir(), "model.onnx")
}

// needLibrary skips a test that cannot run without ONNX Runtime.
func needLibrary(t testing.TB) {
	t.Helper()
	if _, err := Library(""); err != nil {
		t.Skip(err)
	}
}

func noisy(shape pixel.Shape, n int) classifier.Batch {
	random := rand.New(rand.NewPCG(5, uint64(n)))
	grid := make([]int16, n*shape.Len())
	for i := range grid {
		grid[i] = int16(random.IntN(pixel.Steps+1)) + int16(64*random.NormFloat64())
	}
	return classifier.Batch{N: n, Grid: grid}
}

func TestForms(t *testing.T) {
	needLibrary(t)
	cifarMean, cifarStd := []float64{.4914, .4822, .4465}, []float64{.2023, .1994, .2010}
	colour, grey := pixel.Shape{Height: 5, Width: 4, Channels: 3}, pixel.Shape{Height: 6, Width: 5, Channels: 1}
	for name, l := range map[string]*linear{
		"NCHW":                  {shape: colour, form: "NCHW"},
		"NHWC":                  {shape: colour, form: "NHWC"},
		"NHW":                   {shape: grey, form: "NHW"},
		"grey NCHW":             {shape: grey, form: "NCHW"},
		"flat grey":             {shape: grey, form: "flat NHWC", card: Card{Shape: &grey}},
		"flat NCHW":             {shape: colour, form: "flat NCHW", card: Card{Shape: &colour, Layout: nchw}},
		"flat NHWC":             {shape: colour, form: "flat NHWC", card: Card{Shape: &colour, Layout: nhwc}},
		"normalised":            {shape: colour, form: "NCHW", card: Card{Mean: cifarMean, Std: cifarStd}},
		"normalised NHWC":       {shape: colour, form: "NHWC", card: Card{Mean: cifarMean, Std: cifarStd}},
		"one mean for all":      {shape: colour, form: "NHWC", card: Card{Mean: []float64{.5}, Std: []float64{.25}}},
		"bgr, bytes":            {shape: colour, form: "NCHW", card: Card{ChannelOrder: bgr, Scale: 255, Mean: []float64{123.68, 116.78, 103.94}}},
		"bgr NHWC, alike":       {shape: colour, form: "NHWC", card: Card{ChannelOrder: bgr}},
		"bgr NHWC":              {shape: colour, form: "NHWC", card: Card{ChannelOrder: bgr, Std: cifarStd}},
		"float16":               {shape: colour, form: "NCHW", kind: onnxfile.Float16, card: Card{Mean: cifarMean, Std: cifarStd}},
		"float16 out":           {shape: colour, form: "NCHW", output: onnxfile.Float16},
		"float64 out":           {shape: colour, form: "NCHW", output: onnxfile.Float64},
		"float64":               {shape: colour, form: "NCHW", kind: onnxfile.Float64, card: Card{Mean: cifarMean, Std: cifarStd}},
		"float64 NHWC":          {shape: colour, form: "NHWC", kind: onnxfile.Float64, output: onnxfile.Float64},
		"flat of batch 1":       {shape: grey, form: "flat NHWC", card: Card{Shape: &grey}, batch: 1},
		"column":                {shape: grey, form: "column", card: Card{Shape: &grey}},
		"column of batch 1":     {shape: grey, form: "column", card: Card{Shape: &grey}, batch: 1},
		"row of batch 1":        {shape: colour, form: "row", card: Card{Shape: &colour, Layout: nhwc}, batch: 1},
		"one image or channel":  {shape: grey, form: "NHW", batch: 1},
		"uint8 of batch 1":      {shape: colour, form: "NHWC", kind: onnxfile.Uint8, batch: 1},
		"float16 of batch 1":    {shape: colour, form: "NCHW", kind: onnxfile.Float16, batch: 1},
		"softmax of batch 1":    {shape: colour, form: "NCHW", softmax: true, batch: 1},
		"uint8":                 {shape: colour, form: "NHWC", kind: onnxfile.Uint8},
		"fixed batch 1":         {shape: colour, form: "NCHW", batch: 1},
		"fixed batch 8":         {shape: colour, form: "NHWC", batch: 8},
		"probabilities":         {shape: colour, form: "NCHW", softmax: true},
		"float16 probabilities": {shape: colour, form: "NCHW", softmax: true, output: onnxfile.Float16},
		"trailing ones":         {shape: colour, form: "NCHW", tail: []onnxfile.Node{{Op: "Unsqueeze", Inputs: []string{"scores", "axes"}, Outputs: []string{"out"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			l.classes = 4
			if l.kind == 0 {
				l.kind = onnxfile.Float32
			}
			file := l.model()
			tolerance := 2e-5
			switch {
			case name == "trailing ones":
				file.Graph.Initializers = append(file.Graph.Initializers, onnxfile.Int64Tensor("axes", 2, 3))
				file.Graph.Outputs[0].Dims = append(file.Graph.Outputs[0].Dims, onnxfile.Dim{Size: 1}, onnxfile.Dim{Size: 1})
			case l.kind == onnxfile.Float16 || l.output == onnxfile.Float16:
				tolerance = 5e-3
			}
			path := write(t, file)
			for _, provider := range []string{"cpu", "openvino"} {
				if _, err := openvino.Library(); err == nil || provider == "cpu" {
					l.check(t, path, provider, tolerance)
				}
			}
		})
	}
}

// check compares scores with those in closed form.
func (l *linear) check(t *testing.T, path, provider string, tolerance float64) {
	t.Helper()
	model, err := Open(path, Options{Card: l.card, Provider: provider})
	if err != nil {
		t.Fatal(err)
	}
	const n = 21
	grid := noisy(l.shape, n)
	real := classifier.Batch{N: n, Real: make([]float32, len(grid.Grid))}
	for i, v := range grid.Grid {
		real.Real[i] = float32(v) / pixel.Steps
	}
	for form, batch := range map[string]classifier.Batch{"grid": grid, "real": real} {
		result := classifier.Result{Classes: make([]int32, n), Scores: make([]float32, n*l.classes)}
		if err := model.Classify(t.Context(), batch, &result); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			want := softmax(l.logits(func(j int) float64 { return float64(grid.Grid[i*l.shape.Len()+j]) / 255 }))
			got := result.Scores[i*l.classes : (i+1)*l.classes]
			for c := range want {
				if d := math.Abs(want[c] - float64(got[c])); d > tolerance {
					t.Fatalf("%s, %s form, image %d: scores %v; expected %v", provider, form, i, got, want)
				}
			}
			if best := slices.Index(want, slices.Max(want)); int(result.Classes[i]) != best {
				t.Fatalf("%s, %s form, image %d: class %d of scores %v", provider, form, i, result.Classes[i], want)
			}
		}
	}
	details, err := model.Details()
	if err != nil {
		t.Fatal(err)
	}
	if want := map[bool]string{true: probabilities, false: logits}[l.softmax]; details.Scores != want {
		t.Errorf("%s; expected %s", details.Scores, want)
	}
	if from := "the graph ends in a softmax"; l.softmax && details.ScoresFrom != from {
		t.Errorf("%s; expected that %s", details.ScoresFrom, from)
	}
}
