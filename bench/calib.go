package main

import (
	"context"
	"math"
	"math/rand/v2"
	"os"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/internal/calib/mip"
	"github.com/certspec/certspec/internal/testkit/rstest"
	certified "github.com/certspec/certspec/rs/confidences"
)

const (
	admmSamples    = 2000
	admmSteps      = 100 // in one unit of work
	eceSamples     = 1 << 22
	calibBins      = 15
	scoredImages   = 10_000
	scoredSamples  = 10_000
	certifiedRadii = 20
)

// oneThread keeps other software to one core.
var oneThread = []string{"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1"}

// calibCases compares ADMM on one core, step for step the same algorithm, and the ECE on all; the exact bound and the certificates
// have no other software to be compared with.
func calibCases(ctx context.Context, s settings) ([]comparison, error) {
	bins, err := calib.Uniform(calibBins, calib.LeftClosed)
	if err != nil {
		return nil, err
	}
	python, scripts, err := pythonSide(ctx)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	work := func(task string, batch int) work { return work{Task: task, Batch: batch} }
	exact := func(samples int) contender {
		return &loop{prepare: func(context.Context) (func() (float64, error), error) { return exactWork(samples, bins) }}
	}
	cases := []comparison{
		{"steps of ADMM, 2,000 samples, 15 bins, float64, one thread, by processor time", 2, []entry{
			{"certspec", &loop{prepare: func(ctx context.Context) (func() (float64, error), error) { return admmWork(ctx, bins) }}},
			{"certspec without vector instructions", &worker{command: []string{self, "worker"}, env: []string{"GODEBUG=cpu.avx2=off"}, work: work("admm", admmSamples)}},
			{"NumPy", pythonWorker(python, scripts, "numpy", "float64", work("admm", admmSamples), oneThread...)},
			{"PyTorch eager", pythonWorker(python, scripts, "torch", "eager", work("admm", admmSamples), oneThread...)},
			{"torch.compile", pythonWorker(python, scripts, "torch", "compile", work("admm", admmSamples), oneThread...)},
		}},
		{"steps of ADMM, the grid of 16 runs of 3,000 steps each, 2,000 samples, 15 bins, all cores", 0, []entry{
			{"certspec", &loop{prepare: func(ctx context.Context) (func() (float64, error), error) { return gridWork(ctx, bins) }}},
		}},
		{"samples of an ECE over 15 equal bins, 4 million at a time", 1, []entry{
			{"certspec, checked, float64, all cores", &loop{prepare: func(context.Context) (func() (float64, error), error) { return eceWork(bins) }}},
			{"NumPy bincount, float64", pythonWorker(python, scripts, "numpy", "float64", work("ece", eceSamples))},
			{"torchmetrics, unchecked, float32, all cores", pythonWorker(python, scripts, "torchmetrics", "functional", work("ece", eceSamples))},
		}},
		{"samples of an exact certified calibration error, 15 bins, one thread, by processor time", 0, []entry{
			{"certspec, 2,000 samples", exact(2000)},
			{"certspec, 100,000 samples", exact(100_000)},
			{"certspec, 1,000,000 samples", exact(1_000_000)},
		}},
		{"certified confidences, CDF certificate, from a ledger of 10,000 images with 10,000 noise samples each, at 20 radii", 0, []entry{
			{"certspec", &confidences{}},
		}},
	}
	onProcessor([]comparison{cases[0], cases[3]})
	return cases, nil
}

// admmWork is a hundred steps from the start.
func admmWork(ctx context.Context, bins *calib.Bins) (step func() (float64, error), err error) {
	p, clean, err := admmProgram(admmSamples, bins)
	return func() (float64, error) {
		_, err := p.ADMM(ctx, clean, mip.ADMM{Steps: admmSteps})
		return admmSteps, err
	}, err
}

// gridWork is an evaluation.
func gridWork(ctx context.Context, bins *calib.Bins) (step func() (float64, error), err error) {
	p, clean, err := admmProgram(admmSamples, bins)
	return func() (float64, error) {
		runs, err := p.Search(ctx, clean, mip.Grid(clean), nil)
		steps := 0.
		for _, run := range runs {
			steps += float64(run.Done)
		}
		return steps, err
	}, err
}

func eceWork(bins *calib.Bins) (step func() (float64, error), err error) {
	correct, confidence := make([]bool, eceSamples), make([]float64, eceSamples)
	for i := range correct {
		confidence[i], correct[i] = rand.Float64(), rand.Float64() < .7
	}
	return func() (float64, error) {
		_, err := calib.ECE(correct, confidence, bins)
		return eceSamples, err
	}, nil
}

func exactWork(samples int, bins *calib.Bins) (step func() (float64, error), err error) {
	p, _, err := admmProgram(samples, bins)
	var w calib.Workspace
	return func() (float64, error) {
		_, err := w.ExactCCE(p.Correct, p.Lower, p.Upper, p.Bins)
		return float64(samples), err
	}, err
}

// confidences is a contender that has a ledger to read.
type confidences struct {
	loop
	folder string
}

func (c *confidences) Prepare(ctx context.Context) (err error) {
	if c.folder, err = os.MkdirTemp("", "certspec-bench-"); err != nil {
		return err
	}
	path, err := rstest.ScoredLedger(ctx, c.folder, scoredImages, scoredSamples)
	if err != nil {
		return err
	}
	var radii []float64
	for k := range certifiedRadii {
		radii = append(radii, .02*float64(k))
	}
	c.step = func() (float64, error) {
		_, err := certified.Certify(ctx, path, radii, certified.Options{})
		return scoredImages * certifiedRadii, err
	}
	return nil
}

func (c *confidences) Close() {
	c.loop.Close()
	os.RemoveAll(c.folder)
}

// admmProgram is a synthetic instance; bench/python/admm_numpy.py makes one by the same formula.
func admmProgram(samples int, bins *calib.Bins) (p *mip.Program, clean []float64, err error) {
	r := rand.New(rand.NewPCG(1, 1))
	correct := make([]bool, samples)
	lower, upper, clean := make([]float64, samples), make([]float64, samples), make([]float64, samples)
	for i := range clean {
		z := min(.999, .3+.7*(1-math.Pow(r.Float64(), 2.2)))
		gap := .3 * 2 * z * (1 - z)
		clean[i], lower[i], upper[i] = z, max(0, z-gap), min(1, z+gap)
		correct[i] = r.Float64() < min(.99, max(.02, z-.05))
	}
	p, err = mip.New(correct, lower, upper, bins)
	return p, clean, err
}
