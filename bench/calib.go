package main

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/calib/mip"
)

const (
	admmSamples = 2000
	admmSteps   = 100 // in one unit of work
	eceSamples  = 1 << 22
	calibBins   = 15
)

// calibCases compares ADMM on one core, step for step the same algorithm, and the ECE on all.
func calibCases(ctx context.Context, s settings) ([]comparison, error) {
	bins, err := calib.Uniform(calibBins, calib.LeftClosed)
	if err != nil {
		return nil, err
	}
	python, scripts, err := pythonSide(ctx)
	if err != nil {
		return nil, err
	}
	work := func(task string, batch int) work { return work{Task: task, Batch: batch} }
	admm := &loop{prepare: func(context.Context) (func() (float64, error), error) {
		p, clean, err := admmProgram(bins)
		return func() (float64, error) {
			_, err := p.ADMM(ctx, clean, mip.ADMM{Steps: admmSteps})
			return admmSteps, err
		}, err
	}}
	ece := &loop{prepare: func(context.Context) (func() (float64, error), error) {
		correct, confidence := make([]bool, eceSamples), make([]float64, eceSamples)
		for i := range correct {
			confidence[i], correct[i] = rand.Float64(), rand.Float64() < .7
		}
		return func() (float64, error) {
			_, err := calib.ECE(correct, confidence, bins)
			return eceSamples, err
		}, nil
	}}
	one := []string{"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1"}
	return []comparison{
		{"steps of ADMM, 2,000 samples, 15 bins, float64, one thread", 1, []entry{
			{"certspec", admm},
			{"NumPy", pythonWorker(python, scripts, "numpy", "float64", work("admm", admmSamples), one...)},
			{"PyTorch eager", pythonWorker(python, scripts, "torch", "eager", work("admm", admmSamples), one...)},
			{"torch.compile", pythonWorker(python, scripts, "torch", "compile", work("admm", admmSamples), one...)},
		}},
		{"samples of an ECE over 15 equal bins, 4 million at a time", 1, []entry{
			{"certspec, checked, float64, all cores", ece},
			{"NumPy bincount, float64", pythonWorker(python, scripts, "numpy", "float64", work("ece", eceSamples))},
			{"PyTorch bucketize and scatter_add as in torchmetrics, float32, all cores", pythonWorker(python, scripts, "torch", "eager", work("ece", eceSamples))},
		}},
	}, nil
}

// admmProgram is a synthetic instance; bench/python/admm_numpy.py makes one by the same formula.
func admmProgram(bins *calib.Bins) (p *mip.Program, clean []float64, err error) {
	r := rand.New(rand.NewPCG(1, 1))
	correct := make([]bool, admmSamples)
	lower, upper, clean := make([]float64, admmSamples), make([]float64, admmSamples), make([]float64, admmSamples)
	for i := range clean {
		z := min(.999, .3+.7*(1-math.Pow(r.Float64(), 2.2)))
		gap := .3 * 2 * z * (1 - z)
		clean[i], lower[i], upper[i] = z, max(0, z-gap), min(1, z+gap)
		correct[i] = r.Float64() < min(.99, max(.02, z-.05))
	}
	p, err = mip.New(correct, lower, upper, bins)
	return p, clean, err
}
