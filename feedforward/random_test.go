package feedforward

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// randomNetwork draws a network that has, over many draws, every kind of layer, with weights that float32 holds
// exactly.
func randomNetwork(t testing.TB, rng *rand.Rand, scale float64) *Network {
	t.Helper()
	weights := func(n int) []float64 {
		w := make([]float64, n)
		for i := range w {
			w[i] = float64(float32(scale * rng.NormFloat64()))
		}
		return w
	}
	b := NewBuilder(1+rng.IntN(2), 4+rng.IntN(3), 4+rng.IntN(3))
	at := 0
	positive := func(n int) []float64 {
		w := weights(n)
		for i := range w {
			w[i] = math.Abs(w[i]) + 0.25
		}
		return w
	}
	activate := func(l int) int {
		switch rng.IntN(10) {
		case 8:
			return b.Product(b.Clip(l, -1, 2), l)
		case 9:
			return b.Product(l, b.Sigmoid(l))
		case 0:
			return b.LeakyReLU(l, 0.125)
		case 1:
			return b.Sigmoid(l)
		case 2:
			return b.Tanh(l)
		case 3:
			return b.Clip(l, -0.5, 0.75)
		default:
			return b.ReLU(l)
		}
	}
	for range 1 + rng.IntN(3) {
		s := b.Shape(at)
		switch rng.IntN(6) {
		case 0: // residual
			c := s[0]
			l := b.Conv(at, c, ConvOptions{Kernel: [2]int{3, 3}, Pad: [4]int{1, 1, 1, 1}}, weights(c*c*9), nil)
			l = b.BatchNorm(l, weights(c), weights(c), weights(c), positive(c), 0x1p-10)
			at = activate(b.Sum([]float64{1, 1}, at, l))
		case 1:
			l := b.Conv(at, 2, ConvOptions{Kernel: [2]int{2, 2}, Dilation: [2]int{2, 1}, Pad: [4]int{1, 0, 1, 1}}, weights(2*s[0]*4), weights(2))
			m := b.Conv(at, 2, ConvOptions{Kernel: [2]int{2, 2}, Dilation: [2]int{2, 1}, Pad: [4]int{1, 0, 1, 1}}, weights(2*s[0]*4), weights(2))
			at = activate(b.Concat(0, l, m))
		case 2:
			at = b.Conv(at, 2*s[0], ConvOptions{Kernel: [2]int{3, 3}, Groups: s[0], Pad: [4]int{1, 1, 1, 1}}, weights(2*s[0]*9), weights(2*s[0]))
			at = activate(at)
		case 3:
			at = b.MaxPool(b.Pad(at, []int{0, 1, 0}, []int{0, 0, 1}, 0), PoolOptions{Kernel: [2]int{2, 2}})
		case 4:
			at = b.AveragePool(at, PoolOptions{Kernel: [2]int{2, 2}, Pad: [4]int{1, 1, 0, 0}, CountPadding: rng.IntN(2) == 0})
		case 5:
			at = b.Transpose(at, 0, 2, 1)
			n := b.Shape(at).Size()
			at = b.Scale(at, weights(n), weights(n), nil)
		}
	}
	size := b.Shape(at).Size()
	at = activate(b.Dense(b.Reshape(at, size), 6, weights(6*size), weights(6)))
	if rng.IntN(4) == 0 {
		at = b.Sum([]float64{1, -1}, at, b.Dense(at, 6, weights(36), nil))
	}
	at = b.Dense(at, 3, weights(18), weights(3))
	n, err := b.Network(at)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func uniform(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.Float64()
	}
	return x
}

// inside draws a point of a box, each value at an end half of the time.
func inside(rng *rand.Rand, b Box) []float64 {
	z := make([]float64, len(b.Lower))
	for i, lo := range b.Lower {
		hi := b.Upper[i]
		switch rng.IntN(4) {
		case 0:
			z[i] = lo
		case 1:
			z[i] = hi
		default:
			z[i] = min(max(lo+(hi-lo)*rng.Float64(), lo), hi)
		}
	}
	return z
}

// columnsOf is the W of an affine layer, by columns, found by asking it.
func columnsOf(l affine) [][]float64 {
	in, out := l.sizes()
	columns := make([][]float64, in)
	x := make([]float64, in)
	for i := range columns {
		x[i] = 1
		columns[i] = make([]float64, out)
		l.apply(context.Background(), x, columns[i], false)
		x[i] = 0
	}
	return columns
}

func (l affine) biases() []float64 {
	if l.bias().b == nil {
		return nil
	}
	_, n := l.sizes()
	b := make([]float64, n)
	l.start(b)
	return b
}

// single32 evaluates a network in float32, the products of each sum in a random order, with fused multiply-add at
// times, and subnormal results flushed to zero at times.
func (n *Network) single32(rng *rand.Rand, x []float64) []float64 {
	flush := rng.IntN(2) == 0
	round := func(v float64) float64 {
		if flush && math.Abs(v) < tiny {
			return 0
		}
		return float64(float32(v))
	}
	values := make([][]float64, len(n.nodes))
	values[0] = x
	for k, nd := range n.nodes[1:] {
		in := pick(values, nd.in)
		out := make([]float64, nd.shape.Size())
		switch l := nd.layer.(type) {
		case affine:
			b := l.biases()
			columns := columnsOf(l)
			for o := range out {
				order := rng.Perm(len(columns))
				first := rng.IntN(2) == 0
				s := 0.0
				if b != nil && first {
					s = round(b[o])
				}
				for _, i := range order {
					w := columns[i][o]
					if w == 0 {
						continue
					}
					if w = float64(float32(w)); rng.IntN(2) == 0 {
						s = round(math.FMA(w, in[0][i], s)) // one rounding to float64 in between, far below float32's
					} else {
						s = round(s + round(w*in[0][i]))
					}
				}
				if b != nil && !first {
					s = round(s + round(b[o]))
				}
				out[o] = s
			}
		default:
			nd.layer.forward(in, out)
			for i := range out {
				out[i] = round(out[i])
			}
		}
		values[k+1] = out
	}
	return values[n.output]
}
