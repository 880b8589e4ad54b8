package onnx

import (
	"math"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/pixel"
)

// dense is a file of dense layers with ReLU between them, w by outputs and inputs; its input has those sides.
func dense(opset int64, in []int64, layers ...[][]float32) *onnxfile.Model {
	g := onnxfile.Graph{Name: "dense"}
	dims := []onnxfile.Dim{{Name: "n"}}
	for _, d := range in {
		dims = append(dims, onnxfile.Dim{Size: d})
	}
	g.Inputs = []onnxfile.Value{{Name: "x", Type: onnxfile.Float32, Dims: dims}}
	at := addNode(&g, "Flatten", "flat", []string{"x"})
	for i, rows := range layers {
		name := string(rune('a' + i))
		if i > 0 {
			at = addNode(&g, "Relu", name+"/relu", []string{at})
		}
		var w, b []float32
		for _, row := range rows { // the bias last
			w, b = append(w, row[:len(row)-1]...), append(b, row[len(row)-1])
		}
		n := int64(len(rows))
		g.Initializers = append(g.Initializers, onnxfile.Float32Tensor(name+"/w", w, n, int64(len(w))/n), onnxfile.Float32Tensor(name+"/b", b, n))
		at = addNode(&g, "Gemm", name, []string{at, name + "/w", name + "/b"}, onnxfile.IntAttribute("transB", 1))
	}
	g.Outputs = []onnxfile.Value{{Name: at, Type: onnxfile.Float32, Dims: []onnxfile.Dim{{Name: "n"}, {Size: int64(len(layers[len(layers)-1]))}}}}
	return &onnxfile.Model{IRVersion: onnxfile.IRVersion, Opsets: []onnxfile.OperatorSet{{Version: opset}}, Graph: g}
}

func joinOf(t *testing.T, f, h *onnxfile.Model, card Card, head string, shift float64) (*onnxfile.Model, error) {
	t.Helper()
	return join(Source{Path: "f.onnx", Contents: onnxfile.Encode(f), Options: Options{Card: card}},
		Source{Path: "h.onnx", Contents: onnxfile.Encode(h)}, head, shift)
}

// ofTwo is the discriminator of two values, h = 1 − 2·relu(x₁ − x₂) − relu(x₁ + x₂ − 1): in the ball of 0.1 around (0.5, 0.5) both inner values
// reach from 0 to 0.2, and h from 0.4 to 1.
func ofTwo() *onnxfile.Model {
	return dense(17, []int64{1, 1, 2}, [][]float32{{1, -1, 0}, {1, 1, -1}}, [][]float32{{-2, -1, 1}})
}

