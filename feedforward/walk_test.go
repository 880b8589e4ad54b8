package feedforward

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/certspec/certspec/internal/feedforward/kernel"
)

// exactCROWN bounds the differences of the outputs of dense layers with ReLUs between them by the lines of Zhang et al.
// 2018 in rational numbers, from given intervals.
func exactCROWN(boxes []Box, w [][]float64, b [][]float64, row []float64) float64 {
	rat := func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
	g, sum := make([]*big.Rat, len(row)), new(big.Rat)
	for i, v := range row {
		g[i] = rat(v)
	}
	for l := len(w) - 1; l >= 0; l-- {
		in := len(w[l]) / len(g)
		to := make([]*big.Rat, in)
		for i := range to {
			to[i] = new(big.Rat)
			for o, v := range g {
				to[i].Add(to[i], new(big.Rat).Mul(v, rat(w[l][o*in+i])))
			}
		}
		for o, v := range g {
			sum.Add(sum, new(big.Rat).Mul(v, rat(b[l][o])))
		}
		g = to
		box := boxes[l]
		for i, v := range g {
			lo, hi := rat(box.Lower[i]), rat(box.Upper[i])
			switch {
			case l == 0: // the input
				end := hi
				if v.Sign() < 0 {
					end = lo
				}
				sum.Add(sum, end.Mul(end, v))
			case hi.Sign() <= 0:
				v.SetInt64(0)
			case lo.Sign() >= 0:
			case v.Sign() < 0:
				if box.Upper[i] < -box.Lower[i] {
					v.SetInt64(0)
				}
			default:
				slope := new(big.Rat).Quo(hi, new(big.Rat).Sub(hi, lo))
				v.Mul(v, slope)
				sum.Sub(sum, new(big.Rat).Mul(v, lo))
			}
		}
	}
	bound, _ := sum.Float64()
	return bound
}

// Rows walked back in float32 give bounds that are never below the exact ones, above them by rounding alone, and of
// equal bits with and without vectors.
func TestRowsInSinglePrecision(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 32))
	for trial := range 40 {
		sizes := []int{3 + rng.IntN(20), 1 + rng.IntN(40), 1 + rng.IntN(30), 2 + rng.IntN(4)}
		b, at := NewBuilder(sizes[0]), 0
		var w, biases [][]float64
		for l, size := range sizes[1:] {
			weights, bias := normals(rng, sizes[l]*size), normals(rng, size)
			if trial%2 == 0 { // as files have them
				for i, v := range weights {
					weights[i] = float64(float32(v))
				}
			}
			if at = b.Dense(at, size, weights, bias); l < 2 {
				at = b.ReLU(at)
			}
			w, biases = append(w, weights), append(biases, bias)
		}
		n, err := b.Network(at)
		if err != nil {
			t.Fatal(err)
		}
		box := mustBall(t, uniform(rng, sizes[0]), 0.03, Rigorous)
		r, _, err := n.intervals(t.Context(), box, Rigorous)
		if err != nil {
			t.Fatal(err)
		}
		rows := normals(rng, 5*sizes[3])
		walk := func() []float64 {
			u, err := n.crown(t.Context(), r, n.output, rows, make([]float64, 5), adaptive, Rigorous)
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
		u := walk()
		for k := range 5 {
			row := rows[k*sizes[3] : (k+1)*sizes[3]]
			exact := exactCROWN([]Box{box, r.boxes[1], r.boxes[3]}, w, biases, row)
			if !(u[k] >= exact) || u[k] > exact+1e-2*(1+math.Abs(exact)) {
				t.Errorf("trial %d, row %d: bound %v, exactly %v", trial, k, u[k], exact)
			}
		}
		kernel.EachForm(func(form string) {
			for k, v := range walk() {
				if v != u[k] {
					t.Errorf("%s: bound %v, want %v", form, v, u[k])
				}
			}
		})
	}
}
