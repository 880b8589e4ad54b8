package run

import (
	"context"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/settings"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/gomlxmodels/ace"
	"github.com/certspec/certspec/internal/gomlxmodels/adapt"
	"github.com/certspec/certspec/internal/gomlxmodels/perturb"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/sweep"
)

// tools of the measures of a run.
type tools struct {
	measure.Place
	run *Runner
}

func (t tools) Set(name string) (*dataset.Dataset, error) { return t.run.Set(name) }

// Corrupted opens a data set and corrupts it, where there is a change.
func (t tools) Corrupted(name string, change *corrupt.Setting) (*dataset.Dataset, error) {
	return t.run.corrupted(name, change)
}

// Open opens the network of a model, adapted to a cell where it is adapted to each. It stays open
// until another is opened.
func (t tools) Open(ctx context.Context, m *measure.Model, c sweep.Cell) (measure.Network, error) {
	of := t.run.Manifest.Model(m.Name)
	path, err := t.run.path(ctx, of, c)
	if err != nil {
		return nil, err
	}
	return t.run.OpenAt(path, of)
}

func (t tools) Path(ctx context.Context, m *measure.Model) (string, error) {
	return t.run.path(ctx, t.run.Manifest.Model(m.Name), sweep.Cell{})
}

func (t tools) Look(ctx context.Context, m measure.Network, on string, o rs.Options) (context.Context, error) {
	return t.run.look(ctx, m, on, o)
}

func (t tools) Keep(path string, text []byte) error { return store.Keep(path, text) }
func (t tools) Report(s progress.State)             { t.run.progress(s) }
func (t tools) Program() string                     { return t.run.Options.Program }

func (t tools) Confidences(ctx context.Context, path string, images *dataset.Images,
	attacks []ace.Attack) ([]ace.Predictions, error) {
	return perturb.ConfidencesAt(ctx, path, t.run.Options.Training, images, attacks, t.Report)
}

// path is where the network of a model lies, where it is adapted to each corruption that for a cell.
func (r *Runner) path(ctx context.Context, m *recipe.Model, c sweep.Cell) (string, error) {
	if m.Adapt != nil {
		return r.adapt(ctx, m, c)
	}
	return store.ModelPath(r.Folder, m), nil
}

// look looks a model over before it certifies first: whether it is a function of one image, and how it does. The
// images are clean ones, so that the first answers are about the same ones wherever the experiment goes on. The context
// that it returns carries these answers.
func (r *Runner) look(ctx context.Context, m classifier.Classifier, on string, o rs.Options) (context.Context, error) {
	of := r.Opened + " on " + on
	if r.looked == of {
		return r.witness.With(ctx), nil
	}
	images, err := r.Set(on)
	if err != nil {
		return nil, err
	}
	loaded, err := images.Load(ctx)
	if err != nil {
		return nil, err
	}
	first, err := preflight.Look(ctx, m, loaded, preflight.UseOf(o))
	if err != nil {
		return nil, err
	}
	for _, warning := range first.Warnings {
		r.say("warning: %s: %s", r.Opened, warning)
	}
	r.looked, r.witness = of, first.Witness
	return first.Witness.With(ctx), nil
}

// corrupted opens a data set and corrupts it, where there is a change.
func (r *Runner) corrupted(name string, change *corrupt.Setting) (*dataset.Dataset, error) {
	d, err := r.Set(name)
	if err != nil || change == nil {
		return d, err
	}
	return corrupt.Dataset(d, *change, 0)
}

// adapt gives the network of a model adapted to a cell: to images of the whole test set, which may
// hold some that are certified, too. See adaptedTo.
func (r *Runner) adapt(ctx context.Context, m *recipe.Model, c sweep.Cell) (path string, err error) {
	path = store.AdaptedPath(r.Folder, m, c)
	if modelfile.Exists(path) {
		return path, nil
	}
	start, err := modelfile.Read(store.ModelPath(r.Folder, r.Manifest.Model(m.Start)))
	if err != nil {
		return "", err
	}
	name, change := r.Manifest.ImagesOf(m, c)
	base, _ := tier.CutSelection(name)
	o := settings.Adaptation(m)
	o.Backend = r.Options.Training
	d, err := r.corrupted(tier.Select(base, settings.AdaptedTo(m, c)), change)
	if err != nil {
		return "", err
	}
	images, err := d.Index(ctx, r.progress)
	if err != nil {
		return "", err
	}
	adapted, err := adapt.Run(ctx, start, images, o)
	if err != nil {
		return "", err
	}
	return path, modelfile.Write(path, adapted)
}
