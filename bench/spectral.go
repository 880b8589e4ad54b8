package main

import (
	"context"
	"math/rand/v2"
	"runtime"

	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/spectral"
)

// spectralImages is the number of 32×32×3 images in one unit of work.
const spectralImages = 500

// spectralCases compares transforms, mean amplitude spectra and Fourier-basis probes on one core.
func spectralCases(ctx context.Context, s settings) ([]comparison, error) {
	python, scripts, err := pythonSide(ctx)
	if err != nil {
		return nil, err
	}
	other := func(form, task string) *worker {
		return pythonWorker(python, scripts, "spectral", form, work{Task: task, Batch: spectralImages},
			"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1")
	}
	shape := pixel.Shape{Height: 32, Width: 32, Channels: 3}
	images := make([]uint8, spectralImages*shape.Len())
	for k := range images {
		images[k] = uint8(rand.Uint32())
	}
	one := func(step func() error) contender {
		return &loop{prepare: func(context.Context) (func() (float64, error), error) {
			return func() (float64, error) { return spectralImages, step() }, nil
		}}
	}
	spectrum := one(func() error {
		before := runtime.GOMAXPROCS(1)
		defer runtime.GOMAXPROCS(before)
		_, err := spectral.MeanSpectrum(ctx, spectral.Bytes(shape, images), nil)
		return err
	})
	probe, err := spectral.NewProbe(shape, spectral.Frequency{U: 3, V: 5}, spectral.DefaultEpsilon)
	if err != nil {
		return nil, err
	}
	grid, real := make([]int16, len(images)), make([]float32, len(images))
	addGrid := one(func() error {
		for i := range spectralImages {
			from, to := i*shape.Len(), (i+1)*shape.Len()
			probe.AddTo(grid[from:to], images[from:to], i)
		}
		return nil
	})
	addReal := one(func() error {
		for i := range spectralImages {
			from, to := i*shape.Len(), (i+1)*shape.Len()
			probe.AddRealTo(real[from:to], images[from:to], i)
		}
		return nil
	})
	forward64, err := forward[float64](shape)
	if err != nil {
		return nil, err
	}
	forward32, err := forward[float32](shape)
	if err != nil {
		return nil, err
	}
	return []comparison{
		{"transforms of 32×32×3 images, one thread", 2, []entry{
			{"certspec, float64", one(forward64)},
			{"certspec, float32", one(forward32)},
			{"numpy.fft.rfft2, float64", other("numpy", "rfft2")},
			{"torch.fft.rfft2, float64", other("torch", "rfft2")},
			{"torch.fft.rfft2, float32", other("torch", "rfft2 float32")},
		}},
		{"mean amplitude spectrum of 32×32×3 images of bytes, float64, one thread", 1, []entry{
			{"certspec, amplitude and power, checked", spectrum},
			{"numpy.abs(numpy.fft.rfft2) mean, amplitude only", other("numpy", "spectrum")},
		}},
		{"32×32×3 images with a Fourier basis image added, one thread", 2, []entry{
			{"certspec, signs of its own for each image, int16 grid from bytes", addGrid},
			{"certspec, signs of its own for each image, float32 from bytes", addReal},
			{"NumPy, signs of its own for each image, float32", other("numpy", "probe")},
			{"NumPy, no signs, float32, in place", other("numpy", "probe in place")},
			{"PyTorch, no signs, float32, in place", other("torch", "probe in place")},
		}},
	}, nil
}

// forward transforms the planes of as many images, one after the other.
func forward[T fourier.Float](shape pixel.Shape) (func() error, error) {
	plan, err := fourier.NewPlan[T](shape.Height, shape.Width)
	if err != nil {
		return nil, err
	}
	n := shape.Height * shape.Width
	planes := make([]T, spectralImages*shape.Len())
	for k := range planes {
		planes[k] = T(rand.Float64())
	}
	bins := plan.Half().Len()
	all := fourier.Spectrum[T]{Re: make([]T, len(planes)/n*bins), Im: make([]T, len(planes)/n*bins)}
	w := plan.NewWorkspace()
	return func() error {
		for i := range len(planes) / n {
			from, to := i*bins, (i+1)*bins
			plan.Forward(w, fourier.Spectrum[T]{Re: all.Re[from:to], Im: all.Im[from:to]}, planes[i*n:(i+1)*n])
		}
		return nil
	}, nil
}
