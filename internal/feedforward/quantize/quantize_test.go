package quantize_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/feedforward/quantize"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/pixel"
)

// net is a residual network of 3 × 8 × 8 images: a normalised convolution with ReLU, a convolution beside it, their sum with
// ReLU, maxima, mean, a dense layer; then what stays in float32.
func net(seed uint64) *onnxfile.Model {
	random := rand.New(rand.NewPCG(seed, 1))
	tensor := func(name string, spread, middle float64, dims ...int64) onnxfile.Tensor {
		n := int64(1)
		for _, d := range dims {
			n *= d
		}
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(middle + spread*random.NormFloat64())
		}
		return onnxfile.NewTensor(name, values, dims...)
	}
	variance := tensor("v", 0, 1.3, 4)
	node := func(op, out string, attributes []onnxfile.Attribute, in ...string) onnxfile.Node {
		return onnxfile.Node{Op: op, Name: out, Inputs: in, Outputs: []string{out}, Attributes: attributes}
	}
	same := []onnxfile.Attribute{onnxfile.IntsAttribute("kernel_shape", 3, 3), onnxfile.IntsAttribute("pads", 1, 1, 1, 1)}
	two := []onnxfile.Attribute{onnxfile.IntsAttribute("kernel_shape", 2, 2), onnxfile.IntsAttribute("strides", 2, 2)}
	return &onnxfile.Model{IRVersion: 8, Opsets: []onnxfile.OperatorSet{{Version: 17}}, Graph: onnxfile.Graph{Name: "net",
		Inputs:  []onnxfile.Value{{Name: "image", Type: onnxfile.Float32, Dims: []onnxfile.Dim{{Name: "n"}, {Size: 3}, {Size: 8}, {Size: 8}}}},
		Outputs: []onnxfile.Value{{Name: "out", Type: onnxfile.Float32, Dims: []onnxfile.Dim{{Name: "n"}, {Size: 5}}}},
		Initializers: []onnxfile.Tensor{tensor("w1", .3, 0, 4, 3, 3, 3), tensor("g", .2, 1, 4), tensor("b", .2, 0, 4), tensor("m", .2, 0, 4), variance,
			tensor("w2", .2, 0, 4, 4, 3, 3), tensor("b2", .2, 0, 4), tensor("w3", .8, 0, 4, 5), tensor("b3", .1, 0, 5), tensor("k", .1, 1, 5)},
		Nodes: []onnxfile.Node{
			node("Conv", "c1", same, "image", "w1"), node("BatchNormalization", "n1", nil, "c1", "g", "b", "m", "v"), node("Relu", "r1", nil, "n1"),
			node("Conv", "c2", same, "r1", "w2", "b2"), node("Add", "a", nil, "c2", "r1"), node("Relu", "r2", nil, "a"),
			node("MaxPool", "p", two, "r2"), node("GlobalAveragePool", "mean", nil, "p"), node("Flatten", "flat", nil, "mean"),
			node("Gemm", "d", nil, "flat", "w3", "b3"), node("Mul", "out", nil, "d", "k"),
		}}}
}

// image is a noisy one.
func image(i int) []float64 {
	random := rand.New(rand.NewPCG(uint64(i), 2))
	x := make([]float64, 3*8*8)
	for k := range x {
		x[k] = random.Float64() + .25*random.NormFloat64()
	}
	return x
}

// quantised is the network in integers, with its record and that in float32.
func quantised(t testing.TB, seed uint64) (*onnxfile.Model, *quantize.Record, *feedforward.Network) {
	t.Helper()
	m := net(seed)
	f, err := feedforward.FromONNX("net", m, nil)
	if err != nil {
		t.Fatal(err)
	}
	ranges := map[string]quantize.Range{}
	for i := range 40 {
		results, err := f.Results(image(1000 + i))
		if err != nil {
			t.Fatal(err)
		}
		if err := quantize.Widen(ranges, results); err != nil {
			t.Fatal(err)
		}
	}
	r, err := quantize.Apply(m, ranges)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = onnxfile.Decode(onnxfile.Encode(m)); err != nil {
		t.Fatal(err)
	}
	return m, r, f
}

