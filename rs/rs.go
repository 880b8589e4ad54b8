// Package rs certifies image classifiers by randomized smoothing.
//
// Let c be a classifier, x an image and δ Gaussian noise of standard deviation σ on every value. The
// smoothed classifier g answers the class that c gives to x+δ most often. If that class has
// probability p > ½, then g keeps it on the open ℓ2 ball around x of radius
//
//	R = σ·Φ⁻¹(p)
//
// (Cohen, Rosenfeld and Kolter 2019, theorem 1, with 1−p as the bound on all other classes together).
// Certify draws noisy copies, bounds p from below and so R; every bound is rounded outwards. Radii
// are ℓ2 norms over all values of an image in units of the full range of a value: a byte b is b/255.
//
// What is certified is the smoothed classifier of the model behind the noise law: with the exact
// integer grid (the default) that is, for 8-bit images and in real arithmetic, the Gaussian smoothing
// of "round to the grid, clamp, classify"; see package rs/noise.
package rs

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/noise"
)

// Abstain is the class of an image for which nothing is certified.
const Abstain = -1

// Source is a set of images that is loaded when it is needed; a *dataset.Dataset is one.
type Source interface {
	Load(ctx context.Context) (*dataset.Images, error)
}

// Options says what to certify and how. Only Sigma has no default.
type Options struct {
	Sigma      float64   // standard deviation of the noise, unit: full range of a value; > 0
	Alpha      float64   // bound on the probability that the claim on an image is false; default 0.001
	Rule       Rule      // how many copies an image gets; default Staged
	MaxSamples int       // most copies behind a bound, a multiple of Block; default 100,000
	Tolerance  float64   // of Staged: radius given up for fewer copies, unit as Sigma; default 0.04·Sigma
	Selection  int       // copies that choose the class and enter no bound, a multiple of Block; default 100, rounded up to a block
	Block      int       // copies in one call of the model; default 100
	Noise      noise.Law // "grid" or "gaussian"; default "grid", the one that is sound in floating point
	Seed       uint64    // of the noise; 0: derived from model, data and settings, so that it cannot be shopped for

	Ledger  string // file that records the run and from which it resumes; "": none
	Workers int    // calls of the model at once; 0: enough for all processors. The counts do not depend on it

	Progress progress.Reporter // may be nil
}

// Defaults of Options.
const (
	DefaultAlpha      = 0.001
	DefaultMaxSamples = 100_000
	DefaultSelection  = 100
	DefaultBlock      = 100
)

// OptionError says which setting is out of range, and what was expected.
type OptionError struct{ Reason string }

func (e *OptionError) Error() string { return "rs: " + e.Reason }

func optionErrorf(format string, args ...any) error {
	return &OptionError{fmt.Sprintf(format, args...)}
}

// withDefaults fills in defaults and refuses settings that are out of range.
func (o Options) withDefaults() (Options, error) {
	if err := checkSigma(o.Sigma); err != nil {
		return o, err
	}
	if o.Alpha == 0 {
		o.Alpha = DefaultAlpha
	}
	if err := checkAlpha(o.Alpha); err != nil {
		return o, err
	}
	if o.Block == 0 {
		o.Block = DefaultBlock
	}
	if o.Block < 1 {
		return o, optionErrorf("Block is %d copies, want at least 1", o.Block)
	}
	if o.MaxSamples == 0 {
		o.MaxSamples = DefaultMaxSamples
	}
	if err := checkCopies("MaxSamples", o.MaxSamples, o.Block); err != nil {
		return o, err
	}
	if o.Selection == 0 {
		o.Selection = roundUp(DefaultSelection, o.Block)
	}
	if err := checkCopies("Selection", o.Selection, o.Block); err != nil {
		return o, err
	}
	switch o.Rule {
	case "", Staged:
		o.Rule = Staged
		if o.Tolerance == 0 {
			o.Tolerance = 0.04 * o.Sigma
		}
		if !(o.Tolerance > 0) || math.IsInf(o.Tolerance, 0) {
			return o, optionErrorf("Tolerance is %v, want a positive radius", o.Tolerance)
		}
	case Fixed:
		if o.Tolerance != 0 {
			return o, optionErrorf("Tolerance is %v, but the rule %q has none", o.Tolerance, Fixed)
		}
	default:
		return o, optionErrorf("Rule is %q, want %q or %q", o.Rule, Staged, Fixed)
	}
	law, err := noise.ParseLaw(string(o.Noise))
	if err != nil {
		return o, optionErrorf("Noise: %v", err)
	}
	o.Noise = law
	if o.Workers < 0 {
		return o, optionErrorf("Workers is %d, want at least 1", o.Workers)
	}
	return o, nil
}

// DefaultWorkers is the number of calls at once that keeps all processors busy: at least two, so
// that one can run while another is handed over.
func DefaultWorkers(model classifier.Identity) int {
	threads := max(1, model.Threads)
	return max(2, (runtime.GOMAXPROCS(0)+threads-1)/threads)
}

func checkSigma(sigma float64) error {
	if !(sigma > 0) || math.IsInf(sigma, 0) {
		return optionErrorf("Sigma is %v, want a positive number", sigma)
	}
	return nil
}

func checkAlpha(alpha float64) error {
	if !(alpha > 0 && alpha < 1) {
		return optionErrorf("Alpha is %v, want a number between 0 and 1", alpha)
	}
	return nil
}

// checkCopies refuses a number of copies that whole blocks do not make up.
func checkCopies(field string, n, block int) error {
	switch {
	case n < 1 || n > bound.MaxTrials:
		return optionErrorf("%s is %d copies, want 1 to %d", field, n, bound.MaxTrials)
	case n%block != 0:
		return optionErrorf("%s is %d copies, want a multiple of the block of %d, e.g. %d", field, n, block, roundUp(n, block))
	}
	return nil
}

// roundUp is the least multiple of block that is at least n.
func roundUp(n, block int) int { return (n + block - 1) / block * block }
