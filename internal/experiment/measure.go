package experiment

import (
	"context"
	"slices"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/sweep"
)

// Place is the folder of an experiment with one of its tables.
type Place struct {
	Folder   string
	Manifest *Manifest
	table    *madeTable
}

// Weights is where the network of a model lies, or will: see engine.Open.
func (p *Place) Weights(m *Model) string { return modelPath(p.Folder, m) }

// Result is where a result of a model lies, or will: results/MODEL with a suffix such as ".agreement.csv".
func (p *Place) Result(m *Model, suffix string) string { return resultPath(p.Folder, m, suffix) }

// Images names the images that a measure takes of a model's test set: those that the tier says for
// its key under images, else its clean ones.
func (p *Place) Images(m *Model, key string) string {
	selection, ok := p.Manifest.Tier.Images[key]
	if !ok {
		selection = p.Manifest.Tier.clean(m.Data)
	}
	return with(m.Test, selection)
}

// Reference is the model that stands beside another in the line that the table compares with: that
// of the same place among the seeds, or the last; nil where there is none.
func (p *Place) Reference(m *Model) *Model {
	line := p.table.reference()
	if line == nil {
		return nil
	}
	place := 0
	for _, l := range p.table.Lines {
		if i := slices.Index(l.Models, m.Name); i >= 0 {
			place = i
		}
	}
	return p.Manifest.Model(line.Models[min(place, len(line.Models)-1)])
}

// Runner does jobs.
type Runner struct {
	*opener
	experiment *Experiment
	looked     string          // path of the model that was looked over last, and on which images
	witness    *purity.Witness // its first answers
	at         int             // jobs begun
}

// Open opens the network of a model, where it is adapted to each corruption that for clean images.
// It stays open until another is opened.
func (r *Runner) Open(ctx context.Context, m *Model) (*engine.Model, error) {
	path, err := r.path(ctx, m)
	if err != nil {
		return nil, err
	}
	return r.open(path, m)
}

// path is where the network of a model lies, where it is adapted to each corruption that for clean images.
func (r *Runner) path(ctx context.Context, m *Model) (string, error) {
	if m.Adapt != nil {
		return r.adapt(ctx, m, sweep.Cell{})
	}
	return r.Weights(m), nil
}

// Load loads the images of a set by its name; see dataset.Open.
func (r *Runner) Load(ctx context.Context, name string) (*dataset.Images, error) {
	d, err := r.set(name)
	if err != nil {
		return nil, err
	}
	return d.Load(ctx)
}

// Keep writes a result of a model, whole or not at all, and its digest beside it.
// A file that is changed later is refused.
func (r *Runner) Keep(m *Model, suffix string, text []byte) error {
	return keep(r.Result(m, suffix), text)
}

// Training names the engine for what needs gradients; see gomlxmodels/backend.
func (r *Runner) Training() string { return r.options.Training }

// Progress reports how far a job is.
func (r *Runner) Progress(s progress.State) { r.progress(s) }

// TableBuilder reads what a folder holds of a table.
type TableBuilder struct {
	Place
	ctx       context.Context // of the call of Fill that it lives for
	bootstrap resample.Options
	origins   map[string]origin // by model
}

// Interval is that of the mean of values by seed and image: over the images, and over the seeds, too, where there
// are two or more; see resample.Crossed.
func (f *TableBuilder) Interval(values [][]float64) (resample.Interval, error) {
	found, err := meanInterval(f.ctx, values, f.bootstrap)
	return found.Interval, err
}