// evaluate computes the graph as the operators are defined, in float64 with rounding where QuantizeLinear says so; it knows the
// forms that occur in net alone, and nothing of this package.
func evaluate(t testing.TB, m *onnxfile.Model, x []float64) []float64 {
	t.Helper()
	values := map[string][]float64{"image": x}
	types := map[string]onnxfile.Type{}
	for i := range m.Graph.Initializers {
		c := &m.Graph.Initializers[i]
		v, err := c.Float64s()
		if err != nil {
			t.Fatal(err)
		}
		values[c.Name], types[c.Name] = v, c.Type
	}
	for _, n := range m.Graph.Nodes {
		in := make([][]float64, len(n.Inputs))
		for i, name := range n.Inputs {
			v, found := values[name]
			if !found {
				t.Fatalf("%s reads %q before it is there", n.Name, name)
			}
			in[i] = v
		}
		var out []float64
		switch n.Op {
		case "QuantizeLinear":
			for _, v := range in[0] {
				out = append(out, min(max(math.RoundToEven(v/in[1][0])+in[2][0], 0), 255))
			}
		case "DequantizeLinear":
			inner := 1 // values of one channel that follow each other
			if n.Int("axis", 1) == 0 {
				inner = len(in[0]) / len(in[1])
			}
			for i, v := range in[0] {
				c := i / inner % len(in[1])
				out = append(out, (v-in[2][c])*in[1][c])
			}
		case "Conv":
			channels, outputs := len(in[0])/64, 4
			for o := range outputs {
				for y := range 8 {
					for x := range 8 {
						sum := in[2][o]
						for c := range channels {
							for k := range 9 {
								if yy, xx := y+k/3-1, x+k%3-1; yy >= 0 && yy < 8 && xx >= 0 && xx < 8 {
									sum += in[0][c*64+yy*8+xx] * in[1][(o*channels+c)*9+k]
								}
							}
						}
						out = append(out, sum)
					}
				}
			}
		case "Add", "Mul":
			for i := range in[0] {
				if n.Op == "Add" {
					out = append(out, in[0][i]+in[1][i])
				} else {
					out = append(out, in[0][i]*in[1][i])
				}
			}
		case "MaxPool":
			for c := range 4 {
				for y := range 4 {
					for x := range 4 {
						at := c*64 + 16*y + 2*x
						out = append(out, max(in[0][at], in[0][at+1], in[0][at+8], in[0][at+9]))
					}
				}
			}
		case "GlobalAveragePool":
			for c := range 4 {
				sum := 0.0
				for _, v := range in[0][16*c : 16*c+16] {
					sum += v
				}
				out = append(out, sum/16)
			}
		case "Flatten":
			out = in[0]
		case "Gemm":
			for o := range 5 {
				sum := in[2][o]
				for i, v := range in[0] {
					sum += v * in[1][i*5+o]
				}
				out = append(out, sum)
			}
		default:
			t.Fatalf("operator %s in the quantised network", n.Op)
		}
		values[n.Outputs[0]] = out
	}
	return values["out"]
}

func best(v []float64) int { return slices.Index(v, slices.Max(v)) }

// spread is how far the values lie apart.
func spread(v []float64) float64 { return slices.Max(v) - slices.Min(v) }

func TestCloseToFloat(t *testing.T) {
	equal, worst := 0, 0.0
	for seed := range uint64(5) {
		m, _, f := quantised(t, seed)
		for i := range 40 {
			got := evaluate(t, m, image(i))
			want, err := f.Forward(image(i))
			if err != nil {
				t.Fatal(err)
			}
			if best(got) == best(want) {
				equal++
			}
			for k := range got {
				worst = max(worst, math.Abs(got[k]-want[k])/spread(want))
			}
		}
	}
	t.Logf("%d of 200 classes equal, largest difference %.3f of the spread of logits", equal, worst)
	if equal < 190 || worst > .12 {
		t.Errorf("%d of 200 classes equal, a logit differs by %.3f of their spread", equal, worst)
	}
}

