package run

import (
	"context"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/gomlxmodels/adapt"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/sweep"
)

// certify certifies the images of a cell.
func (r *Runner) certify(ctx context.Context, j plan.Job) error {
	name, change := r.Manifest.ImagesOf(j.Model, j.Cell)
	images, err := r.corrupted(name, change)
	if err != nil {
		return err
	}
	path := store.ModelPath(r.Folder, j.Model)
	if j.Model.Adapt != nil {
		if path, err = r.adapt(ctx, j.Model, j.Cell); err != nil {
			return err
		}
	}
	model, err := r.OpenAt(path, j.Model)
	if err != nil {
		return err
	}
	o := r.Manifest.Tier.Certify.Options(j.Model.Noise())
	o.Ledger, o.Progress = store.LedgerPath(r.Folder, j.Model, j.Cell), r.progress
	clean, _ := r.Manifest.ImagesOf(j.Model, sweep.Cell{})
	if ctx, err = r.look(ctx, model, clean, o); err != nil {
		return err
	}
	_, err = rs.Certify(ctx, model, images, o)
	return err
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
	base, _ := recipe.CutSelection(name)
	o := m.Adaptation()
	o.Backend = r.Options.Training
	d, err := r.corrupted(recipe.Select(base, m.AdaptedTo(c)), change)
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
