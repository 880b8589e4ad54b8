// Package preflight checks a model before hours of certification: common mistakes with a model, its data and their
// noise, and how long the run will take.
//
// It classifies about a hundred images as they are, in a few changed forms, and in noisy samples. The noise has a seed
// of its own, so a later run draws nothing that was seen here. Decisions after a preflight (σ, n, the rule) cost a
// certificate nothing.
package preflight

import (
	"context"
	"fmt"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/rs"
)

// Options says what to look over. Of the settings of the run, only Sigma has no default.
type Options struct {
	Run        rs.Options    // the run asked for; its Ledger is not touched
	Images     int           // a class-balanced sample of the data; default 100, or all where there are fewer
	Budget     time.Duration // time there is for the run; 0: no limit
	ClassNames []string      // what the model calls its classes; nil where it does not say
}

// Verdict of a check.
type Verdict string

const (
	OK      Verdict = "ok"
	Warning Verdict = "warning" // a run is possible, and likely not what is wanted
	Failure Verdict = "failure" // a run would be wasted
)

// Check is one thing that was looked at.
type Check struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Found   string  `json:"found"`            // in a sentence
	Advice  string  `json:"advice,omitempty"` // what to do, in a sentence; empty where all is well
}

// Report holds the findings.
type Report struct {
	Model      string   `json:"model"`
	Data       string   `json:"data"`
	ClassNames []string `json:"class_names"` // of the data; index = label
	Images     int      `json:"images"`      // looked at
	Samples    int      `json:"copies"`      // noisy, of each image
	Sigma      float64  `json:"sigma"`

	CleanAccuracy *float64 `json:"clean_accuracy"` // share of images classified right; nil without labels
	NoisyAccuracy *float64 `json:"noisy_accuracy"` // share of noise samples classified right; nil without labels
	// share of noise samples given the class of their image without noise
	Agreement float64 `json:"agreement"`

	Rate   float64 `json:"rate"`   // noise samples per second, noise included
	Memory int64   `json:"memory"` // bytes of noise samples that the run has at once, beside the model
	Checks []Check `json:"checks"`
	// the run asked for first, then others; none where accuracy is no better than guessing
	Plans []Plan `json:"plans"`

	Preprocessing string `json:"preprocessing"` // of the images before the network, as the model says it
}

// Count is the number of checks of a verdict.
func (r *Report) Count(v Verdict) (n int) {
	for _, c := range r.Checks {
		if c.Verdict == v {
			n++
		}
	}
	return n
}

// Run looks a model over. It returns an error where the model cannot take the images or does
// not answer, or ctx ends; whatever else is wrong stands in the report.
func Run(ctx context.Context, model classifier.Classifier, data *dataset.Dataset, opt Options) (*Report, error) {
	return run(ctx, model, data, opt, time.Now)
}

func run(ctx context.Context, model classifier.Classifier, data *dataset.Dataset, opt Options,
	now func() time.Time) (*Report, error) {
	if opt.Budget < 0 {
		return nil, fmt.Errorf("preflight: Budget is %v; expected it not to be negative", opt.Budget)
	}
	p, all, err := newPilot(ctx, model, data, opt.Run, opt.Images, now)
	if err != nil {
		return nil, err
	}
	info, sample := p.info, p.images
	memory, err := opt.Run.MemoryOf(info)
	if err != nil {
		return nil, fmt.Errorf("preflight: %w", err)
	}
	if err := p.clean(ctx); err != nil {
		return nil, fmt.Errorf("preflight: images as they are: %w", err)
	}
	forms := p.forms(ctx)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("preflight: %w", context.Cause(ctx))
	}
	preprocessing, err := Preprocessing(model)
	if err != nil {
		return nil, fmt.Errorf("preflight: model: %w", err)
	}
	function, _, err := p.function(ctx, purity.Effort{})
	if err != nil {
		return nil, fmt.Errorf("preflight: the same images again: %w", err)
	}
	if err := p.noisy(ctx); err != nil {
		return nil, fmt.Errorf("preflight: noise samples: %w", err)
	}

	r := &Report{
		Model: info.Name, Data: all.Name, ClassNames: all.Classes,
		Images: sample.Len(), Samples: p.opt.Block, Sigma: opt.Run.Sigma,
		Agreement: p.agreement(), Rate: p.rate, Memory: memory, Preprocessing: preprocessing,
	}
	if n := p.labelled(); n > 0 {
		clean, noisy := p.accuracies()
		r.CleanAccuracy, r.NoisyAccuracy = &clean, &noisy
	}
	r.Plans = []Plan{}
	if _, guessing := p.guessing(); !guessing { // there is nothing to plan for
		if r.Plans, err = p.plans(all.Len(), opt.Budget); err != nil {
			return nil, err
		}
	}
	r.Checks = []Check{
		p.checkClasses(all, opt.ClassNames),
		p.checkFinite(),
		p.checkSpread(),
		p.checkAccuracy(),
		p.checkForm(forms),
		p.checkLabels(),
		p.checkNoise(),
		checkFunction(function),
		checkTime(r.Plans, all.Len(), opt.Budget),
	}
	if function.Probabilities() {
		r.Checks = append(r.Checks, checkOutputs(info, function))
	}
	return r, nil
}
