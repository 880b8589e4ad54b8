package main

import (
	"context"
	"math/rand/v2"

	"github.com/certspec/certspec/rs/noise"
)

// noiseSamples is the number of samples of a 32×32×3 image in one unit of work.
const noiseSamples = 100

// noiseCases compares the noise of one block. Ours adds it to the image as well.
func noiseCases(ctx context.Context, s settings) ([]comparison, error) {
	const image = 32 * 32 * 3
	const values = noiseSamples * image
	grid, err := noise.NewGrid(0.25)
	if err != nil {
		return nil, err
	}
	gaussian, err := noise.NewGaussian(0.25)
	if err != nil {
		return nil, err
	}
	block := uint64(0)
	address := func() noise.Address {
		block++
		return noise.Address{Seed: 1, Block: block}
	}
	draw := func(prepare func() func() error) contender {
		return &loop{prepare: func(context.Context) (func() (float64, error), error) {
			step := prepare()
			return func() (float64, error) { return values, step() }, nil
		}}
	}
	source := func(random *rand.Rand) contender {
		return draw(func() func() error {
			dst := make([]float32, values)
			return func() error {
				for i := range dst {
					dst[i] = float32(random.NormFloat64())
				}
				return nil
			}
		})
	}
	entries := []entry{
		{"certspec exact grid, one thread", draw(func() func() error {
			dst, base := make([]int16, values), make([]int16, image)
			var failed []int
			return func() (err error) {
				failed, err = grid.AddTo(dst, base, address(), 0, failed[:0])
				return err
			}
		})},
		{"certspec Gaussian, one thread", draw(func() func() error {
			dst, base := make([]float32, values), make([]int16, image)
			return func() error {
				gaussian.AddTo(dst, base, address(), 0)
				return nil
			}
		})},
		{"math/rand/v2 NormFloat64, PCG, one thread", source(rand.New(rand.NewPCG(1, 2)))},
		{"math/rand/v2 NormFloat64, ChaCha8, one thread", source(rand.New(rand.NewChaCha8([32]byte{1})))},
	}
	python, scripts, err := pythonSide(ctx)
	if err != nil {
		return nil, err
	}
	w := work{Task: "noise", Batch: values}
	return []comparison{{"normal values, 100 noise samples of a 32×32×3 image at a time", 1, append(entries,
		entry{"NumPy standard_normal float32, one thread", pythonWorker(python, scripts, "numpy", "float32", w)},
		entry{"PyTorch randn, all threads", pythonWorker(python, scripts, "torch", "eager", w)},
		entry{"JAX normal, rbg, jit", pythonWorker(python, scripts, "jax", "jit", w)},
	)}}, nil
}
