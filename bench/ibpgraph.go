package main

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
	"github.com/certspec/certspec/internal/onnxfile"
)

// intervalGraph turns the graph of a network into that of its interval bounds.
type intervalGraph struct {
	graph   onnxfile.Graph
	weights map[string]*onnxfile.Tensor
}

func (g *intervalGraph) node(op, name string, inputs []string, attributes ...onnxfile.Attribute) string {
	g.graph.Nodes = append(g.graph.Nodes, onnxfile.Node{Op: op, Name: name, Inputs: inputs, Outputs: []string{name}, Attributes: attributes})
	return name
}

func (g *intervalGraph) constant(name string, values []float32, dims ...int64) string {
	g.graph.Initializers = append(g.graph.Initializers, onnxfile.Float32Tensor(name, values, dims...))
	return name
}

// centre makes centre and radius of ends.
func (g *intervalGraph) centre(name, lower, upper string) (c, r string) {
	c = g.node("Mul", name+"/c", []string{g.node("Add", name+"/sum", []string{lower, upper}), "half"})
	return c, g.node("Mul", name+"/r", []string{g.node("Sub", name+"/width", []string{upper, lower}), "half"})
}

// values are those of a weight, changed one by one.
func (g *intervalGraph) values(name string, f func(float64) float64) ([]float32, []int64, error) {
	t := g.weights[name]
	if t == nil {
		return nil, nil, fmt.Errorf("no weights %q", name)
	}
	w, err := t.Float64s()
	out := make([]float32, len(w))
	for i, v := range w {
		out[i] = float32(f(v))
	}
	return out, t.Dims, err
}

// absolute is the constant |W|.
func (g *intervalGraph) absolute(name string) (string, error) {
	w, dims, err := g.values(name, math.Abs)
	return g.constant(name+"/abs", w, dims...), err
}

// merged are the differences of the columns of the last layer's weights and biases: W [m, K] to D [m, K·K].
func (g *intervalGraph) merged(weight, bias string) (d, offset string, size []float32, dims []int64, err error) {
	same := func(v float64) float64 { return v }
	w, shape, err := g.values(weight, same)
	if err != nil {
		return "", "", nil, nil, err
	}
	b, _, err := g.values(bias, same)
	m, k := int(shape[0]), int(shape[1])
	var all, offsets []float32
	for row := range m + 1 {
		of := b
		if row < m {
			of = w[row*k : (row+1)*k]
		}
		for i := range k {
			for j := range k {
				if v := of[i] - of[j]; row < m {
					all, size = append(all, v), append(size, float32(math.Abs(float64(v))))
				} else {
					offsets = append(offsets, v)
				}
			}
		}
	}
	dims = []int64{int64(m), int64(k * k)}
	return g.constant(weight+"/pairs", all, dims...), g.constant(weight+"/offsets", offsets, int64(k*k)), size, dims, err
}

// writeBounds writes the graph of U [N, K·K] over the balls of boundEpsilon within [0, 1], of a network of convolutions and dense layers.
func writeBounds(path string, m *modelfile.Model) error {
	data, err := export.Encode(m)
	if err != nil {
		return err
	}
	net, err := onnxfile.Decode(data)
	if err != nil {
		return err
	}
	g := &intervalGraph{graph: onnxfile.Graph{Name: "bounds", Inputs: net.Graph.Inputs, Initializers: net.Graph.Initializers}, weights: map[string]*onnxfile.Tensor{}}
	for i := range net.Graph.Initializers {
		g.weights[net.Graph.Initializers[i].Name] = &net.Graph.Initializers[i]
	}
	image := net.Graph.Inputs[0].Name
	g.constant("half", []float32{0.5})
	epsilon, zero, one := g.constant("epsilon", []float32{boundEpsilon}), g.constant("zero", []float32{0}), g.constant("one", []float32{1})
	c, r := map[string]string{}, map[string]string{}
	c[image], r[image] = g.centre("box",
		g.node("Clip", "lower", []string{g.node("Sub", "below", []string{image, epsilon}), zero, one}),
		g.node("Clip", "upper", []string{g.node("Add", "above", []string{image, epsilon}), zero, one}))
	for i, n := range net.Graph.Nodes {
		x, y := n.Inputs[0], n.Outputs[0]
		switch last := i == len(net.Graph.Nodes)-1; {
		case n.Op == "Relu":
			c[y], r[y] = g.centre(y, g.node("Relu", y+"/lower", []string{g.node("Sub", y+"/low", []string{c[x], r[x]})}),
				g.node("Relu", y+"/upper", []string{g.node("Add", y+"/high", []string{c[x], r[x]})}))
		case n.Op == "Flatten":
			c[y], r[y] = g.node(n.Op, y+"/c", []string{c[x]}), g.node(n.Op, y+"/r", []string{r[x]})
		case n.Op == "Gemm" && last:
			d, offset, size, dims, err := g.merged(n.Inputs[1], n.Inputs[2])
			if err != nil {
				return err
			}
			centre := g.node("Gemm", "centres", []string{c[x], d, offset})
			radius := g.node("MatMul", "radii", []string{r[x], g.constant("sizes", size, dims...)})
			g.node("Add", "U", []string{centre, radius})
		case n.Op == "Conv" || n.Op == "Gemm":
			size, err := g.absolute(n.Inputs[1])
			if err != nil {
				return err
			}
			c[y] = g.node(n.Op, y+"/c", []string{c[x], n.Inputs[1], n.Inputs[2]}, n.Attributes...)
			r[y] = g.node(n.Op, y+"/r", []string{r[x], size}, n.Attributes...)
		default:
			return fmt.Errorf("no bounds of %s %s", n.Op, n.Name)
		}
	}
	classes := int64(len(m.Card.Classes))
	g.graph.Outputs = []onnxfile.Value{{Name: "U", Type: onnxfile.Float32, Dims: []onnxfile.Dim{net.Graph.Inputs[0].Dims[0], {Size: classes * classes}}}}
	return atomicfile.Write(path, onnxfile.Encode(&onnxfile.Model{IRVersion: net.IRVersion, Opsets: net.Opsets, Graph: g.graph}))
}

// classifyLoop runs a graph on ONNX Runtime, its outputs taken as scores.
func classifyLoop(ctx context.Context, file string, n int) (func() (float64, error), error) {
	m, err := onnx.Open(file, onnx.Options{Card: onnx.Card{Layout: onnx.NCHW}, Threads: runtime.GOMAXPROCS(0)})
	if err != nil {
		return nil, err
	}
	info, err := m.Info() // reads the file
	if err != nil {
		return nil, err
	}
	batch := classifier.Batch{N: n, Real: noiseImages(n)}
	result := classifier.Result{Classes: make([]int32, n), Scores: make([]float32, n*info.Classes)}
	return func() (float64, error) { return float64(n), m.Classify(ctx, batch, &result) }, nil
}
