package feedforward

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func sameBatch(t *testing.T, n *Network, rng *rand.Rand) {
	t.Helper()
	points := make([][]float64, 1+rng.IntN(2*Lanes+2))
	directions, none := make([][]float64, len(points)), rng.IntN(4) == 0
	for i := range points {
		points[i] = uniform(rng, n.InputShape().Size())
		if directions[i] = uniform(rng, n.Outputs()); none || rng.IntN(8) == 0 {
			directions[i] = nil
		}
	}
	outputs, gradients, err := n.VectorJacobians(t.Context(), points, func(i int, f []float64) []float64 { return directions[i] })
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range points {
		f, g, err := n.VectorJacobian(x, func(f []float64) []float64 {
			if directions[i] == nil {
				return make([]float64, len(f))
			}
			return directions[i]
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(outputs[i], f) || !slices.Equal(gradients[i], g) {
			t.Fatalf("point %d of %d: outputs %v and gradient %v; alone %v and %v", i, len(points), outputs[i], gradients[i], f, g)
		}
	}
}

// Points together have the values of each alone, to the last bit, through every kind of layer.
func TestVectorJacobiansOfManyAreThoseOfEach(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 9))
	for range 60 {
		sameBatch(t, randomNetwork(t, rng, 1), rng)
	}
	for range 60 { // convolutions of all kinds
		b := NewBuilder(2*(1+rng.IntN(3)), 13+rng.IntN(4), 13+rng.IntN(4))
		draw := func(n int) []float64 {
			w := make([]float64, n)
			for i := range w {
				w[i] = rng.NormFloat64()
			}
			return w
		}
		at := 0
		for range 2 {
			in, groups := b.Shape(at)[0], 1+rng.IntN(2)
			o := ConvOptions{Kernel: [2]int{1 + rng.IntN(3), 1 + rng.IntN(3)}, Stride: [2]int{1 + rng.IntN(2), 1 + rng.IntN(2)},
				Dilation: [2]int{1 + rng.IntN(2), 1 + rng.IntN(2)}, Groups: groups, Pad: [4]int{rng.IntN(3), rng.IntN(3), rng.IntN(3), rng.IntN(3)}}
			out := 2 * (1 + rng.IntN(5))
			at = b.ReLU(b.Conv(at, out, o, draw(out*in/groups*o.Kernel[0]*o.Kernel[1]), draw(out)))
		}
		at = b.Dense(b.Sum([]float64{1, -1}, at, at), 5, draw(5*b.Shape(at).Size()), nil)
		at = b.Concat(0, b.ReLU(at), b.Tanh(at), at, at)
		n, err := b.Network(b.Dense(at, 3, draw(60), draw(3)))
		if err != nil {
			t.Fatal(err)
		}
		sameBatch(t, n, rng)
	}
}

func TestVectorJacobiansRefuse(t *testing.T) {
	b := NewBuilder(2)
	n, err := b.Network(b.Dense(0, 2, []float64{1, 0, 0, 1}, nil))
	if err != nil {
		t.Fatal(err)
	}
	points := [][]float64{{0, 0}, {0, 1}, {1, 0}, {1, 1}}
	same := func(_ int, f []float64) []float64 { return f }
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := n.VectorJacobians(cancelled, points, same); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, _, err := n.VectorJacobians(t.Context(), points, func(_ int, f []float64) []float64 { return f[:1] }); err == nil || !strings.Contains(err.Error(), "1 values for 2") {
		t.Errorf("a short vector: %v", err)
	}
	points[2] = []float64{0, math.NaN()}
	if _, _, err := n.VectorJacobians(t.Context(), points, same); err == nil || !strings.Contains(err.Error(), "point 2: ") {
		t.Errorf("NaN: %v", err)
	}
	if f, g, err := n.VectorJacobians(t.Context(), nil, same); err != nil || len(f)+len(g) > 0 {
		t.Errorf("no points: %v, %v, %v", f, g, err)
	}
}

// BenchmarkVectorJacobians is gradients at eight points on one processor, and at one, of the small CNN and of the network L at full width and at an eighth.
func BenchmarkVectorJacobians(b *testing.B) {
	for name, net := range map[string]struct {
		channels, strides []int
		dense             int
	}{
		"small-cnn": {[]int{16, 32, 64}, []int{1, 2, 2}, 0},
		"l/8":       {[]int{8, 8, 16, 16, 16}, []int{1, 1, 2, 1, 1}, 64},
		"l":         {[]int{64, 64, 128, 128, 128}, []int{1, 1, 2, 1, 1}, 512},
	} {
		rng := rand.New(rand.NewPCG(2, 9))
		draw := func(n int) []float64 {
			w := make([]float64, n)
			for i := range w {
				w[i] = rng.NormFloat64() / 10
			}
			return w
		}
		s, at := NewBuilder(1, 28, 28), 0
		for i, out := range net.channels {
			o := ConvOptions{Kernel: [2]int{3, 3}, Pad: [4]int{1, 1, 1, 1}, Stride: [2]int{net.strides[i], net.strides[i]}}
			at = s.ReLU(s.Conv(at, out, o, draw(out*s.Shape(at)[0]*9), draw(out)))
		}
		if net.dense > 0 {
			at = s.ReLU(s.Dense(at, net.dense, draw(net.dense*s.Shape(at).Size()), draw(net.dense)))
		}
		n, err := s.Network(s.Dense(at, 10, draw(10*s.Shape(at).Size()), draw(10)))
		if err != nil {
			b.Fatal(err)
		}
		for _, points := range []int{1, Lanes} {
			b.Run(fmt.Sprintf("%s, %d", name, points), func(b *testing.B) {
				x := make([][]float64, points)
				for i := range x {
					x[i] = draw(784)
				}
				for b.Loop() {
					if _, _, err := n.VectorJacobians(b.Context(), x, func(_ int, f []float64) []float64 { return f }); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