// A scale that is wrong by a half is seen.
func TestWrongScale(t *testing.T) {
	m, r, f := quantised(t, 0)
	for name, a := range r.Activations {
		if name == "p" || name == "flat" {
			continue // steps of what they carry
		}
		changed, err := onnxfile.Decode(onnxfile.Encode(m))
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for i := range changed.Graph.Nodes {
			// The scale that reads the integers, not that which writes them.
			if n := &changed.Graph.Nodes[i]; n.Op == "DequantizeLinear" && n.Outputs[0] == "int8/"+name+"/read" {
				changed.Graph.Initializers = append(changed.Graph.Initializers, onnxfile.NewTensor("wrong", []float32{1.5 * a.Scale}))
				n.Inputs = slices.Clone(n.Inputs)
				n.Inputs[1] = "wrong"
				seen++
			}
		}
		worst := 0.0
		for i := range 20 {
			got := evaluate(t, changed, image(i))
			want, err := f.Forward(image(i))
			if err != nil {
				t.Fatal(err)
			}
			for k := range got {
				worst = max(worst, math.Abs(got[k]-want[k])/spread(want))
			}
		}
		if seen != 1 || worst < .12 {
			t.Errorf("%d scales of %s changed, logits differ by %.3f of their spread; expected more than the .12 that TestCloseToFloat allows", seen, name, worst)
		}
	}
}

func TestWeightsWithinHalfAStep(t *testing.T) {
	m, r, _ := quantised(t, 3)
	values := map[string][]float64{}
	for i := range m.Graph.Initializers {
		values[m.Graph.Initializers[i].Name], _ = m.Graph.Initializers[i].Float64s()
	}
	original := net(3)
	check := func(name, out string, per func(i int) int, factor func(c int) float64) {
		t.Helper()
		at := slices.IndexFunc(original.Graph.Initializers, func(t onnxfile.Tensor) bool { return t.Name == name })
		w, _ := original.Graph.Initializers[at].Float64s()
		q, scale := values["int8/"+out+"/weight/int8"], values["int8/"+out+"/weight/scale"]
		if len(q) != len(w) {
			t.Fatalf("%s: %d integers for %d weights", name, len(q), len(w))
		}
		largest := make([]float64, len(scale))
		for i := range w {
			c := per(i)
			largest[c] = max(largest[c], math.Abs(q[i]))
			if d := math.Abs(q[i]*scale[c] - w[i]*factor(c)); d > scale[c]*(.5+1e-5) {
				t.Errorf("%s: weight %d is off by %.3f steps", name, i, d/scale[c])
			}
		}
		for c, v := range largest {
			if v != 127 {
				t.Errorf("%s: channel %d uses ±%v; expected 127", name, c, v)
			}
		}
	}
	one := func(int) float64 { return 1 }
	check("w2", "c2", func(i int) int { return i / 36 }, one)
	check("w3", "d", func(i int) int { return i % 5 }, one)
	gamma, _ := original.Graph.Initializers[1].Float64s()
	check("w1", "n1", func(i int) int { return i / 27 }, func(c int) float64 { return gamma[c] / math.Sqrt(float64(float32(1.3))+1e-5) })
	if a := r.Activations["r1"]; a.Zero != 0 || a.Low != 0 || math.Abs(float64(a.Scale)-a.High/255) > 1e-7 {
		t.Errorf("ReLU's result is %+v", a)
	}
	if p, of := r.Activations["p"], r.Activations["r2"]; p.Scale != of.Scale || p.Zero != of.Zero {
		t.Errorf("maxima have steps %v, what they are of %v", p.Scale, of.Scale)
	}
}

