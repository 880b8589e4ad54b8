package fouriermix

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
)

// pictures are n images of random values in [0, 1].
func pictures(shape pixel.Shape, n int) []float32 {
	random := augment.NewStream(augment.Address{Seed: 77})
	values := make([]float32, n*shape.Len())
	for i := range values {
		values[i] = float32(random.Float64())
	}
	return values
}

func address(i int) augment.Address {
	return augment.Address{Seed: 9, Epoch: 2, Image: uint64(i), View: 1}
}

func views(t testing.TB, b *backend.Backend, f augment.FourierMix, shape pixel.Shape, images []float32, v int) []float32 {
	t.Helper()
	n := len(images) / shape.Len()
	draws, err := NewDraws(f, shape, v*n)
	if err != nil {
		t.Fatal(err)
	}
	for i := range v * n {
		if err := draws.Draw(i, augment.NewStream(address(i))); err != nil {
			t.Fatal(err)
		}
	}
	exec, err := NewExec(b.Backend, func(in []*Node) *Node { return Mix(f, in[0], in[1:]) })
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Finalize()
	args := []any{tensors.FromFlatDataAndDimensions(images, n, shape.Height, shape.Width, shape.Channels)}
	for _, input := range draws.Tensors() {
		args = append(args, input)
	}
	out, err := exec.Call(args...)
	if err != nil {
		t.Fatalf("%v of %v: %v", f, shape, err)
	}
	values, err := tensors.CopyFlatData[float32](out[0])
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// options are every value of every option, alone and with others.
var options = []augment.FourierMix{
	{},
	{Chains: 1}, {Chains: 5},
	{Amplitude: []float64{0, 1}}, {Phase: []float64{math.Pi / 4, math.Pi}},
	{AmplitudeLaw: "signed_half"}, {PhaseLaw: "uniform"},
	{RealMode: "real"}, {RealMode: "abs"},
	{Rotation: []float64{45, 90, 135, 180}}, {Translation: []float64{.25, .5, .75, 1}},
	{Shear: []float64{.3, .3, .3, .3}, ShearUnit: "factor"},
	{Sampling: "bilinear"}, {AffineOf: "spectral"}, {Clip: true, Amplitude: []float64{1}},
	{RealMode: "real", AffineOf: "spectral", Sampling: "bilinear"},
	{RealMode: "abs", AffineOf: "spectral", Rotation: []float64{45, 90, 135, 180}, Clip: true},
	{RealMode: "abs", Sampling: "bilinear", ShearUnit: "factor", Chains: 2},
}

// tolerance is for sums of float32 over a plane; the largest difference seen is 4·10⁻⁷.
const tolerance = 2e-6

// The graph agrees with augment.FourierMix for the same streams, option by option, on both backends, for sides that are even and odd.
func TestGraphIsHost(t *testing.T) {
	for _, engine := range []string{"go", "xla"} {
		t.Run(engine, func(t *testing.T) {
			b := engines.Backend(t, engine)
			worst := 0.0
			for _, shape := range []pixel.Shape{{Height: 32, Width: 32, Channels: 3}, {Height: 5, Width: 7, Channels: 2}, {Height: 6, Width: 1, Channels: 1}} {
				for k, f := range options {
					if engine == "xla" && k > 0 && (shape.Height != 5 || k < 12) {
						continue // the same graph; each takes its time to compile
					}
					const n, v = 3, 2
					images := pictures(shape, n)
					got := views(t, b, f, shape, images, v)
					if len(got) != v*len(images) {
						t.Fatalf("%d values, want %d", len(got), v*len(images))
					}
					for i := range v * n {
						im := augment.Image{Shape: shape, Values: append([]float32(nil), images[i%n*shape.Len():][:shape.Len()]...)}
						if err := f.Apply(im, augment.NewStream(address(i))); err != nil {
							t.Fatal(err)
						}
						for j, want := range im.Values {
							d := math.Abs(float64(got[i*shape.Len()+j] - want))
							worst = max(worst, d)
							if !(d <= tolerance) {
								t.Fatalf("%v of %v, view %d, value %d: %v; on the host %v", f, shape, i, j, got[i*shape.Len()+j], want)
							}
						}
					}
				}
			}
			t.Logf("largest difference %.2g", worst)
		})
	}
}

func TestBadOptions(t *testing.T) {
	if _, err := NewDraws(augment.FourierMix{Chains: -1}, pixel.Shape{Height: 4, Width: 4, Channels: 1}, 1); err == nil {
		t.Error("a negative number of chains passes")
	}
	if _, err := NewDraws(augment.FourierMix{}, pixel.Shape{}, 1); err == nil {
		t.Error("a shape without pixels passes")
	}
}

// Views of a batch of 128 images in a second: host with one worker, the draws alone, and the graph with draws that are there.
func BenchmarkViews(b *testing.B) {
	engine := engines.Backend(b, "xla")
	shape := pixel.Shape{Height: 32, Width: 32, Channels: 3}
	const n = 128
	images := pictures(shape, n)
	rate := func(b *testing.B) { b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "views/s") }
	f := augment.FourierMix{}
	b.Run("host", func(b *testing.B) {
		im := augment.Image{Shape: shape, Values: make([]float32, shape.Len())}
		for b.Loop() {
			for i := range n {
				copy(im.Values, images[i*shape.Len():])
				if err := f.Apply(im, augment.NewStream(address(i))); err != nil {
					b.Fatal(err)
				}
			}
		}
		rate(b)
	})
	draws, err := NewDraws(f, shape, n)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("draws", func(b *testing.B) {
		for b.Loop() {
			for i := range n {
				if err := draws.Draw(i, augment.NewStream(address(i))); err != nil {
					b.Fatal(err)
				}
			}
		}
		rate(b)
	})
	for _, f := range []augment.FourierMix{{}, {RealMode: "abs"}} {
		b.Run(fmt.Sprintf("graph/%v", f), func(b *testing.B) {
			draws, err := NewDraws(f, shape, n)
			if err != nil {
				b.Fatal(err)
			}
			exec, err := NewExec(engine.Backend, func(in []*Node) *Node { return Mix(f, in[0], in[1:]) })
			if err != nil {
				b.Fatal(err)
			}
			defer exec.Finalize()
			args := []any{tensors.FromFlatDataAndDimensions(images, n, shape.Height, shape.Width, shape.Channels)}
			for _, input := range draws.Tensors() {
				args = append(args, input)
			}
			call := func() {
				out, err := exec.Call(args...)
				if err != nil {
					b.Fatal(err)
				}
				out[0].FinalizeAll()
			}
			call()
			for b.Loop() {
				call()
			}
			rate(b)
		})
	}
}
