package layergraph

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/testkit/drawnet"
	"github.com/certspec/certspec/internal/testkit/engines"
)

// evaluate gives the outputs of the graph for a batch of inputs.
func evaluate(
	t *testing.T,
	b *backend.Backend,
	g *Network,
	shape []int,
	points ...[]float64,
) [][]float64 {
	t.Helper()
	device := func(values []float32, dims ...int) *tensors.Tensor {
		x, err := tensors.FromRaw(
			b.Backend,
			0,
			shapes.Make(dtypes.Float32, dims...),
			dtypes.UnsafeByteSliceFromAny(values),
		)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	var x []float32
	for _, p := range points {
		for _, v := range p {
			x = append(x, float32(v))
		}
	}
	inputs, place := []any{device(x, append([]int{len(points)}, shape...)...)}, map[string]int{}
	for _, w := range g.Weights {
		place[w.Name] = len(inputs)
		inputs = append(inputs, device(w.Values, w.Shape...))
	}
	exec, err := graph.NewExec(b.Backend, func(inputs []*graph.Node) *graph.Node {
		return g.Forward(inputs[0], func(name string) *graph.Node { return inputs[place[name]] })
	})
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Finalize()
	out, err := exec.Call1(inputs...)
	if err != nil {
		t.Fatal(err)
	}
	values, err := tensors.CopyFlatData[float32](out)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([][]float64, len(points))
	for i, v := range values {
		rows[i*len(points)/len(values)] = append(rows[i*len(points)/len(values)], float64(v))
	}
	return rows
}

// Every drawn network that is read as layers gives outputs in the rigorous bounds of its layers at points, in a batch
// of three, with tolerance 0.
func TestDrawnNetworksLieInTheirBounds(t *testing.T) {
	for choice, count := range map[string]uint64{"go": 1500, "xla:cpu": 150} {
		t.Run(choice, func(t *testing.T) {
			b := engines.Backend(t, choice)
			if testing.Short() {
				count /= 5
			}
			ops := map[string]int{}
			random := rand.New(rand.NewPCG(1, 2))
			for seed := range count {
				net := drawnet.Draw(drawnet.FromSeed(seed))
				model, err := onnxfile.Decode(onnxfile.Encode(net.Model))
				if err != nil {
					continue
				}
				layers, err := feedforward.FromONNX("drawn.onnx", model, nil)
				if err != nil {
					continue
				}
				g, err := New(layers.Parts(), "")
				if err != nil {
					t.Errorf("network %d: %v", seed, err)
					continue
				}
				for _, l := range layers.Layers() {
					ops[l.Op]++
				}
				middle := make([]float64, len(net.Lower))
				for i, lo := range net.Lower {
					middle[i] = float64(float32(lo + (net.Upper[i]-lo)*random.Float64()))
					middle[i] = min(max(middle[i], lo), net.Upper[i])
				}
				points := [][]float64{net.Lower, middle, net.Upper}
				for i, row := range evaluate(t, b, g, layers.InputShape(), points...) {
					box, err := layers.Intervals(
						feedforward.Box{Lower: points[i], Upper: points[i]},
						feedforward.Rigorous,
					)
					if err != nil {
						t.Fatal(err)
					}
					if d := box.Outside(row); d != nil {
						t.Errorf("network %d, point %d: %v, layers %v", seed, i, d, layers.Layers())
						break
					}
				}
			}
			if !testing.Short() && choice == "go" {
				for _, op := range []string{"Conv", "Dense", "Scale", "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Clip", "Softplus",
					"AveragePool", "MaxPool", "Reshape", "Transpose", "Pad", "Sum", "Concat", "LogSoftmax", "LogSumExp"} {
					if ops[op] < 5 {
						t.Errorf(
							"%d layers of kind %s in %d networks: this test meets too few",
							ops[op],
							op,
							count,
						)
					}
				}
			}
		})
	}
}

// Images of a file with channels first lie channels last, with no transposition, and dense layers behind them follow.
func TestImagesLieChannelsLast(t *testing.T) {
	b := feedforward.NewBuilder(4, 6, 3)
	random := rand.New(rand.NewPCG(3, 4))
	draw := func(n int) []float64 {
		w := make([]float64, n)
		for i := range w {
			w[i] = float64(float32(random.NormFloat64()))
		}
		return w
	}
	x := b.Transpose(0, 2, 0, 1)
	x = b.ReLU(
		b.Conv(
			x,
			5,
			feedforward.ConvOptions{Kernel: [2]int{3, 3}, Pad: [4]int{1, 1, 1, 1}},
			draw(135),
			draw(5),
		),
	)
	x = b.Reshape(x, 120)
	net, err := b.Network(b.Dense(x, 4, draw(480), draw(4)))
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(net.Parts(), "")
	if err != nil {
		t.Fatal(err)
	}
	points := [][]float64{draw(72), draw(72)}
	for i, row := range evaluate(t, engines.Backend(t, "go"), g, net.InputShape(), points...) {
		want, err := net.Forward(points[i])
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range want {
			if math.Abs(row[k]-v) > 1e-4*(1+math.Abs(v)) {
				t.Errorf("output %d of point %d is %v, want %v", k, i, row[k], v)
			}
		}
	}
	exec, err := graph.NewExec(engines.Backend(t, "go").Backend, func(x *graph.Node) *graph.Node {
		weights := map[string]*graph.Node{}
		for _, w := range g.Weights {
			weights[w.Name] = graph.Const(
				x.Graph(),
				tensors.FromFlatDataAndDimensions(w.Values, w.Shape...),
			)
		}
		y := g.Forward(x, func(name string) *graph.Node { return weights[name] })
		for _, n := range x.Graph().Nodes() {
			if n.Type() == graph.NodeTypeTranspose {
				t.Errorf("a transposition in the graph: %s", n)
			}
		}
		return y
	})
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Finalize()
	if _, err := exec.Call1(
		tensors.FromFlatDataAndDimensions(make([]float32, 72), 1, 4, 6, 3),
	); err != nil {
		t.Fatal(err)
	}
}

// The kernels of XLA take the convolutions of a file with channels first, strided and with 1×1 pixels, too.
func TestKernelsTakeTheConvolutions(t *testing.T) {
	engine := engines.Backend(t, "xla:cpu")
	if engine.Convolutions() == nil {
		t.Skipf("kernels: %s", engine.Kernels)
	}
	b := feedforward.NewBuilder(8, 8, 3)
	w := func(n int) []float64 { return make([]float64, n) }
	three := feedforward.ConvOptions{Kernel: [2]int{3, 3}, Pad: [4]int{1, 1, 1, 1}}
	x := b.ReLU(b.Conv(b.Transpose(0, 2, 0, 1), 16, three, w(16*27), nil))
	y := b.Conv(x, 32, feedforward.ConvOptions{Kernel: [2]int{1, 1}, Stride: [2]int{2, 2}}, w(512), nil)
	three.Stride = [2]int{2, 2}
	x = b.Sum([]float64{1, 1}, b.Conv(x, 32, three, w(16*32*9), nil), y)
	net, err := b.Network(b.AveragePool(x, feedforward.PoolOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(net.Parts(), "")
	if err != nil {
		t.Fatal(err)
	}
	before := engine.Convolutions().Replaced
	evaluate(t, engine, g, net.InputShape(), make([]float64, 192))
	if taken := engine.Convolutions().Replaced - before; taken != 3 {
		t.Errorf("%d of 3 convolutions by kernels; left to XLA: %v", taken, engine.Convolutions().Native)
	}
}

// A weight that float32 does not hold is refused, by its layer.
func TestWeightsOfFloat32(t *testing.T) {
	b := feedforward.NewBuilder(1)
	net, err := b.Network(b.Dense(0, 2, []float64{1, 1e39}, nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(net.Parts(), ""); err == nil {
		t.Error("no error")
	}
}
