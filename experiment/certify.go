package experiment

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/adapt"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/preflight"
	"github.com/certspec/certspec/rs/sweep"
)

// certify certifies the images of a cell.
func (r *runner) certify(ctx context.Context, j Job) error {
	name, change := r.Manifest.imagesOf(j.Model, j.Cell)
	images, err := r.corrupted(name, change)
	if err != nil {
		return err
	}
	path := modelPath(r.options.Folder, j.Model)
	if j.Model.Adapt != nil {
		if path, err = r.adapt(ctx, j.Model, j.Cell); err != nil {
			return err
		}
	}
	model, err := r.open(path, j.Model)
	if err != nil {
		return err
	}
	o := r.Manifest.Tier.Certify.Options(j.Model.Noise())
	o.Ledger, o.Progress = ledgerPath(r.options.Folder, j.Model, j.Cell), r.progress
	if err := r.look(ctx, path, model, images, o); err != nil {
		return err
	}
	_, err = rs.Certify(ctx, model, images, o)
	return err
}

// look looks a model over before its first cell: whether it is a function of one image, and how it does.
func (r *runner) look(ctx context.Context, path string, model classifier.Classifier, images *dataset.Dataset, o rs.Options) error {
	if r.looked == path {
		return nil
	}
	loaded, err := images.Load(ctx)
	if err != nil {
		return err
	}
	first, err := preflight.Look(ctx, model, loaded, preflight.UseOf(o))
	if err != nil {
		return err
	}
	for _, warning := range first.Warnings {
		r.say("warning: %s: %s", path, warning)
	}
	r.looked = path
	return nil
}

// corrupted opens a data set and corrupts it, where there is a change.
func (r *runner) corrupted(name string, change *corrupt.Setting) (*dataset.Dataset, error) {
	d, err := r.set(name)
	if err != nil || change == nil {
		return d, err
	}
	return corrupt.Dataset(d, *change, 0)
}

// adapt gives the network of a model adapted to a cell: to a class-balanced sample of the whole test set, which may hold images
// that are certified, too.
func (r *runner) adapt(ctx context.Context, m *Model, c sweep.Cell) (path string, err error) {
	path = adaptedPath(r.options.Folder, m, c)
	if modelfile.Exists(path) {
		return path, nil
	}
	start, err := modelfile.Read(modelPath(r.options.Folder, r.Manifest.model(m.Start)))
	if err != nil {
		return "", err
	}
	name, change := r.Manifest.imagesOf(m, c)
	base, _ := cutSelection(name)
	o := m.adaptation()
	o.Backend = r.options.Training
	d, err := r.corrupted(with(base, fmt.Sprintf("count=%d", o.Images)), change)
	if err != nil {
		return "", err
	}
	images, err := d.Load(ctx)
	if err != nil {
		return "", err
	}
	adapted, err := adapt.Run(ctx, start, images, o)
	if err != nil {
		return "", err
	}
	return path, modelfile.Write(path, adapted)
}

// adaptImages is how many images a network adapts to (Sun et al. 2021, appendix G).
const adaptImages = 500
