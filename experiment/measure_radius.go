package experiment

import (
	"context"
	"fmt"
	"slices"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/adapt"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/preflight"
	"github.com/certspec/certspec/rs/sweep"
)

// radiusMeasure is the certified radius of clean and corrupted images: a ledger for each cell, and of all of them
// results/MODEL.csv.
type radiusMeasure struct{}

func (radiusMeasure) kind() jobKind { return certifyJob }

func (radiusMeasure) jobs(m *Manifest, t *madeTable, model *Model) (jobs []job, err error) {
	cells, err := m.Tier.Cells(t.Measure)
	for _, c := range cells {
		jobs = append(jobs, job{Model: model, Cell: c})
	}
	return jobs, err
}

func (radiusMeasure) done(m *Manifest, folder string, j job) (bool, error) {
	if closed, err := isClosed(ledgerPath(folder, j.Model, j.Cell)); closed || err != nil {
		return closed, err
	}
	radii, err := readRadii(resultPath(folder, j.Model, ".csv"))
	return err == nil && radii.Outcomes(j.Cell.String()) != nil, err
}

func (radiusMeasure) do(ctx context.Context, r *runner, j job) error { return r.certify(ctx, j) }

func (radiusMeasure) cost(c costs, j job) error {
	name, _ := c.Manifest.imagesOf(j.Model, j.Cell)
	n, err := c.size(name)
	if err != nil {
		return err
	}
	return c.certify(j.Model, n, c.Manifest.Tier.Certify.Options(j.Model.Noise()))
}

func (radiusMeasure) fill(f *filler, out *Filled) error { return f.differences(out) }

func (radiusMeasure) tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table, string)) {
	if len(f.Metrics) > 0 {
		add(f.radii(columns, head), "")
		add(f.differences(columns, head), "main figures, with differences from "+f.Compare)
	}
}

func (f *Filled) radii(columns []string, head func(FilledLine) []any) *table.Table {
	t := &table.Table{Columns: columns}
	for _, m := range f.Metrics {
		t.Columns = append(t.Columns, m.Name)
	}
	for _, l := range f.Lines {
		row := head(l)
		for _, v := range l.Values {
			if v == nil {
				row = append(row, table.None)
			} else {
				row = append(row, rounded(v.Mean, 3))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// differences has a line for each model and main figure.
func (f *Filled) differences(columns []string, head func(FilledLine) []any) *table.Table {
	t := &table.Table{Columns: append(slices.Clone(columns), "figure", "seeds", "mean", "least", "largest", "low", "high", "difference", "its low", "its high")}
	for k, m := range f.Metrics {
		if !m.Main {
			continue
		}
		for _, l := range f.Lines {
			row := append(head(l), m.Name)
			v := l.Values[k]
			if v == nil {
				row = append(row, 0)
				for range 8 {
					row = append(row, table.None)
				}
				t.Rows = append(t.Rows, row)
				continue
			}
			row = append(row, v.Seeds, rounded(v.Mean, 4), rounded(v.Low, 4), rounded(v.High, 4), rounded(v.Interval.Low, 4), rounded(v.Interval.High, 4))
			t.Rows = append(t.Rows, append(row, difference(v.Difference)...))
		}
	}
	return t
}

// certify certifies the images of a cell.
func (r *runner) certify(ctx context.Context, j job) error {
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
