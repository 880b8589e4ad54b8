// Package rs certifies image classifiers by randomized smoothing.
//
//	result, err := rs.Certify(ctx, model, data, rs.Options{Sigma: 0.25, Ledger: "run.ledger"})
//	fmt.Println(result.ACR(), result.CertifiedAccuracy(0, 0.25, 0.5))
//	result, err = rs.Open("run.ledger") // later, without the model
//
// In the order of use:
//
//   - [Options] set σ, α and the stopping [Rule]; [Options.Plan] says beforehand what a run costs.
//   - [Certify] draws noise, writes a ledger, goes on where it stands, and returns a [Run]; [CertifyOne] and [Predict]
//     answer for one image.
//   - A Run has one [Row] for each image, with its radius, and figures of them all: [Rows.ACR],
//     [Rows.CertifiedAccuracy], [Rows.Curve].
//   - [Open] reads a ledger without the model, [Verify] checks its file, [Replay] draws the noise again, and [Merge]
//     joins shards.
//
// Let c be a classifier, x an image and δ Gaussian noise of standard deviation σ on every value. The smoothed
// classifier g answers the class that c gives to x+δ most often. If that class has probability p > ½, then g keeps it
// on the open ℓ2 ball around x of radius
//
//	R = σ·Φ⁻¹(p)
//
// (Cohen, Rosenfeld and Kolter 2019, theorem 1, with 1−p as the bound on all other classes together). Certify draws
// noise samples and bounds p from below, and so R; every bound is rounded outwards. Radii are ℓ2 norms over all values
// of an image in units of the full range of a value: a byte b is b/255.
//
// The certificate is about the smoothed classifier of the model behind the noise law. With the exact integer grid (the
// default) this is, for 8-bit images and in real arithmetic, the Gaussian smoothing of "round to the grid, clamp,
// classify"; see package rs/noise.
package rs

import (
	"context"
	"fmt"
	"runtime"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/flat"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/noise"
	"github.com/certspec/certspec/rs/rule"
)

// Abstain is the class of an image for which nothing is certified.
const Abstain = stopping.Abstain

// Rule says how many noise samples an image gets.
//
// Under every rule the class comes from samples of its own, which enter no bound. The claim on an image is false with
// probability at most α over the noise. Each rule's name says how it spends that α.
type Rule = ledger.RuleName

// The rules.
const (
	Fixed   = rule.Fixed   // MaxSamples samples for every image
	Staged  = rule.Staged  // more and more samples, until a further one would hardly raise the radius
	ISS     = rule.ISS     // as many samples as the votes of the selection call for
	Betting = rule.Betting // samples until it is known which of some given radii an image reaches
	// Anytime takes samples where they raise radii most, until Options.Until; may be stopped and
	// continued at any time
	Anytime = rule.Anytime
)

// Source is a set of images that is loaded when it is needed; a *dataset.Dataset is one. Where it has Index, as that
// has, images are read one by one.
type Source = imageset.Source

// indexOf opens a source.
func indexOf(ctx context.Context, data Source, report progress.Reporter) (*imageset.Index, error) {
	x, err := imageset.Open(ctx, data, report)
	if err != nil {
		return nil, fmt.Errorf("rs: data: %w", err)
	}
	return x, nil
}

// Options says what to certify and how. Only Sigma has no default.
type Options struct {
	Sigma      float64 // standard deviation of the noise, unit: full range of a value; > 0
	Alpha      float64 // bound on the probability that the claim on an image is false; default 0.001
	Rule       Rule    // default Staged
	MaxSamples int     // most samples behind a bound, a multiple of Block; default 100,000, of Anytime 100,000,000
	// samples that choose the class, a multiple of Block; default 100, of ISS 1,000, rounded up to
	// a block
	Selection int
	Block     int       // samples in one call of the model; default 100
	Tolerance float64   // of Staged and ISS: radius given up for fewer samples, unit as Sigma; default 0.04·Sigma
	Relative  bool      // of ISS: Tolerance is a fraction of the radius, in (0, 1)
	Radii     []float64 // of Betting: the radii that are tested, ascending, unit as Sigma; 0 asks for the class alone
	Futility  float64   // of Betting: level of the test that stops hopeless images; default Alpha
	Shards    int       // of Anytime: follows from Shard; leave it unset
	// of Betting, without a ledger: an image whose chosen class is not its label is given up, and counts as abstained
	OnlyCorrect bool

	Noise noise.Law // "grid" or "gaussian"; default "grid", the one that is sound in floating point
	// of the noise; 0: derived from model, data and settings, so that nobody can try seeds
	// (settings can be tried: see SeedNote). A chosen one draws the same samples at every n
	Seed uint64

	// Paired derives the seed from data and settings alone, so that several networks meet the same noise; differences
	// between two that agree on most samples vary less. The header then calls the seed chosen. Not beside Seed
	Paired bool

	// keep the scores of the class too, counted in so many cells, at most 1,000, in a file beside
	// the ledger; 0: no
	Scores int
	// with Scores: keep the largest score h of each noise sample, rescaled to (K·h − 1)/(K − 1) for
	// K classes, instead of the score of the class
	TopScores bool

	Shard Shard // the part of the run to do; zero: all of it
	Until Until // of Anytime, which needs one: when this call ends

	Ledger  string // file that records the run and from which it resumes; "": none
	Workers int    // calls of the model at once; 0: DefaultWorkers. Counts do not depend on it

	// bytes of noise samples in memory at once, beside the model; 0: at most half of what is free.
	// Counts do not depend on it
	Memory int64

	Progress progress.Reporter // may be nil
}

func optionErrorf(format string, args ...any) error { return stopping.OptionErrorf(format, args...) }

// Settings returns the part of the options that the rule knows.
func (o Options) Settings() (s rule.Settings) {
	flat.Copy(&s, o)
	return s
}

// withDefaults fills in the defaults of what is no part of the rule, and refuses what is out of range.
func (o Options) withDefaults() (Options, error) {
	law, err := noise.ParseLaw(string(o.Noise))
	if err != nil {
		return o, optionErrorf("Noise: %v", err)
	}
	o.Noise = law
	if o.Memory < 0 {
		return o, optionErrorf("Memory is %d, want at least 1", o.Memory)
	}
	if o.Paired && o.Seed != 0 {
		return o, optionErrorf("Seed is %d beside Paired, which derives it from data and settings", o.Seed)
	}
	if o.OnlyCorrect && o.Ledger != "" {
		return o, optionErrorf("OnlyCorrect is set beside Ledger: a ledger holds the claims on all images")
	}
	if o.Workers < 0 {
		return o, optionErrorf("Workers is %d, want at least 1", o.Workers)
	}
	if err := o.CheckScores(); err != nil {
		return o, err
	}
	return o, o.checkUntil()
}

// DefaultWorkers is the number of calls at once that keeps all processors busy: at least two, so
// that one can run while another is handed over.
func DefaultWorkers(model classifier.Identity) int {
	threads := max(1, model.Threads)
	return max(2, (runtime.GOMAXPROCS(0)+threads-1)/threads)
}
