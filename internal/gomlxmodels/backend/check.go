package backend

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Agreement is how far a backend's answers are from those of the Go backend.
type Agreement struct {
	Program    string  `json:"program"`
	Difference float64 `json:"difference"` // greatest, relative to the greatest value
	Allowed    float64 `json:"allowed"`
	Seconds    float64 `json:"seconds"` // to compile and run on the backend checked
}

// Rounding of float32 sums in another order; NVIDIA's matrix units keep 10 bits (TF32).
const (
	allowedOnCPU  = 1e-5
	allowedOnCUDA = 5e-3
)

// Check compiles a matrix product, a convolution and the gradients of one, runs them on fixed inputs and
// compares the answers with those of the Go backend. The error says that a program failed
// or that the answers are further apart than rounding allows.
func Check(ctx context.Context, b *Backend) ([]Agreement, error) {
	reference, err := Open(Go)
	if err != nil {
		return nil, err
	}
	allowed := allowedOnCPU
	if b.Device == "cuda" {
		allowed = allowedOnCUDA
	}
	var found []Agreement
	for _, p := range []struct {
		name    string
		x, y    *tensors.Tensor
		program func(x, y *graph.Node) *graph.Node
	}{
		{"matrix product 64×96×32", values(1, 64, 96), values(2, 96, 32), func(x, y *graph.Node) *graph.Node {
			return graph.MatMul(x, y)
		}},
		{"convolution 3×3, 4×16×16×3 to 8", values(3, 4, 16, 16, 3), values(4, 3, 3, 3, 8),
			func(x, y *graph.Node) *graph.Node {
				return graph.Convolve(x, y).PadSame().Done()
			}},
		{"gradients of a convolution 3×3, 4×8×8×16 to 32 by 2", values(5, 4, 8, 8, 16), values(6, 3, 3, 16, 32),
			func(x, y *graph.Node) *graph.Node {
				z := graph.Convolve(x, y).Strides(2).PaddingPerDim([][2]int{{1, 1}, {1, 1}}).Done()
				g := graph.Gradient(graph.ReduceAllSum(graph.Mul(z, z)), x, y)
				return graph.Concatenate([]*graph.Node{graph.Reshape(g[0], -1), graph.Reshape(g[1], -1)}, 0)
			}},
	} {
		if err := ctx.Err(); err != nil {
			return found, err
		}
		start := time.Now()
		got, err := evaluate(b.Backend, p.program, p.x, p.y)
		if err != nil {
			return found, fmt.Errorf("backend: %s on %s: %w", p.name, b.Engine, err)
		}
		seconds := time.Since(start).Seconds()
		want, err := evaluate(reference.Backend, p.program, p.x, p.y)
		if err != nil {
			return found, fmt.Errorf("backend: %s on %s: %w", p.name, reference.Engine, err)
		}
		a := Agreement{Program: p.name, Difference: relativeDifference(got, want), Allowed: allowed, Seconds: seconds}
		found = append(found, a)
		if !(a.Difference <= allowed) {
			return found, fmt.Errorf("backend: %s computes the %s wrongly: it differs from Go by %.2g of the "+
				"greatest value; rounding explains %.2g",
				b.Engine, p.name, a.Difference, allowed)
		}
	}
	return found, nil
}

// values are fixed standard normal numbers.
func values(seed uint64, dims ...int) *tensors.Tensor {
	random := rand.New(rand.NewPCG(seed, 0))
	n := 1
	for _, d := range dims {
		n *= d
	}
	flat := make([]float32, n)
	for i := range flat {
		flat[i] = float32(random.NormFloat64())
	}
	return tensors.FromFlatDataAndDimensions(flat, dims...)
}

func evaluate(engine compute.Backend, program func(x, y *graph.Node) *graph.Node, x, y *tensors.Tensor) ([]float32,
	error) {
	exec, err := graph.NewExec(engine, program)
	if err != nil {
		return nil, err
	}
	defer exec.Finalize()
	inputs := make([]any, 2) // a tensor belongs to one backend: clone
	for i, t := range []*tensors.Tensor{x, y} {
		clone, err := t.LocalClone()
		if err != nil {
			return nil, err
		}
		defer clone.FinalizeAll()
		inputs[i] = clone
	}
	output, err := exec.Call1(inputs...)
	if err != nil {
		return nil, err
	}
	defer output.FinalizeAll()
	return tensors.CopyFlatData[float32](output)
}

func relativeDifference(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	difference, greatest := 0.0, 0.0
	for i := range want {
		difference = max(difference, math.Abs(float64(got[i])-float64(want[i]))) // max keeps a NaN
		greatest = max(greatest, math.Abs(float64(want[i])))
	}
	return difference / greatest
}
