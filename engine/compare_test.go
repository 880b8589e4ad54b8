package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/internal/testkit/engines"
)

// convolutional is a small network with one layer of each common kind, on images of 6 × 5 × 3.
func convolutional(change func(g *onnxfile.Graph)) []byte {
	rng := rand.New(rand.NewPCG(1, 1))
	tensor := func(name string, dims ...int64) onnxfile.Tensor {
		n := int64(1)
		for _, d := range dims {
			n *= d
		}
		w := make([]float32, n)
		for i := range w {
			w[i] = float32(rng.NormFloat64()) / 4
		}
		if name == "variance" {
			for i := range w {
				w[i] = 0.5 + w[i]*w[i]
			}
		}
		return onnxfile.Float32Tensor(name, w, dims...)
	}
	node := func(op, name string, inputs []string, attributes ...onnxfile.Attribute) onnxfile.Node {
		return onnxfile.Node{Op: op, Name: "the " + name, Inputs: inputs, Outputs: []string{name}, Attributes: attributes}
	}
	value := func(name string, sides ...int64) onnxfile.Value {
		v := onnxfile.Value{Name: name, Type: onnxfile.Float32, Dims: []onnxfile.Dim{{Name: "n"}}}
		for _, side := range sides {
			v.Dims = append(v.Dims, onnxfile.Dim{Size: side})
		}
		return v
	}
	g := onnxfile.Graph{
		Inputs:  []onnxfile.Value{value("x", 3, 6, 5)},
		Outputs: []onnxfile.Value{value("y", 5)},
		Initializers: []onnxfile.Tensor{
			tensor("w", 5, 3, 3, 3), tensor("scale", 5), tensor("shift", 5), tensor("mean", 5), tensor("variance", 5),
			tensor("row", 5), tensor("v", 5, 5), tensor("b", 5),
		},
		Nodes: []onnxfile.Node{
			node("Conv", "c", []string{"x", "w"}, onnxfile.IntsAttribute("pads", 1, 1, 1, 1)),
			node("BatchNormalization", "n", []string{"c", "scale", "shift", "mean", "variance"},
				onnxfile.FloatAttribute("epsilon", 1e-3)),
			node("LeakyRelu", "r", []string{"n"}, onnxfile.FloatAttribute("alpha", 0.2)),
			node("MaxPool", "p", []string{"r"}, onnxfile.IntsAttribute("kernel_shape", 2, 1)),
			node("Add", "a", []string{"p", "row"}),
			node("GlobalAveragePool", "g", []string{"a"}),
			node("Flatten", "f", []string{"g"}),
			node("Gemm", "z", []string{"f", "v", "b"}, onnxfile.IntAttribute("transB", 1)),
			node("LogSoftmax", "y", []string{"z"}),
		},
	}
	if change != nil {
		change(&g)
	}
	sets := []onnxfile.OperatorSet{{Version: onnxfile.Opset}}
	return onnxfile.Encode(&onnxfile.Model{IRVersion: onnxfile.IRVersion, Opsets: sets, Graph: g})
}

