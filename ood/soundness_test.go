package ood

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/ood/attack"
)

// drawNetwork is a small network with layers of many kinds, drawn by rng.
func drawNetwork(t *testing.T, rng *rand.Rand) *feedforward.Network {
	scale := math.Exp(rng.NormFloat64())
	normal := func(n int) []float64 {
		w := make([]float64, n)
		for i := range w {
			w[i] = scale * rng.NormFloat64()
		}
		return w
	}
	side, channels := 3+rng.IntN(3), 1+rng.IntN(2)
	b := feedforward.NewBuilder(channels, side, side)
	at := 0
	for range rng.IntN(4) {
		s := b.Shape(at)
		switch kind := rng.IntN(8); {
		case kind < 2 && len(s) == 3:
			out := 1 + rng.IntN(4)
			at = b.Conv(at, out, feedforward.ConvOptions{Kernel: [2]int{3, 3}, Stride: [2]int{1 + rng.IntN(2), 1}, Pad: [4]int{1, 1, 1, 1}}, normal(out*s[0]*9), normal(out))
		case kind == 2 && len(s) == 3 && s[1] > 1 && s[2] > 1:
			at = b.MaxPool(at, feedforward.PoolOptions{Kernel: [2]int{2, 2}})
		case kind == 3 && len(s) == 3 && s[1] > 1 && s[2] > 1:
			at = b.AveragePool(at, feedforward.PoolOptions{Kernel: [2]int{2, 2}})
		case kind == 4:
			n := s.Size()
			at = b.Sum([]float64{1, 1}, at, b.Scale(at, normal(n), normal(n), nil)) // a residual
		default:
			n := 2 + rng.IntN(8)
			at = b.Dense(at, n, normal(n*s.Size()), normal(n))
		}
		switch rng.IntN(6) {
		case 0:
			at = b.LeakyReLU(at, rng.Float64())
		case 1:
			at = b.Clip(at, -1, 2)
		case 2:
			at = b.Tanh(at)
		case 3:
			at = b.Sigmoid(at)
		default:
			at = b.ReLU(at)
		}
	}
	classes := 2 + rng.IntN(4)
	n, err := b.Network(b.Dense(at, classes, normal(classes*b.Shape(at).Size()), normal(classes)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// No point that an attack, a corner or chance finds in a ball has a confidence outside of the bounds, with tolerance 0.
func FuzzNoPointExceedsItsBound(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed, uint8(seed), 0.01*float64(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, how uint8, epsilon float64) {
		if !(epsilon >= 0 && epsilon <= 1) {
			t.Skip("no radius between 0 and 1")
		}
		rng := rand.New(rand.NewPCG(seed, 77))
		n := drawNetwork(t, rng)
		x := make([]float64, n.InputShape().Size())
		for i := range x {
			x[i] = float64(rng.IntN(256)) / 255
		}
		wide, err := feedforward.Ball(x, epsilon, feedforward.Rigorous)
		if err != nil {
			t.Fatal(err)
		}
		ball, _ := feedforward.Ball(x, epsilon, feedforward.Plain)
		method := []feedforward.Method{feedforward.IBP, feedforward.CROWN, feedforward.FullCROWN, feedforward.AlphaCROWN}[how%4]
		c, err := n.Confidence(t.Context(), x, wide, method, feedforward.Rigorous)
		if err != nil {
			t.Fatal(err)
		}
		points := [][]float64{x}
		for range 20 {
			corner, inside := slices.Clone(x), slices.Clone(x)
			for i := range x {
				corner[i] = []float64{ball.Lower[i], ball.Upper[i]}[rng.IntN(2)]
				inside[i] = min(max(ball.Lower[i]+rng.Float64()*(ball.Upper[i]-ball.Lower[i]), ball.Lower[i]), ball.Upper[i])
			}
			points = append(points, corner, inside)
		}
		p := attack.Problem{Network: n, Objective: attack.Confidence, Boxes: []feedforward.Box{ball}, Starts: [][]float64{x}, IDs: []uint64{seed}, Seed: seed}
		if k := int(how/3) % (n.Outputs() + 1); k > 0 {
			p.Objective = attack.Target(k - 1)
		}
		for _, found := range []func() ([]attack.Best, error){
			func() ([]attack.Best, error) { return attack.APGD{Steps: 20, Restarts: 1}.Run(t.Context(), p) },
			func() ([]attack.Best, error) {
				return attack.Monotone{Steps: 20, Velocity: how%2 == 0}.Run(t.Context(), p)
			},
		} {
			best, err := found()
			if err != nil {
				t.Fatal(err)
			}
			points = append(points, best[0].Point)
		}
		for _, z := range points {
			out, err := n.Forward(z)
			if err != nil {
				t.Fatal(err)
			}
			if _, log := feedforward.LogConfidence(out); log > c.LogUpper || log < c.LogLower {
				t.Fatalf("seed %d, ε = %v, %s: ln Conf is %v at %v, its bounds are %v and %v", seed, epsilon, method, log, z, c.LogLower, c.LogUpper)
			}
		}
	})
}
