package backend

import (
	"context"
	"fmt"
	"time"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Speed is how fast a backend ran a program.
type Speed struct {
	Program string  `json:"program"`
	Rate    float64 `json:"rate"`
	Unit    string  `json:"unit"`
	Compile float64 `json:"compile_seconds"` // compilation and first run
}

// Measure times a large matrix product and a convolution as in a ResNet-20, each for about
// the given time. The rate is that of the fastest call: the machine is seldom quiet.
func Measure(ctx context.Context, b *Backend, each time.Duration) ([]Speed, error) {
	const n = 1024
	var speeds []Speed
	for _, p := range []struct {
		name       string
		x, y       *tensors.Tensor
		operations float64
		program    func(x, y *graph.Node) *graph.Node
	}{
		{"matrix product 1024³", values(1, n, n), values(2, n, n), 2 * n * n * n, func(x, y *graph.Node) *graph.Node {
			return graph.ReduceAllMax(graph.MatMul(x, y))
		}},
		{"convolution 3×3, 100×32×32×16 to 16", values(3, 100, 32, 32, 16), values(4, 3, 3, 16, 16),
			2 * 100 * 32 * 32 * 9 * 16 * 16, func(x, y *graph.Node) *graph.Node {
				return graph.ReduceAllMax(graph.Convolve(x, y).PadSame().Done())
			}},
	} {
		exec, err := graph.NewExec(b.Backend, p.program)
		if err != nil {
			return speeds, fmt.Errorf("backend: %s on %s: %w", p.name, b.Engine, err)
		}
		seconds, compile, err := Fastest(ctx, each, func() error {
			output, err := exec.Call1(p.x, p.y)
			if err != nil {
				return err
			}
			defer output.FinalizeAll()
			_, err = tensors.CopyFlatData[float32](output) // waits for the answer
			return err
		})
		exec.Finalize()
		p.x.FinalizeAll()
		p.y.FinalizeAll()
		if err != nil {
			return speeds, fmt.Errorf("backend: %s on %s: %w", p.name, b.Engine, err)
		}
		speeds = append(speeds, Speed{p.name, p.operations / seconds / 1e9, "GFLOP/s", compile})
	}
	return speeds, nil
}

// Fastest calls once, for compilation, and then again for about the given time, at least
// twice. It returns the seconds of the fastest and of the first call.
func Fastest(ctx context.Context, each time.Duration, call func() error) (fastest, first float64, err error) {
	start := time.Now()
	if err := call(); err != nil {
		return 0, 0, err
	}
	first = time.Since(start).Seconds()
	for begin, calls := time.Now(), 0; calls < 2 || time.Since(begin) < each; calls++ {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		start := time.Now()
		if err := call(); err != nil {
			return 0, 0, err
		}
		if seconds := time.Since(start).Seconds(); calls == 0 || seconds < fastest {
			fastest = seconds
		}
	}
	return fastest, first, nil
}
