package export

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
)

// graphBounds compiles U of the graph, for images in [0, 1] one after the other, and their logits.
func graphBounds(t *testing.T, b *backend.Backend, m *modelfile.Model, clip bool) func(images []float32, epsilon float64) (u, logits []float32) {
	t.Helper()
	n := netgraph.Network{Architecture: m.Card.Architecture}
	exec, err := NewExec(b.Backend, func(in []*Node) []*Node {
		lookup := func(name string) *Node {
			for i, w := range m.Weights {
				if w.Name == name {
					return in[2+i]
				}
			}
			return nil
		}
		centre, radius := netgraph.Ball(in[0], in[1], clip)
		return []*Node{n.Differences(centre, radius, lookup), n.Forward(in[0], lookup)}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(exec.Finalize)
	s := n.Shape
	return func(images []float32, epsilon float64) (u, logits []float32) {
		args := []any{tensors.FromFlatDataAndDimensions(images, len(images)/s.Len(), s.Height, s.Width, s.Channels), tensors.FromScalar(float32(epsilon))}
		for _, w := range m.Weights {
			args = append(args, tensors.FromFlatDataAndDimensions(w.Values, w.Shape...))
		}
		out, err := exec.Call(args...)
		if err != nil {
			t.Fatal(err)
		}
		return tensors.MustCopyFlatData[float32](out[0]), tensors.MustCopyFlatData[float32](out[1])
	}
}

func someImages(shape pixel.Shape, n int) []float32 {
	random := rand.New(rand.NewPCG(3, 4))
	images := make([]float32, n*shape.Len())
	for i := range images {
		images[i] = random.Float32()
	}
	return images
}

// The bounds of the graph equal package feedforward's, which computes them in float64 from the network's ONNX
// form, for every network: to the rounding of float32, which bounds that grow from layer to layer carry along.
// At ε = 0 they are the differences of the logits, they grow with ε, and U_kk is exactly 0.
func TestBoundsAgree(t *testing.T) {
	odd, square := pixel.Shape{Height: 7, Width: 6, Channels: 2}, pixel.Shape{Height: 8, Width: 8, Channels: 3}
	nets.Register(everyLayer{})
	architectures := []nets.Architecture{
		{Name: "small-cnn", Shape: odd, Classes: 3},
		{Name: "l", Shape: odd, Classes: 2, Width: 1. / 8},
		{Name: "xl", Shape: square, Classes: 5, Width: 1. / 16, Input: "standardize"},
		{Name: "preact-resnet18", Shape: square, Classes: 4, Width: 1. / 8},
		{Name: "resnet50", Shape: square, Classes: 4, Width: 1. / 8},
		{Name: "l", Shape: pixel.Shape{Height: 10, Width: 10, Channels: 1}, Classes: 3, Width: 1. / 16, Posterior: nets.ProoD, Shift: 3},
		{Name: "resnet8", Shape: square, Classes: 4, Width: 1. / 8, Posterior: nets.ProoD, Input: "center"},
		{Name: "l", Shape: odd, Classes: 3, Width: 1. / 8, Posterior: nets.CCU},
		{Name: everyLayer{}.Name(), Shape: square, Classes: 4, Input: "imagenet", Bias: true},
	}
	for _, name := range nets.Names() {
		switch name {
		case "small-cnn", "l", "xl", "preact-resnet18", "resnet50", everyLayer{}.Name(), "resnet110":
		default:
			architectures = append(architectures, nets.Architecture{Name: name, Shape: square, Classes: 4, Width: 1. / 8, Input: "center"})
		}
	}
	for _, a := range architectures {
		t.Run(a.Name+a.Posterior, func(t *testing.T) {
			m := untrained(a)
			data, err := Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			reference, err := onnx.FeedForwardBytes(a.Name, data, onnx.Options{})
			if err != nil {
				t.Fatal(err)
			}
			const n = 2
			k, images := a.Classes, someImages(a.Shape, n)
			epsilons := []float64{0, 1e-3, 0.1}
			var wants [][]float64 // by ε, image by image
			for _, epsilon := range epsilons {
				for i := range n {
					x := make([]float64, a.Shape.Len())
					for j := range x {
						x[j] = float64(images[i*len(x)+j])
					}
					box, err := feedforward.Ball(x, epsilon, feedforward.Plain)
					if err != nil {
						t.Fatal(err)
					}
					u, err := reference.Differences(t.Context(), box, feedforward.IBP, feedforward.Plain)
					if err != nil {
						t.Fatal(err)
					}
					wants = append(wants, u)
				}
			}
			for _, engine := range []string{"go", "xla"} {
				if engine == "xla" && a.Name != "l" && a.Name != (everyLayer{}).Name() {
					continue // which compiles for long; these two have every kind of layer
				}
				b, err := backend.Open(engine)
				if err != nil {
					t.Logf("not on %s: %v", engine, err)
					continue
				}
				bounds := graphBounds(t, b, m, true)
				before := make([]float32, n*k*k)
				for i := range before {
					before[i] = float32(math.Inf(-1))
				}
				for e, epsilon := range epsilons {
					u, logits := bounds(images, epsilon)
					largest := 0.0
					for _, v := range u {
						largest = max(largest, math.Abs(float64(v)))
					}
					if math.IsInf(largest, 0) || math.IsNaN(largest) {
						t.Fatalf("ε = %v: a bound of %v", epsilon, largest)
					}
					for i := range n {
						for p, w := range wants[e*n+i] {
							got, f := float64(u[i*k*k+p]), logits[i*k:]
							if math.Abs(got-w) > 2e-5*largest {
								t.Fatalf("%s, ε = %v, image %d, pair %d: %v, want %v (largest %v)", engine, epsilon, i, p, got, w, largest)
							}
							if difference := float64(f[p/k]) - float64(f[p%k]); epsilon == 0 && math.Abs(got-difference) > 2e-5*largest {
								t.Fatalf("%s, image %d, pair %d: %v at ε = 0, the logits differ by %v", engine, i, p, got, difference)
							}
							if p/k == p%k && got != 0 {
								t.Fatalf("%s: U_kk = %v", engine, got)
							}
							if got < float64(before[i*k*k+p])-2e-5*largest {
								t.Fatalf("%s, ε = %v: %v, less than at a smaller ε, %v", engine, epsilon, got, before[i*k*k+p])
							}
						}
					}
					copy(before, u)
				}
			}
		})
	}
}

// No point of a box in few dimensions, corners and others, exceeds the bounds by more than rounding; and
// without clipping they equal the whole ball.
func TestBoundsHold(t *testing.T) {
	b := engines.Backend(t, "go")
	random := rand.New(rand.NewPCG(5, 6))
	for _, a := range []nets.Architecture{
		{Name: "l", Shape: pixel.Shape{Height: 2, Width: 3, Channels: 1}, Classes: 3, Width: 1. / 64},
		{Name: "resnet8", Shape: pixel.Shape{Height: 2, Width: 2, Channels: 1}, Classes: 3, Width: 0.5},
	} {
		for _, clip := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/clip=%v", a.Name, clip), func(t *testing.T) {
				m := untrained(a)
				d, k := a.Shape.Len(), a.Classes
				x := make([]float32, d)
				for i := range x {
					x[i] = []float32{0.02, 0.5, 0.97}[i%3]
				}
				const epsilon = 0.1
				u, _ := graphBounds(t, b, m, clip)(x, epsilon)
				const samples = 4000
				points := make([]float32, samples*d)
				for i := range samples {
					for j := range d {
						step := float32(1)
						switch {
						case i>>j&1 == 0 && i < 1<<d:
							step = -1
						case i >= 1<<d:
							step = 2*random.Float32() - 1
						}
						v := x[j] + epsilon*step
						if clip {
							v = min(max(v, 0), 1)
						}
						points[i*d+j] = v
					}
				}
				_, f := graphBounds(t, b, m, false)(points, 0)
				nearest := math.Inf(1)
				for i := range samples {
					for p := range k * k {
						difference := float64(f[i*k+p/k]) - float64(f[i*k+p%k])
						if difference > float64(u[p])+1e-5 {
							t.Fatalf("point %d, pair %d: %v, bound %v", i, p, difference, u[p])
						}
						if p/k != p%k {
							nearest = min(nearest, float64(u[p])-difference)
						}
					}
				}
				t.Logf("the nearest point is %.3g below its bound", nearest)
			})
		}
	}
}
