package feedforward

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/onnxfile"
)

// hostile are small files that ask for much, with a word of what is said of each; "" where it can be read.
func hostile() map[string]struct {
	*drawing
	refused string
} {
	type file = struct {
		*drawing
		refused string
	}
	image := func() *drawing { return draw(1, 1, 2, 2) }
	one := func(side int64) *drawing {
		return image().floats("w", []int64{1, 1, side, side}, slices.Repeat([]float32{1}, int(side*side))...).floats("b",
			[]int64{1}, 1)
	}
	doubled, from := image(), "x"
	for i := range 60 {
		to := "y"
		if i < 59 {
			to = fmt.Sprintf("c%d", i)
		}
		doubled.node("Concat", from+" "+from+" -> "+to, whole("axis", 1))
		from = to
	}
	return map[string]file{
		"window": {image().node("MaxPool", "x -> y", ints("kernel_shape", 50000, 50000), ints("pads",
			49999, 49999, 49999, 49999)), "an output of shape"},
		"window in its padding": {image().node("MaxPool", "x -> y", ints("kernel_shape", 50000, 50000), ints("pads",
			25000, 25000, 25000, 25000)), ""},
		"mean": {image().node("AveragePool", "x -> y", ints("kernel_shape", 50000, 50000), ints("pads", 25000, 25000,
			25000, 25000),
			whole("count_include_pad", 1)), ""},
		"overlapping windows": {draw(1, 1, 600, 600).node("MaxPool", "x -> y", ints("kernel_shape", 500, 500),
			ints("pads", 250, 250, 250, 250)), "windows of"},
		"pad":                {image().ints("p", 0, 0, 0, 0, 0, 0, 1<<31, 1<<31).node("Pad", "x p -> y"), "expected at most"},
		"pads that overflow": {image().ints("p", 0, 0, 1<<62, 1<<62, 0, 0, 1<<62, 1<<62).node("Pad", "x p -> y"), "expected at most"},
		"a large pad":        {image().ints("p", 0, 0, 0, 0, 0, 0, 10000, 10000).node("Pad", "x p -> y"), "needs too much memory"},
		"conv":               {one(1).node("Conv", "x w b -> y", ints("pads", 1<<31, 1<<31, 1<<31, 1<<31)), "padding"},
		"conv that overflows": {one(1).node("Conv", "x w b -> y", ints("pads", math.MaxInt64, 0, math.MaxInt64, 0),
			ints("strides", 1<<62, 1)), "padding"},
		"conv with strides": {one(1).node("Conv", "x w b -> y", ints("pads", 1<<27, 1<<27, 1<<27, 1<<27),
			ints("strides", 1<<27, 1<<27)), "with the padding"},
		"conv with dilations": {one(3).node("Conv", "x w b -> y", ints("pads", 1<<28, 0, 1<<28, 0), ints("dilations",
			1<<62, 1)), "dilation"},
		"products": {one(40).node("Conv", "x w b -> y", ints("pads", 1900, 1900, 1900, 1900)), "products"},
		"filled": {image().ints("s", 4, 1e8).node("ConstantOfShape", "s -> w").node("Flatten", "x -> f").node("MatMul",
			"f w -> y"),
			"a constant of dimensions"},
		"filled that overflows": {image().ints("s", 1<<32, 1<<32).node("ConstantOfShape", "s -> w").node("Flatten",
			"x -> f").node("MatMul", "f w -> y"),
			"a constant of dimensions"},
		"expanded": {image().floats("c", nil, 1).ints("s", 20000, 20000).node("Expand", "c s -> k").node("Add",
			"x k -> y"), "a constant of dimensions"},
		"broadcast": {draw(1, 1, 1, 1).floats("c", []int64{30000}, make([]float32, 30000)...).floats("d", []int64{30000,
			1}, make([]float32, 30000)...).
			node("Add", "x c -> a").node("Add", "a d -> y"), "an output of shape"},
		"range": {image().tensor(onnxfile.NewTensor("s", []int64{0})).tensor(onnxfile.NewTensor("l", []int64{1 << 40})).
			tensor(onnxfile.NewTensor("d", []int64{1})).node("Range", "s l d -> r").node("Cast", "r -> k", whole("to", 1)).
			node("Add", "x k -> y"), "a range"},
		"doubled":     {doubled, "needs too much memory"},
		"huge input":  {draw(1, 1<<20, 1<<20, 1<<10).node("Relu", "x -> y"), "an input of shape"},
		"a huge side": {draw(1, 1<<40).node("Relu", "x -> y"), "at most"},
	}
}

// Small files that ask for much are refused before anything is made for them, or read at their true size.
func TestHostileFiles(t *testing.T) {
	for name, file := range hostile() {
		data := onnxfile.Encode(file.model())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := onnxfile.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		n, err := FromONNX("net.onnx", m, nil)
		if err == nil {
			size := n.InputShape().Size()
			_, err = n.Intervals(Box{make([]float64, size), make([]float64, size)}, Rigorous)
		}
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 64<<20+8*uint64(len(data)) {
			t.Errorf("%s: %d bytes allocated for a file of %d", name, after.TotalAlloc-before.TotalAlloc, len(data))
		}
		if (err == nil) != (file.refused == "") || err != nil && !strings.Contains(err.Error(), file.refused) {
			t.Errorf("%s: %v; expected an error with %q", name, err, file.refused)
		}
	}
}