// By hand: with Δ = ½ and three classes the confidence around (0.5, 0.5) is at most π̄ + (1 − π̄)/3, π̄ = σ(1.5), beside a classifier whose own
// bound says nothing; that is 0.878383, and it is met at (0.5, 0.5) itself, but for what the classifier is unsure of there.
func TestJoinedBound(t *testing.T) {
	f := dense(13, []int64{1, 1, 2}, [][]float32{{1000, 0, -490}, {0, 1000, -500}, {1, 1, 0}})
	m, err := joinOf(t, f, ofTwo(), Card{}, "", 0.5)
	if err != nil {
		t.Fatal(err)
	}
	n, err := FeedForwardBytes("joined", onnxfile.Encode(m), Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := []float64{0.5, 0.5}
	pi := 1 / (1 + math.Exp(-1.5))
	want := pi + (1-pi)/3
	for _, a := range []feedforward.Arithmetic{feedforward.Plain, feedforward.Rigorous} {
		box, err := feedforward.Ball(x, 0.1, a)
		if err != nil {
			t.Fatal(err)
		}
		c, err := n.Confidence(t.Context(), x, box, feedforward.IBP, a)
		if err != nil {
			t.Fatal(err)
		}
		if got := math.Exp(c.LogUpper); got < want-1e-12 || got > want+1e-4 || a == feedforward.Plain && got > want+1e-7 {
			t.Errorf("arithmetic %v: bound %.9f, want %.9f", a, got, want)
		}
		p := pi/(1+math.Exp(-10)+math.Exp(-9)) + (1-pi)/3 // the logits are 10, 0 and 1
		if got := math.Exp(c.Log); math.Abs(got-p) > 1e-7 {
			t.Errorf("confidence %.9f, want %.9f", got, p)
		}
	}
}

// What a joined network computes is the formula, on what each part gives for the image that its card asks for; gradients are central differences.
func TestJoinedValues(t *testing.T) {
	shape := pixel.Shape{Height: 2, Width: 2, Channels: 3}
	rows := func(outputs, inputs int, step float32) [][]float32 {
		w := make([][]float32, outputs)
		for o := range w {
			for i := range inputs + 1 {
				w[o] = append(w[o], float32(math.Sin(float64(step)*float64(o*(inputs+1)+i+1))))
			}
		}
		return w
	}
	h := dense(17, []int64{3, 2, 2}, rows(4, 12, 0.7), rows(1, 4, 0.3))
	for name, c := range map[string]struct {
		in   []int64
		card Card
	}{
		"planes":          {[]int64{3, 2, 2}, Card{Layout: nchw}},
		"blue first":      {[]int64{2, 2, 3}, Card{Layout: nhwc, ChannelOrder: bgr, Scale: 2, Mean: []float64{0.1, 0.2, 0.4}, Std: []float64{0.5, 0.25, 2}}},
		"flat, one mean":  {[]int64{12}, Card{Layout: nhwc, Shape: &shape, Mean: []float64{0.5}}},
		"flat, in planes": {[]int64{12}, Card{Layout: nchw, Shape: &shape, Std: []float64{1, 2, 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := dense(17, c.in, rows(5, 12, 1.1), rows(3, 5, 0.9))
			if name == "planes" { // a last softmax is taken off
				addNode(&f.Graph, "Softmax", "p", []string{"b"})
				f.Graph.Outputs[0].Name = "p"
			}
			m, err := joinOf(t, f, h, c.card, "", -0.25)
			if err != nil {
				t.Fatal(err)
			}
			data := onnxfile.Encode(m)
			n, err := FeedForwardBytes("joined", data, Options{})
			if err != nil {
				t.Fatal(err)
			}
			one, err := FeedForwardBytes("f", onnxfile.Encode(f), Options{Card: c.card})
			if err != nil {
				t.Fatal(err)
			}
			two, err := FeedForwardBytes("h", onnxfile.Encode(h), Options{})
			if err != nil {
				t.Fatal(err)
			}
			x := make([]float64, 12)
			for i := range x {
				x[i] = float64(i*23%256) / 255
			}
			values := func(n *feedforward.Network) []float64 {
				v, err := n.Forward(x)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			logP, odds, got := logSoftmaxOf(values(one)), values(two)[0]-0.25, values(n)
			pi := 1 / (1 + math.Exp(-odds))
			for k, v := range logSoftmaxOf(got) {
				if want := math.Log(pi*math.Exp(logP[k]) + (1-pi)/3); math.Abs(v-want) > 1e-6 {
					t.Errorf("ln p of class %d: %v, want %v", k, v, want)
				}
			}
			v := []float64{1, -2, 0.5}
			_, g, err := n.VectorJacobian(x, func([]float64) []float64 { return v })
			if err != nil {
				t.Fatal(err)
			}
			total := func() (s float64) {
				for k, y := range values(n) {
					s += v[k] * y
				}
				return s
			}
			for i, at := range x {
				const step = 1e-6
				x[i] = at + step
				up := total()
				x[i] = at - step
				if want := (up - total()) / (2 * step); math.Abs(g[i]-want) > 1e-5*max(1, math.Abs(want)) {
					t.Errorf("gradient by value %d: %v, central difference %v", i, g[i], want)
				}
				x[i] = at
			}
			if _, err := Library(""); err != nil {
				t.Logf("not on ONNX Runtime: %v", err)
				return
			}
			runtime, err := FromBytes("joined", data, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer runtime.Close()
			grid := make([]int16, 2*12)
			for i := range grid {
				grid[i] = int16(i % 12 * 23 % 256)
			}
			var r classifier.Result
			r.Classes, r.Logits = make([]int32, 2), make([]float32, 6)
			if err := runtime.Classify(t.Context(), classifier.Batch{N: 2, Grid: grid}, &r); err != nil {
				t.Fatal(err)
			}
			for i, v := range r.Logits {
				if math.Abs(float64(v)-got[i%3]) > 1e-5 {
					t.Errorf("ONNX Runtime gives %v of image %d, class %d; want %v", v, i/3, i%3, got[i%3])
				}
			}
		})
	}
}

func logSoftmaxOf(f []float64) []float64 {
	sum := 0.0
	for _, v := range f {
		sum += math.Exp(v)
	}
	out := make([]float64, len(f))
	for k, v := range f {
		out[k] = v - math.Log(sum)
	}
	return out
}

// A discriminator's head is found inside of a joined network, which may be joined anew.
func TestJoinedHead(t *testing.T) {
	f := dense(17, []int64{1, 1, 2}, [][]float32{{1, 0, 0}, {0, 1, 0}})
	once, err := joinOf(t, f, ofTwo(), Card{}, "", 3)
	if err != nil {
		t.Fatal(err)
	}
	again, err := joinOf(t, f, once, Card{}, "discriminator/b", 3)
	if err != nil {
		t.Fatal(err)
	}
	var outs [2][]float64
	for i, m := range []*onnxfile.Model{once, again} {
		n, err := FeedForwardBytes("joined", onnxfile.Encode(m), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if outs[i], err = n.Forward([]float64{0.3, 0.9}); err != nil {
			t.Fatal(err)
		}
	}
	if outs[0][0] != outs[1][0] || outs[0][1] != outs[1][1] {
		t.Errorf("%v once, %v again", outs[0], outs[1])
	}
}

func TestJoinRefuses(t *testing.T) {
	f, two := dense(17, []int64{1, 1, 2}, [][]float32{{1, 0, 0}, {0, 1, 0}}), []int64{1, 1, 2}
	sigmoid := dense(17, two, [][]float32{{1, 0, 0}})
	addNode(&sigmoid.Graph, "Erf", "erf", []string{"a"})
	sigmoid.Graph.Outputs[0].Name = "erf"
	hard := dense(13, two, [][]float32{{1, 0, 0}})
	hard.Graph.Initializers = append(hard.Graph.Initializers, onnxfile.Int64Tensor("axes", 2))
	addNode(&hard.Graph, "Unsqueeze", "s", []string{"a", "axes"})
	hard.Graph.Outputs[0].Name = "s"
	probabilities := dense(17, two, [][]float32{{1, 0, 0}, {0, 1, 0}})
	addNode(&probabilities.Graph, "Softmax", "p", []string{"a"})
	addNode(&probabilities.Graph, "Identity", "q", []string{"p"})
	probabilities.Graph.Outputs[0].Name = "q"
	for name, c := range map[string]struct {
		f, h  *onnxfile.Model
		card  Card
		shift float64
		want  string
	}{
		"a shift that is no number":     {f, ofTwo(), Card{}, math.NaN(), "a shift of NaN; expected a number from -100 to 100"},
		"images of two shapes":          {dense(17, []int64{1, 2, 2}, [][]float32{{1, 0, 0, 0, 0}, {0, 0, 0, 1, 0}}), ofTwo(), Card{}, 0, "takes images of 2×2×1, the discriminator h.onnx of 1×2×1; they must agree"},
		"a discriminator of two values": {f, f, Card{}, 0, `its output "a" has 2 values; expected a network that prood trained`},
		"one that cannot be bounded":    {f, sigmoid, Card{}, 0, `"erf" (Erf): no layer of this kind`},
		"a classifier of one value":     {ofTwo(), ofTwo(), Card{}, 0, "has one value; expected a logit for each class"},
		"probabilities":                 {probabilities, ofTwo(), Card{}, 0, "it gives probabilities; expected logits"},
		"operators of two meanings":     {f, hard, Card{}, 0, `(Unsqueeze) may mean something else; export both with one opset`},
		"a mean for too many channels":  {f, ofTwo(), Card{Mean: []float64{1, 2}}, 0, "mean has 2 values"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := joinOf(t, c.f, c.h, c.card, "", c.shift); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
