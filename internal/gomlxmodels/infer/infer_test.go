package infer

import (
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
)

// untrained is a network that was never trained, with a head that spreads noisy images
// over several classes.
func untrained(t testing.TB, b *backend.Backend, a nets.Architecture) *Network {
	t.Helper()
	var weights []modelfile.Tensor
	var bias []float32
	for _, described := range a.Tensors() {
		values := described.Initialize(1)
		if described.Name == "head/bias" {
			bias = values
		}
		weights = append(weights, modelfile.Tensor{Name: described.Name, Shape: described.Shape, Values: values})
	}
	clear(bias)
	batch := noisy(a.Shape, 20)
	logits, err := network(t, engines.Backend(t, backend.Go), a, weights).Outputs(batch)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range logits {
		bias[i%a.Classes] -= v / float32(batch.N)
	}
	return network(t, b, a, weights)
}

func network(t testing.TB, b *backend.Backend, a nets.Architecture, weights []modelfile.Tensor) *Network {
	t.Helper()
	info := classifier.Info{
		Name: "untrained " + a.Name, Shape: a.Shape, Classes: a.Classes,
		Identity: classifier.Identity{Weights: "seed 1"},
	}
	n, err := newNetwork(b, info, weights, func(images *graph.Node, weight func(string) *graph.Node) *graph.Node {
		return netgraph.Network{Architecture: a}.Forward(images, weight)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

var (
	small  = nets.Architecture{Name: "small-cnn", Shape: pixel.Shape{Height: 12, Width: 9, Channels: 1}, Classes: 4}
	resnet = nets.Architecture{Name: "resnet8", Shape: pixel.Shape{Height: 16, Width: 16, Channels: 3}, Classes: 10}
)

// The two engines agree within the rounding of float32 in sums of another order.
func TestEnginesAgree(t *testing.T) {
	xla, pure := engines.Backend(t, backend.XLA), engines.Backend(t, backend.Go)
	for _, a := range []nets.Architecture{small, resnet} {
		agree(t, untrained(t, xla, a), untrained(t, pure, a))
	}
}

func agree(t *testing.T, a, b *Network) {
	t.Helper()
	batch := noisy(a.info.Shape, 20)
	got, err := a.Outputs(batch)
	if err != nil {
		t.Fatal(err)
	}
	want, err := b.Outputs(batch)
	if err != nil {
		t.Fatal(err)
	}
	difference, largest := 0.0, 0.0
	for i := range want {
		difference = max(difference, math.Abs(float64(got[i]-want[i])))
		largest = max(largest, math.Abs(float64(want[i])))
	}
	t.Logf("%s: logits differ by %.1e of the largest", a.info.Name, difference/largest)
	if !(difference <= 1e-5*largest) {
		t.Errorf("%s: logits differ by %g; the largest is %g", a.info.Name, difference, largest)
	}
	results := [2]classifier.Result{{Classes: make([]int32, batch.N)}, {Classes: make([]int32, batch.N)}}
	for i, n := range []*Network{a, b} {
		if err := n.Classify(t.Context(), batch, &results[i]); err != nil {
			t.Fatal(err)
		}
	}
	if slices.Max(results[0].Classes) == slices.Min(results[0].Classes) {
		t.Errorf("%s: all images have one class; the test shows little", a.info.Name)
	}
}

// noisy are images from dark to bright and from smooth to rough, off the range too.
func noisy(s pixel.Shape, n int) classifier.Batch {
	random := rand.New(rand.NewPCG(1, 2))
	grid := make([]int16, n*s.Len())
	for i := range grid {
		image := i / s.Len()
		grid[i] = int16(255*image/n + int(float64(30*(image%5))*random.NormFloat64()))
	}
	return classifier.Batch{N: n, Grid: grid}
}

func TestIdentity(t *testing.T) {
	b := engines.Backend(t, backend.Go)
	info, err := untrained(t, b, small).Info()
	if err != nil {
		t.Fatal(err)
	}
	want := classifier.Identity{
		Weights: "seed 1", Engine: b.Engine, EngineVersion: b.Version,
		Threads: b.Threads, InstructionSet: b.InstructionSet,
	}
	if info.Identity != want {
		t.Errorf("identity %+v; expected %+v", info.Identity, want)
	}
}

// A graph that asks for a missing tensor, or gives another number of classes, is an error.
func TestWrongNetworks(t *testing.T) {
	b := engines.Backend(t, backend.Go)
	info := classifier.Info{Name: "wrong", Shape: small.Shape, Classes: 3}
	result := classifier.Result{Classes: make([]int32, 1)}
	for name, forward := range map[string]forward{
		"missing tensor": func(images *graph.Node, weight func(string) *graph.Node) *graph.Node {
			return graph.MatMul(images, weight("nothing"))
		},
		"other classes": func(images *graph.Node, weight func(string) *graph.Node) *graph.Node {
			return graph.ReduceSum(images, 2, 3)
		},
	} {
		n, err := newNetwork(b, info, nil, forward)
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Classify(t.Context(), noisy(small.Shape, 1), &result); err == nil || !strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s: error %v; expected one that names the network", name, err)
		}
	}
}

// Memory does not grow with the number of batches: 200 batches of 1.2 MB would leave 240 MB
// if inputs stayed on the device.
func TestMemoryStaysFlat(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory is read from /proc, which " + runtime.GOOS + " lacks")
	}
	info := classifier.Info{Name: "sum", Shape: pixel.Shape{Height: 28, Width: 28, Channels: 1}, Classes: 1}
	n, err := newNetwork(engines.Backend(t, backend.XLA), info, nil, func(images *graph.Node, _ func(string) *graph.Node) *graph.Node {
		return graph.ReduceSum(images, 1, 2)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	batch := realForm(noisy(info.Shape, 400))
	result := classifier.Result{Classes: make([]int32, batch.N)}
	run := func(times int) {
		for range times {
			if err := n.Classify(t.Context(), batch, &result); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(20)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // or a collection frees what Classify forgot
	before := resident(t)
	run(200)
	if grown := resident(t) - before; grown > 60<<20 {
		t.Errorf("resident memory grew by %d MB in 200 batches", grown>>20)
	}
}

func realForm(grid classifier.Batch) classifier.Batch {
	values := make([]float32, len(grid.Grid))
	for i, v := range grid.Grid {
		values[i] = float32(v) / pixel.Steps
	}
	return classifier.Batch{N: grid.N, Real: values}
}

// resident is the memory of this process in bytes.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	var pages int
	for i, field := range strings.Fields(string(text)) {
		if i == 1 {
			for _, digit := range field {
				pages = 10*pages + int(digit-'0')
			}
		}
	}
	return pages * os.Getpagesize()
}

// BenchmarkResNet20 runs, in turns, the bare compiled graph on images that stay on the
// device, and the whole Classify, with one caller and with two.
func BenchmarkResNet20(bench *testing.B) {
	b := engines.Backend(bench, backend.XLA)
	a := nets.Architecture{Name: "resnet20", Shape: pixel.Shape{Height: 32, Width: 32, Channels: 3}, Classes: 10}
	n := untrained(bench, b, a)
	const size = 100
	grid := noisy(a.Shape, size)
	real := realForm(grid)
	bare := n.bare(bench, real)
	classify := func(batch classifier.Batch) func() {
		return func() {
			result := classifier.Result{Classes: make([]int32, batch.N)}
			if err := n.Classify(bench.Context(), batch, &result); err != nil {
				bench.Error(err)
			}
		}
	}
	ways := []struct {
		name    string
		callers int
		call    func()
		spent   time.Duration
	}{
		{"bare", 1, bare, 0}, {"bare-2-callers", 2, bare, 0},
		{"grid", 1, classify(grid), 0}, {"grid-2-callers", 2, classify(grid), 0},
		{"real", 1, classify(real), 0},
	}
	for i := range ways {
		ways[i].call() // compile
	}
	calls := 0
	for bench.Loop() {
		const turn = 6
		for i := range ways {
			start := time.Now()
			var wait sync.WaitGroup
			for range ways[i].callers {
				wait.Go(func() {
					for range turn / ways[i].callers {
						ways[i].call()
					}
				})
			}
			wait.Wait()
			ways[i].spent += time.Since(start)
		}
		calls += turn
	}
	for _, w := range ways {
		bench.ReportMetric(float64(calls*size)/w.spent.Seconds(), w.name+"-images/s")
	}
}
