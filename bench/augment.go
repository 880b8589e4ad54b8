package main

import (
	"context"
	"math/rand/v2"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/pixel"
)

// augmentImages is the number of images in one unit of work.
const augmentImages = 128

// augmentCases compares views of 32×32×3 images, from bytes to float32, on one core.
func augmentCases(ctx context.Context, s settings) ([]comparison, error) {
	python, scripts, err := pythonOf(ctx, pyenv.External)
	if err != nil {
		return nil, err
	}
	ours := func(a augment.Augmentation) contender {
		return &loop{prepare: func(context.Context) (func() (float64, error), error) {
			shape := pixel.Shape{Height: 32, Width: 32, Channels: 3}
			random := rand.New(rand.NewPCG(1, 1))
			images := make([]uint8, augmentImages*shape.Len())
			for i := range images {
				images[i] = uint8(random.Uint32())
			}
			im := augment.Image{Shape: shape, Values: make([]float32, shape.Len())}
			at := augment.Address{Seed: 1}
			return func() (float64, error) {
				for i := range augmentImages {
					augment.FromBytes(im.Values, images[i*shape.Len():(i+1)*shape.Len()])
					at.Image++
					if err := a.Apply(im, augment.NewStream(at)); err != nil {
						return 0, err
					}
				}
				return augmentImages, nil
			}, nil
		}}
	}
	theirs := func(form, task string) contender {
		one := []string{"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1"}
		return pythonWorker(python, scripts, "augment", form, work{Task: task, Batch: augmentImages}, one...)
	}
	const size = ", 32×32×3, one thread"
	return []comparison{
		{"views by FourierMix" + size, 1, []entry{
			{"certspec", ours(augment.FourierMix{})},
			{"NumPy, 128 images at a time, float32", theirs("numpy", "fouriermix")},
		}},
		{"views by FourierMix with uniform phases" + size, 1, []entry{
			{"certspec", ours(augment.FourierMix{PhaseLaw: "uniform"})},
			{"NumPy, 128 images at a time, float32", theirs("numpy", "fouriermix-uniform")},
		}},
		{"views by AugMix" + size, 1, []entry{
			{"certspec", ours(augment.AugMix{})},
			{"Pillow and NumPy", theirs("pillow", "augmix")},
		}},
		{"views by AutoAugment" + size, 1, []entry{
			{"certspec", ours(augment.AutoAugment{})},
			{"Pillow", theirs("pillow", "autoaugment")},
		}},
	}, nil
}
