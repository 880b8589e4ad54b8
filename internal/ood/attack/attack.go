// Package attack looks for points of a box where a network is as sure as possible, to bound its worst confidence from
// below: Auto-PGD, monotone PGD and their starts (appendix A of Bitterwolf, Meinke and Hein 2020; Croce and Hein 2020).
//
// A network is asked for batches, but every point has a state and a random stream of its own: what
// is found for an image depends on the image, its id and the seed alone, not on the batch or on
// threads.
package attack

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/certspec/certspec/feedforward"
)

// Network evaluates points and their gradients, as a feedforward.Network does. v gives, from the
// outputs at point i, the vector whose product with the Jacobian is wanted; a nil vector asks for
// the outputs alone.
type Network interface {
	VectorJacobians(ctx context.Context, points [][]float64, v func(i int, outputs []float64) []float64) (outputs,
		gradients [][]float64, err error)
}

// Objective is the value that an attack makes as large as it can: a function of a network's outputs, with its
// gradient by them.
type Objective func(outputs []float64) (value float64, gradient []float64)

// Confidence is ln max_k softmax_k(f); its gradient is e_k − softmax(f) at the largest output k.
func Confidence(f []float64) (float64, []float64) {
	k, value := feedforward.LogConfidence(f)
	g := softmax(f)
	for l := range g {
		g[l] = -g[l]
	}
	g[k]++
	return value, g
}

// Target is f_k − ln Σ_{l≠k} exp(f_l), which grows with the confidence in class k: ascent of
// Confidence alone follows the class that leads at the start.
func Target(k int) Objective {
	return func(f []float64) (float64, []float64) {
		others := make([]float64, 0, len(f)-1)
		others = append(append(others, f[:k]...), f[k+1:]...)
		most := math.Inf(-1)
		for _, v := range others {
			most = max(most, v)
		}
		sum := 0.0
		for _, v := range others {
			sum += math.Exp(v - most)
		}
		g := make([]float64, len(f))
		for l, v := range f {
			if l == k {
				g[l] = 1
			} else {
				g[l] = -math.Exp(v-most) / sum
			}
		}
		return f[k] - most - math.Log(sum), g
	}
}

func softmax(f []float64) []float64 {
	most := math.Inf(-1)
	for _, v := range f {
		most = max(most, v)
	}
	p := make([]float64, len(f))
	sum := 0.0
	for i, v := range f {
		p[i] = math.Exp(v - most)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// Best is the best point that an attack evaluated, its start included.
type Best struct {
	Point []float64
	Value float64
}

// Problem is a set of boxes and a start in each.
type Problem struct {
	Network   Network
	Objective Objective
	Boxes     []feedforward.Box
	Starts    [][]float64 // moved into their boxes
	IDs       []uint64    // what the random stream of each point hangs on, besides the seed
	Seed      uint64
}

func (p Problem) check() error {
	if len(p.Starts) != len(p.Boxes) || len(p.IDs) != len(p.Boxes) {
		return fmt.Errorf("attack: %d boxes, %d starts, %d ids", len(p.Boxes), len(p.Starts), len(p.IDs))
	}
	for i, b := range p.Boxes {
		if len(b.Lower) != len(b.Upper) || len(p.Starts[i]) != len(b.Lower) {
			return fmt.Errorf("attack: box %d has %d and %d ends, its start %d values", i, len(b.Lower), len(b.Upper),
				len(p.Starts[i]))
		}
		for j, lo := range b.Lower {
			if !(lo <= b.Upper[j]) {
				return fmt.Errorf("attack: box %d, value %d is [%v, %v]", i, j, lo, b.Upper[j])
			}
		}
	}
	return nil
}

func (p Problem) stream(i int, purpose uint64) *rand.Rand {
	return rand.New(rand.NewPCG(p.Seed^0x9e3779b97f4a7c15*purpose, p.IDs[i]))
}

// project moves z into the box.
func project(z []float64, b feedforward.Box) {
	for i, v := range z {
		z[i] = min(max(v, b.Lower[i]), b.Upper[i])
	}
}

// evaluate gives values and gradients of the objective. A value that is not a number counts as −Inf, so that no attack
// goes there; its gradient is zero.
func (p Problem) evaluate(ctx context.Context, points [][]float64) (values []float64, gradients [][]float64,
	err error) {
	values = make([]float64, len(points))
	_, gradients, err = p.Network.VectorJacobians(ctx, points, func(i int, f []float64) (g []float64) {
		values[i], g = p.at(f)
		return g
	})
	return values, gradients, err
}

func (p Problem) values(ctx context.Context, points [][]float64) ([]float64, error) {
	values := make([]float64, len(points))
	_, _, err := p.Network.VectorJacobians(ctx, points, func(i int, f []float64) []float64 {
		values[i], _ = p.at(f)
		return nil
	})
	return values, err
}

func (p Problem) at(f []float64) (value float64, gradient []float64) {
	if value, gradient = p.Objective(f); math.IsNaN(value) {
		return math.Inf(-1), nil
	}
	return value, gradient
}

func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

// Better keeps, point by point, the better of two results.
func Better(a, b []Best) []Best {
	if a == nil {
		return b
	}
	out := make([]Best, len(a))
	for i := range a {
		out[i] = a[i]
		if b[i].Value > a[i].Value {
			out[i] = b[i]
		}
	}
	return out
}
