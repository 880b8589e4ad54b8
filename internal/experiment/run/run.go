// Package run does the jobs of an experiment: it trains, adapts, certifies and attacks, and leaves
// files in the folder.
package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/progress"
)

// Table makes a table, or what is left of it; see plan.Plan and Jobs.
func Table(ctx context.Context, o plan.Options) error {
	e, err := plan.Plan(o)
	if err != nil {
		return err
	}
	return Jobs(ctx, e)
}

// Jobs does the jobs that are not done. Where ctx ends it saves what is under way, and returns the
// context's error: the same call goes on there. A model that fails, by a loss that is not finite
// for instance, leaves its cells open; the others are made all the same, and the errors are
// returned at the end, those of models that failed before as well ([store.Failure]).
func Jobs(ctx context.Context, e *plan.Experiment) (err error) {
	release, err := store.Lock(e.Options.Folder)
	if err != nil {
		return err
	}
	defer release()
	// another table may have come since the plan
	if e.Manifest, err = store.Joined(e.Options.Folder, e.Manifest); err != nil {
		return err
	}
	r := newRunner(e)
	defer r.Close()
	if err := e.Manifest.LearnLists(ctx, e.Options.Folder, r.Set); err != nil {
		return err
	}
	if err := errors.Join(e.Manifest.SealAll(e.Options.Folder), e.Manifest.Write(e.Options.Folder)); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, collectAll(context.WithoutCancel(ctx), e, r))
	}()
	failed, err := e.Manifest.FailedModels(e.Options.Folder)
	if err != nil {
		return err
	}
	left, err := e.Left()
	if err != nil {
		return err
	}
	var errs []error
	for i, j := range e.Jobs {
		r.at++
		if !left[i] {
			continue
		}
		if cause := j.Cause(failed); cause != nil {
			if before, ok := cause.(store.Failure); ok && j.Measure == nil && before.Model == j.Model.Name {
				errs = append(errs, fmt.Errorf("%v: %w", j, cause))
				r.say("%v; without %s it is tried again", cause, store.ResultPath(e.Options.Folder, j.Model, store.FailedSuffix))
			}
			continue
		}
		err := r.do(ctx, j)
		if ctx.Err() != nil {
			r.last("stopped")
			return errors.Join(err, context.Cause(ctx))
		}
		if err != nil {
			err = errors.Join(fmt.Errorf("%v: %w", j, err), store.KeepFailure(e.Options.Folder, j.Model, err))
			failed[j.Model.Name] = err
			errs = append(errs, err)
			r.say("%v; the other models go on", err)
		}
	}
	r.last("done")
	return errors.Join(errs...)
}

func newRunner(e *plan.Experiment) *Runner { return &Runner{Opener: plan.NewOpener(e), experiment: e} }

func (r *Runner) say(format string, args ...any) {
	r.Options.Progress.Say(format, args...)
}

// progress names the job in front of what is reported of it, and leaves no line behind.
func (r *Runner) progress(s progress.State) {
	if s.Message != "" {
		r.say("%s", s.Message)
	} else if r.Options.Progress != nil {
		s.Task, s.Final = fmt.Sprintf("%d of %d: %s", r.at, len(r.experiment.Jobs), s.Task), false
		r.Options.Progress(s)
	}
}

func (r *Runner) last(note string) {
	if r.Options.Progress != nil {
		r.Options.Progress(progress.State{Task: "experiment in " + r.Folder, Done: float64(r.at),
			Total: float64(len(r.experiment.Jobs)), Unit: "jobs", Note: note, Final: true})
	}
}

func (r *Runner) do(ctx context.Context, j plan.Job) error {
	if j.Measure == nil {
		return r.train(ctx, j.Model)
	}
	return j.Measure.Run(ctx, tools{r.Place.Measured(), r}, j.Measured())
}

func (r *Runner) train(ctx context.Context, m *recipe.Model) error {
	o := r.Options
	o.Progress = r.progress
	t, err := training(r.experiment.Setup, *m, o, r.Set)
	if err != nil {
		return err
	}
	if t.Out = store.ModelPath(r.Folder, m); m.Start != "" {
		t.From = store.ModelPath(r.Folder, r.Manifest.Model(m.Start))
	}
	_, err = train.Run(ctx, t)
	return err
}

// Runner does jobs.
type Runner struct {
	*plan.Opener
	experiment *plan.Experiment
	looked     string          // path of the model that was looked over last, and on which images
	witness    *purity.Witness // its first answers
	at         int             // jobs begun
}

// collectAll brings what was certified and measured of all models into the files of results.
func collectAll(ctx context.Context, e *plan.Experiment, r *Runner) error {
	folder := e.Options.Folder
	err := e.Manifest.LearnLists(ctx, folder, r.Set)
	for i := range e.Manifest.Models {
		err = errors.Join(err, collect(e, &e.Manifest.Models[i]))
	}
	return errors.Join(err, results.KeepAreas(e.Manifest, folder), e.Manifest.KeepLists(folder))
}

// collect brings the radii of closed ledgers into the files of results, and a copy of those that
// were given, so that the folder can stand without their file.
func collect(e *plan.Experiment, m *recipe.Model) error {
	if measure.IsRecord(m.Results) {
		return nil
	}
	folder := e.Options.Folder
	k, err := e.Manifest.ResultsOf(folder, m)
	if err != nil {
		return err
	}
	if m.Results != "" {
		return store.KeepColumns(folder, m, ".csv", k.Radii, nil)
	}
	source := m
	if m.Adapt != nil {
		source = e.Manifest.Model(m.Start)
	}
	if k.Origin.Weights == "" && source.File == "" && store.Trained(folder, source) {
		card, err := modelfile.ReadCard(store.ModelPath(folder, source))
		if err != nil {
			return err
		}
		o := &k.Origin
		o.Weights, o.Trained, o.Seconds, o.Accuracy, o.Noisy = card.Weights, card.Backend, card.Seconds, card.Accuracy,
			card.NoisyTest
		k.Added = true
	}
	if !k.Added {
		return nil
	}
	if err := store.KeepJSON(store.ResultPath(folder, m, ".json"), k.Origin); err != nil || len(k.Radii) == 0 {
		return err
	}
	var order []string
	for _, t := range e.Manifest.Tables {
		cells, err := e.Manifest.Tier.Cells(t.Measure.Radii)
		if err != nil {
			return err
		}
		for _, c := range cells {
			if !slices.Contains(order, c.String()) {
				order = append(order, c.String())
			}
		}
	}
	if len(k.Shares) > 0 {
		if err := store.KeepColumns(folder, m, store.SharesSuffix, k.Shares, order); err != nil {
			return err
		}
	}
	return store.KeepColumns(folder, m, ".csv", k.Radii, order)
}