func TestNamesWhatStays(t *testing.T) {
	_, r, _ := quantised(t, 0)
	if !slices.Equal(r.Float32, []string{"out (Mul)"}) || r.Integer != 7 {
		t.Errorf("%d on integers, in float32 %v", r.Integer, r.Float32)
	}
}

func TestBadInput(t *testing.T) {
	ranges := map[string]quantize.Range{}
	for name, c := range map[string]struct {
		change func(m *onnxfile.Model)
		want   string
	}{
		"no ranges":    {func(m *onnxfile.Model) {}, `"image" has no range`},
		"old opset":    {func(m *onnxfile.Model) { m.Opsets[0].Version = 8 }, "opset 8; expected 9"},
		"old operator": {func(m *onnxfile.Model) { m.Opsets[0].Version = 11; m.Graph.Nodes[2].Op = "Clip" }, `"r1" (Clip) may mean something else`},
		"nothing":      {func(m *onnxfile.Model) { m.Graph.Nodes = m.Graph.Nodes[10:] }, "no node that can compute on integers"},
	} {
		m := net(0)
		c.change(m)
		if _, err := quantize.Apply(m, ranges); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; expected %q", name, err, c.want)
		}
	}
	if err := quantize.Widen(ranges, map[string][]float64{"x": {1, math.NaN()}}); err == nil {
		t.Error("NaN has a range")
	}
}

// ONNX Runtime computes what the operators say, by its integer layers: equal scores but for a step where a value lies in the middle
// of two, and the same bits for every size of batch and number of threads.
func TestONNXRuntime(t *testing.T) {
	if _, err := onnx.Library(""); err != nil {
		t.Skip(err)
	}
	m, _, _ := quantised(t, 1)
	const images = 150
	shape := pixel.Shape{Height: 8, Width: 8, Channels: 3}
	batch := classifier.Batch{N: images, Real: make([]float32, images*shape.Len())}
	for i := range images {
		for k, v := range image(i) { // channels first
			batch.Real[i*shape.Len()+k%64*3+k/64] = float32(v)
		}
	}
	var first []float32
	for _, threads := range []int{1, 2, 3} {
		model, err := onnx.FromBytes("net", onnxfile.Encode(m), onnx.Options{Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1, 7, images} {
			var scores []float32
			for from := 0; from < images; from += size {
				n := min(size, images-from)
				result := classifier.Result{Classes: make([]int32, n), Scores: make([]float32, n*5)}
				if err := model.Classify(t.Context(), classifier.Batch{N: n, Real: batch.Real[from*shape.Len() : (from+n)*shape.Len()]}, &result); err != nil {
					t.Fatal(err)
				}
				scores = append(scores, result.Scores...)
			}
			if first == nil {
				first = scores
			} else if !slices.Equal(first, scores) {
				t.Errorf("%d threads, batches of %d: other scores", threads, size)
			}
		}
		model.Close()
	}
	if runtime.GOARCH == "amd64" && !cpu.X86.HasAVX512VNNI && !cpu.X86.HasAVXVNNI {
		t.Skip("this processor has no VNNI: ONNX Runtime adds pairs of products in 16 bits, which saturate, so that its answers are not those of exact sums")
	}
	classes, near := 0, 0
	for i := range images {
		want := evaluate(t, m, image(i))
		total := 0.0
		for k, v := range want {
			want[k] = math.Exp(v)
			total += want[k]
		}
		got := make([]float64, 5)
		worst := 0.0
		for k := range got {
			got[k], want[k] = float64(first[5*i+k]), want[k]/total // scores are probabilities
			worst = max(worst, math.Abs(got[k]-want[k]))
		}
		if best(got) == best(want) {
			classes++
		}
		if worst < .01 {
			near++
		}
	}
	t.Logf("of %d images %d classes agree, %d have scores within .01", images, classes, near)
	if classes < images-1 || near < images*9/10 {
		t.Errorf("of %d images %d classes agree, %d have scores within .01", images, classes, near)
	}
}