// FuzzRead reads whatever is an ONNX file; what is read can be bounded.
func FuzzRead(f *testing.F) {
	for _, file := range hostile() {
		if data := onnxfile.Encode(file.model()); len(data) < 300 {
			f.Add(data)
		}
	}
	f.Add(onnxfile.Encode(draw(0, 2).floats("w", []int64{2, 2}, 1, 2, 3, 4).node("Gemm", "x w -> g").node("Relu",
		"g -> y").model()))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := onnxfile.Decode(data)
		if err != nil {
			return
		}
		n, err := FromONNX("net.onnx", m, nil)
		if err != nil {
			return
		}
		all := 0
		for _, l := range n.Layers() {
			all += l.Shape.Size()
		}
		if all > 1<<16 {
			return // a large image is none to bound here
		}
		size := n.InputShape().Size()
		box := Box{make([]float64, size), slices.Repeat([]float64{1}, size)}
		for _, method := range []Method{IBP, FullCROWN} {
			if _, err := n.LinearBounds(t.Context(), box, make([]float64, n.Outputs()), []float64{0}, method,
				Rigorous); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// An interrupt ends the first pass through the layers, too.
func TestIntervalsStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := worked(t)
	if _, err := n.Differences(ctx, mustBall(t, []float64{0.5, 0.5}, 0.1, Rigorous), IBP, Rigorous); !errors.Is(err,
		context.Canceled) {
		t.Errorf("%v; expected that it was cancelled", err)
	}
	if _, _, err := n.intervals(ctx, Box{[]float64{0, 0}, []float64{1, 1}}, Rigorous); !errors.Is(err, context.Canceled) {
		t.Errorf("%v; expected that it was cancelled", err)
	}
}

// A convolution that is computed in blocks of outputs has the bits of one that is computed at once.
func TestConvolutionInBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 38))
	defer func(size int) { patchValues = size }(patchValues)
	for range 100 {
		s := Shape{2, 3 + rng.IntN(9), 3 + rng.IntN(9)}
		o := ConvOptions{Kernel: [2]int{1 + rng.IntN(3), 1 + rng.IntN(3)}, Stride: [2]int{1 + rng.IntN(2),
			1 + rng.IntN(2)}, Dilation: [2]int{1, 1 + rng.IntN(2)},
			Pad: [4]int{rng.IntN(3), rng.IntN(3), rng.IntN(3), rng.IntN(3)}, Groups: 1 + rng.IntN(2)}
		w := normals(rng, 6*2/o.Groups*o.Kernel[0]*o.Kernel[1])
		b := NewBuilder(s...)
		at := b.Conv(0, 6, o, w, nil)
		if b.err != nil {
			continue
		}
		net, err := b.Network(at)
		if err != nil {
			t.Fatal(err)
		}
		x, g := normals(rng, s.Size()), normals(rng, net.Outputs())
		whole, wholeGradient, _ := net.VectorJacobian(x, func([]float64) []float64 { return g })
		patchValues = 1
		blocks, gradient, _ := net.VectorJacobian(x, func([]float64) []float64 { return g })
		patchValues = 1 << 20
		if !slices.Equal(whole, blocks) || !slices.Equal(wholeGradient, gradient) {
			t.Fatalf("%+v on %v: %v, %v; at once %v, %v", o, s, blocks, gradient, whole, wholeGradient)
		}
	}
}

// Points of a network whose values take much memory are not evaluated side by side.
func TestLargeNetworksTakeOnePointAtATime(t *testing.T) {
	b := NewBuilder(1 << 20)
	at := 0
	for range 20 {
		at = b.ReLU(at)
	}
	n, err := b.Network(at)
	if err != nil || n.workersWithLanes() > 0 {
		t.Errorf("%v; values and gradients of eight points at 20 Mi places take 2.7 GB", err)
	}
	if worked(t).workersWithLanes() != runtime.GOMAXPROCS(0) {
		t.Error("a small network does not fit")
	}
}

// stopping is a context that ends when it is asked for the third time.
type stopping struct {
	context.Context
	asked int
}

func (s *stopping) Err() error {
	if s.asked++; s.asked > 2 {
		return context.Canceled
	}
	return nil
}

// An interrupt ends a convolution between two blocks of outputs, and what was bounded so far is not taken for bounds.
func TestConvolutionsStop(t *testing.T) {
	defer func(size int) { patchValues = size }(patchValues)
	patchValues = 1
	b := NewBuilder(1, 40, 40)
	n, err := b.Network(b.Conv(0, 1, ConvOptions{Kernel: [2]int{3, 3}}, slices.Repeat([]float64{1}, 9), nil))
	if err != nil {
		t.Fatal(err)
	}
	box := Box{make([]float64, 1600), slices.Repeat([]float64{1}, 1600)}
	ctx := &stopping{Context: t.Context()}
	if _, _, err := n.intervals(ctx, box, Rigorous); !errors.Is(err, context.Canceled) || ctx.asked > 8 {
		t.Errorf("%v after %d looks at the context, of more than 300", err, ctx.asked)
	}
}
