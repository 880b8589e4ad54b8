package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs/ledger"
)

// Run makes a table, or what is left of it; see Plan and Experiment.Run.
func Run(ctx context.Context, o Options) error {
	e, err := Plan(o)
	if err != nil {
		return err
	}
	return RunJobs(ctx, e)
}

// Run does the jobs that are not done. Where ctx ends it saves what is under way, and returns the
// context's error: the same call goes on there. A model that fails, by a loss that is not finite
// for instance, leaves its cells open; the others are made all the same, and the errors are
// returned at the end, those of models that failed before as well ([Failure]).
func RunJobs(ctx context.Context, e *Experiment) (err error) {
	release, err := lock(e.options.Folder)
	if err != nil {
		return err
	}
	defer release()
	// another table may have come since the plan
	if e.Manifest, err = joined(e.options.Folder, e.Manifest); err != nil {
		return err
	}
	r := newRunner(e)
	defer r.close()
	if err := e.Manifest.learnLists(ctx, e.options.Folder, r.set); err != nil {
		return err
	}
	if err := errors.Join(e.Manifest.sealAll(e.options.Folder), e.Manifest.write(e.options.Folder)); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, collectAll(context.WithoutCancel(ctx), e, r))
	}()
	failed, err := e.Manifest.failed(e.options.Folder)
	if err != nil {
		return err
	}
	left, err := e.left()
	if err != nil {
		return err
	}
	var errs []error
	for i, j := range e.Jobs {
		r.at++
		if !left[i] {
			continue
		}
		if cause := j.failed(failed); cause != nil {
			if before, ok := cause.(Failure); ok && j.measure == nil && before.Model == j.Model.Name {
				errs = append(errs, fmt.Errorf("%v: %w", j, cause))
				r.say("%v; without %s it is tried again", cause, resultPath(e.options.Folder, j.Model, failedSuffix))
			}
			continue
		}
		err := r.do(ctx, j)
		if ctx.Err() != nil {
			r.last("stopped")
			return errors.Join(err, context.Cause(ctx))
		}
		if err != nil {
			err = errors.Join(fmt.Errorf("%v: %w", j, err), keepFailure(e.options.Folder, j.Model, err))
			failed[j.Model.Name] = err
			errs = append(errs, err)
			r.say("%v; the other models go on", err)
		}
	}
	r.last("done")
	return errors.Join(errs...)
}

// failed is what went wrong with one of a job's models, or with one that it begins with.
func (j Job) failed(failed map[string]error) error {
	for _, m := range append([]*Model{j.Model}, j.With...) {
		for _, name := range []string{m.Name, m.Start} {
			if err := failed[name]; err != nil {
				return err
			}
		}
	}
	return nil
}

// left reports of each job whether it is to be done. A network that no measurement is left for is
// not trained: what results say of it stays.
func (e *Experiment) left() ([]bool, error) {
	left := make([]bool, len(e.Jobs))
	measured, wanted := map[string]bool{}, map[string]bool{}
	for i, j := range slices.Backward(e.Jobs) {
		done, err := Done(e.Manifest, e.options.Folder, j)
		if err != nil {
			return nil, err
		}
		left[i] = !done
		name, start := j.Model.Name, j.Model.Start
		if j.measure == nil {
			left[i] = !done && (wanted[name] || !measured[name])
			measured[start], wanted[start] = true, wanted[start] || left[i]
			continue
		}
		for _, m := range append([]*Model{j.Model}, j.With...) {
			for _, name := range []string{m.Name, m.Start} {
				measured[name], wanted[name] = true, wanted[name] || !done
			}
		}
	}
	return left, nil
}

// Done reports whether a job is done in a folder.
func Done(m *Manifest, folder string, j Job) (bool, error) {
	if j.measure == nil {
		return trained(folder, j.Model), nil
	}
	return plannerOf(j.measure).Done(&Place{Folder: folder, Manifest: m}, j)
}

func isClosed(path string) (bool, error) {
	l, err := ledger.Read(path)
	var format *ledger.FormatError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &format) {
		return false, nil
	}
	return err == nil && l.Claims != nil, err
}

func newRunner(e *Experiment) *Runner { return &Runner{opener: newOpener(e), experiment: e} }

func (r *Runner) say(format string, args ...any) {
	r.options.Progress.Say(format, args...)
}

// progress names the job in front of what is reported of it, and leaves no line behind.
func (r *Runner) progress(s progress.State) {
	if s.Message != "" {
		r.say("%s", s.Message)
	} else if r.options.Progress != nil {
		s.Task, s.Final = fmt.Sprintf("%d of %d: %s", r.at, len(r.experiment.Jobs), s.Task), false
		r.options.Progress(s)
	}
}

func (r *Runner) last(note string) {
	if r.options.Progress != nil {
		r.options.Progress(progress.State{Task: "experiment in " + r.Folder, Done: float64(r.at),
			Total: float64(len(r.experiment.Jobs)), Unit: "jobs", Note: note, Final: true})
	}
}

func (r *Runner) do(ctx context.Context, j Job) error {
	if j.measure == nil {
		return r.train(ctx, j.Model)
	}
	return runners[j.measure.Name()](j.measure).Do(ctx, r, j)
}

func (r *Runner) train(ctx context.Context, m *Model) error {
	o, err := r.experiment.setup.Options(*m)
	if err != nil {
		return err
	}
	if o.Train, err = r.set(m.Train); err != nil {
		return err
	}
	if o.Test, err = r.set(m.Check); err != nil {
		return err
	}
	if o.More, err = m.openMore(); err != nil {
		return err
	}
	switch {
	case m.Start != "":
		o.From = r.Weights(r.Manifest.Model(m.Start))
	case m.Begin != nil:
		o.From, err = m.Begin.File, m.Begin.check()
	}
	if err != nil {
		return err
	}
	o.Out, o.Backend = r.Weights(m), r.options.Training
	o.Program, o.Command = r.options.Program, r.options.Command
	o.Progress = r.progress
	_, err = train.Run(ctx, o)
	return err
}