// Layers that were read otherwise than ONNX Runtime runs the file are refused, and the first node that differs is
// named: readers that go wrong are stood in for by the same file with another weight, attribute or operator.
func TestLayersThatDifferAreRefused(t *testing.T) {
	engines.NeedONNXRuntime(t)
	read := func(data []byte) *onnx.Layers {
		l, err := onnx.ReadLayers(onnx.Source{Path: "net.onnx", Contents: data})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	set := func(at int, attributes ...onnxfile.Attribute) func(*onnxfile.Graph) {
		return func(g *onnxfile.Graph) { g.Nodes[at].Attributes = attributes }
	}
	for name, c := range map[string]struct {
		node   string // "": nothing differs
		change func(*onnxfile.Graph)
	}{
		"the same":               {"", nil},
		"a weight of a few bits": {"the c", func(g *onnxfile.Graph) { changeFirst(&g.Initializers[0], 1+1e-4) }},
		"padding elsewhere":      {"the c", set(0, onnxfile.IntsAttribute("pads", 0, 1, 2, 1))},
		"epsilon":                {"the n", set(1, onnxfile.FloatAttribute("epsilon", 1.1e-3))},
		"the slope":              {"the r", set(2, onnxfile.FloatAttribute("alpha", 0.2001))},
		"the mean for the most":  {"the p", func(g *onnxfile.Graph) { g.Nodes[3].Op = "AveragePool" }},
		"a row along another axis": {"the a", func(g *onnxfile.Graph) {
			g.Initializers[5].Dims = []int64{5, 1, 1}
		}},
		"another sign":          {"the a", func(g *onnxfile.Graph) { g.Nodes[4].Op = "Sub" }},
		"the most for the mean": {"the g", func(g *onnxfile.Graph) { g.Nodes[5].Op = "GlobalMaxPool" }},
		"not transposed":        {"the z", set(7)},
		"another last bias":     {"the z", func(g *onnxfile.Graph) { changeFirst(&g.Initializers[7], 1.0001) }},
		"another head":          {"output 0 is", func(g *onnxfile.Graph) { g.Nodes[8].Op = "Softmax" }},
	} {
		compared := read(convolutional(nil))
		compared.Network = read(convolutional(c.change)).Network
		run := comparison{layers: compared}
		err := run.images(t.Context())
		run.close()
		if c.node == "" && err != nil || c.node != "" && (err == nil || !strings.Contains(err.Error(), c.node)) {
			t.Errorf("%s: %v; expected an error at %q", name, err, c.node)
		}
	}
}

func changeFirst(t *onnxfile.Tensor, factor float32) {
	values, err := t.Float64s()
	if err != nil {
		panic(err)
	}
	w := make([]float32, len(values))
	for i, v := range values {
		w[i] = float32(v)
	}
	w[0] *= factor
	*t = onnxfile.Float32Tensor(t.Name, w, t.Dims...)
}

// A model and a graph say with what they were compared, and without ONNX Runtime neither is given, but for who asks
// for it uncompared.
func TestLayersSayWhetherTheyWereCompared(t *testing.T) {
	path := testkit.Write(t, convolutional(nil), t.TempDir(), "net.onnx")
	m, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	g, err := ReadGraph(path)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	plain, err := m.Uncompared()
	if err != nil || plain.Compared() != feedforward.NotCompared || g.Network().Compared() != feedforward.NotCompared {
		t.Errorf("%v: compared with %s", err, plain.Compared())
	}
	if _, err := onnx.Library(""); err == nil {
		n, err := m.FeedForward(t.Context())
		if err != nil || n.Compared() != ONNXRuntime || n.Digest() != plain.Digest() {
			t.Errorf("%v: %+v", err, n)
		}
		black := feedforward.Box{Lower: make([]float64, 90), Upper: make([]float64, 90)}
		if err := g.Compare(t.Context(), black); err != nil || g.Network().Compared() != ONNXRuntime {
			t.Error(err)
		}
		if out, err := g.Run(make([]float64, 90)); err != nil || len(out[0]) != 5 || len(out[1]) != 5 {
			t.Errorf("%v, %v", out, err)
		}
		if err := g.Compare(t.Context(), feedforward.Box{Lower: []float64{0}, Upper: []float64{1}}); err == nil {
			t.Error("a box of one value was taken")
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := m.FeedForward(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
	}
	t.Setenv("CERTSPEC_CACHE", t.TempDir())
	t.Setenv(onnx.Variable, "")
	if _, err := m.FeedForward(t.Context()); err == nil || !strings.Contains(err.Error(), "ONNX Runtime") {
		t.Errorf("without ONNX Runtime: %v", err)
	}
	if n, err := m.comparedIfPossible(t.Context()); err != nil || n.Compared() != feedforward.NotCompared {
		t.Errorf("without ONNX Runtime: %v", err)
	}
}

// Where one input takes long, the agreement at all is remembered, by layers, file and inputs; one input is compared
// all the same. A difference is not remembered.
func TestLongComparisonsAreRemembered(t *testing.T) {
	engines.NeedONNXRuntime(t)
	library, err := onnx.Library("")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(onnx.Variable, library)
	cached := t.TempDir()
	t.Setenv("CERTSPEC_CACHE", cached)
	defer func(d time.Duration) { keptFrom = d }(keptFrom)
	keptFrom = 0
	read := func(change func(g *onnxfile.Graph)) *onnx.Layers {
		l, err := onnx.ReadLayers(onnx.Source{Path: "net.onnx", Contents: convolutional(change)})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	other := func(g *onnxfile.Graph) { changeFirst(&g.Initializers[0], 1.1) }
	mixed := read(nil)
	mixed.Network = read(other).Network
	for i, c := range []struct {
		layers *onnx.Layers
		value  float64
		times  int64 // −1: they differ
		files  int
	}{
		{read(nil), 0.2, 3, 1}, {read(nil), 0.2, 1, 1}, {read(nil), 1, 3, 2}, {read(other), 0.2, 3, 3},
		{mixed, 0.2, -1, 3}, {mixed, 0.2, -1, 3}, {read(nil), 0.2, 1, 3},
	} {
		run, points, times := comparison{layers: c.layers}, make([][]float64, 3), atomic.Int64{}
		for k := range points {
			points[k] = slices.Repeat([]float64{c.value}, 90)
		}
		err := run.at(t.Context(), points, func(x []float64) (feedforward.Box, error) {
			times.Add(1)
			return feedforward.Ball(x, 0, feedforward.Rigorous)
		})
		run.close()
		files, _ := filepath.Glob(filepath.Join(cached, "compared", "*"))
		if (err != nil) != (c.times < 0) || err == nil && times.Load() != c.times || len(files) != c.files {
			t.Errorf("run %d: %d inputs, %d files, %v", i, times.Load(), len(files), err)
		}
	}
}

// Points of the comparison: sixteen at least, ends and the middle of each box among them, none outside.
func TestPointsOfComparison(t *testing.T) {
	for _, n := range []int{1, 2, 5, 100} {
		var boxes []feedforward.Box
		for i := range n {
			boxes = append(boxes, feedforward.Box{Lower: []float64{float64(i), -1}, Upper: []float64{float64(i) + 0.5, 1}})
		}
		points := pointsOf(boxes)
		if len(points) < fewestPoints {
			t.Errorf("%d boxes: %d points", n, len(points))
		}
		inside, middles := map[int]int{}, 0
		for _, x := range points {
			i := int(x[0])
			if x[0] < 0 || x[0] > float64(i)+0.5 || x[1] < -1 || x[1] > 1 {
				t.Errorf("%v is in no box", x)
			}
			if inside[i]++; x[0] == float64(i)+0.25 && x[1] == 0 {
				middles++
			}
		}
		if len(inside) != min(n, 8) || middles < len(inside) {
			t.Errorf("%d boxes: points in %v, %d middles", n, inside, middles)
		}
	}
}
