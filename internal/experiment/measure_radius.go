package experiment

import (
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/internal/gomlxmodels/adapt"
	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/preflight"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/rs/sweep"
)

// radiusMeasure is the certified radius of clean and corrupted images: a ledger for each cell, and of all of them
// results/MODEL.csv.
type radiusMeasure struct {
	Clean  bool     `yaml:"clean,omitempty" json:"clean,omitempty"`   // measured with sweeps, too
	Sweeps []string `yaml:"sweeps,omitempty" json:"sweeps,omitempty"` // families of corruptions: C, C-bar, F
	// a column for each corruption, not only for the groups
	Detail bool `yaml:"detail,omitempty" json:"detail,omitempty"`
}

const certifyJob = "certify"

func (m radiusJobs) Jobs(p *Place, model *Model) (jobs []Job, err error) {
	cells, err := p.Manifest.Tier.Cells(m.radiusMeasure)
	for _, c := range cells {
		jobs = append(jobs, Job{Kind: certifyJob, Model: model, Part: c.String(), cell: c})
	}
	return jobs, err
}

func (radiusJobs) Done(p *Place, j Job) (bool, error) {
	if closed, err := isClosed(ledgerPath(p.Folder, j.Model, j.cell)); closed || err != nil {
		return closed, err
	}
	radii, err := readRadii(p.Result(j.Model, ".csv"))
	return err == nil && radii.Outcomes(j.Part) != nil, err
}

func (radiusJobs) Cost(c *Costs, j Job) error {
	name, _ := c.Manifest.imagesOf(j.Model, j.cell)
	n, err := c.Size(name)
	if err != nil {
		return err
	}
	return c.Certify(j.Model, n, c.Manifest.Tier.Certify.Options(j.Model.Noise()))
}

func (m radiusReader) Fill(f *TableBuilder, out *Filled) (notes []string, err error) {
	if !m.Clean && len(m.Sweeps) == 0 {
		return nil, nil
	}
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	tier := f.Manifest.Tier
	c := tier.Certify
	note("Certified by the %s rule with at most %d noise samples of an image, α = %g, on the images %s.", c.Rule, c.N,
		cmp.Or(c.Alpha, 0.001), tier.clean(f.kind(out)))
	for k, m := range out.Metrics {
		if m.Name != "clean" && m.Main {
			for _, l := range out.Lines {
				if l.Values[k] != nil {
					note("%s: %d images in each of %d cells.", m.Name, l.Values[k].Images, len(m.Cells))
					break
				}
			}
		}
	}
	if len(m.Sweeps) > 0 {
		frost := slices.ContainsFunc(out.Metrics, func(m Metric) bool {
			return slices.ContainsFunc(m.Cells, func(cell string) bool { return strings.HasPrefix(cell, "frost-") })
		})
		note("%s", f.corruptions(frost))
		if few := tier.Corrupted.Corruptions; len(few) > 0 {
			note("Of C and C-bar there are %s alone, at severity %v.", strings.Join(few, ", "),
				tier.Corrupted.Severities)
		}
	}
	b := f.bootstrap
	note("Low and high: %g %% intervals of the mean over the seeds. Images are drawn again (%d resamples, seed "+
		"%d); seeds, where there are two or more, are left out in turn and add Student's t. Of one seed they are "+
		"for this network. Differences are paired by image. Least and largest are over the seeds.",
		100*b.Confidence, b.Resamples, b.Seed)
	return notes, f.differences(out)
}

func (radiusReader) Tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table, string)) {
	if len(f.Metrics) > 0 {
		add(f.radii(columns, head), "")
		add(f.differences(columns, head), "main figures, with differences from "+f.Compare)
		if t := f.shares(columns, head); t != nil {
			add(t, "images by the share of noise samples in the certified class")
		}
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
	t := &table.Table{Columns: append(slices.Clone(columns), "figure", "seeds", "mean", "least", "largest", "low",
		"high", "difference", "its low", "its high", "p")}
	var shown []*compare.Difference
	for k, m := range f.Metrics {
		for _, l := range f.Lines {
			if v := l.Values[k]; m.Main && v != nil {
				shown = append(shown, v.Difference)
			}
		}
	}
	corrected, notes := together(f.confidence, shown)
	t.Notes = notes
	for k, m := range f.Metrics {
		if !m.Main {
			continue
		}
		for _, l := range f.Lines {
			row := append(head(l), m.Name)
			v := l.Values[k]
			if v == nil {
				row = append(row, 0)
				for range 9 {
					row = append(row, table.None)
				}
				t.Rows = append(t.Rows, row)
				continue
			}
			row = append(row, v.Seeds, rounded(v.Mean, 4), rounded(v.Low, 4), rounded(v.High, 4),
				rounded(v.Interval.Low, 4), rounded(v.Interval.High, 4))
			t.Rows = append(t.Rows, append(row, differenceCells(v.Difference, corrected)...))
		}
	}
	return t
}

// Do certifies the images of a cell.
func (radiusRunner) Do(ctx context.Context, r *Runner, j Job) error {
	name, change := r.Manifest.imagesOf(j.Model, j.cell)
	images, err := r.corrupted(name, change)
	if err != nil {
		return err
	}
	path := r.Weights(j.Model)
	if j.Model.Adapt != nil {
		if path, err = r.adapt(ctx, j.Model, j.cell); err != nil {
			return err
		}
	}
	model, err := r.open(path, j.Model)
	if err != nil {
		return err
	}
	o := r.Manifest.Tier.Certify.Options(j.Model.Noise())
	o.Ledger, o.Progress = ledgerPath(r.Folder, j.Model, j.cell), r.progress
	clean, _ := r.Manifest.imagesOf(j.Model, sweep.Cell{})
	if o.Witness, err = r.look(ctx, model, clean, o); err != nil {
		return err
	}
	_, err = rs.Certify(ctx, model, images, o)
	return err
}

// look looks a model over before it certifies first: whether it is a function of one image, and how it does. The
// images are clean ones, so that the first answers are about the same ones wherever the experiment goes on.
func (r *Runner) look(ctx context.Context, m classifier.Classifier, on string, o rs.Options) (*purity.Witness, error) {
	of := r.opened + " on " + on
	if r.looked == of {
		return r.witness, nil
	}
	images, err := r.set(on)
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
		r.say("warning: %s: %s", r.opened, warning)
	}
	r.looked, r.witness = of, first.Witness
	return first.Witness, nil
}

// corrupted opens a data set and corrupts it, where there is a change.
func (r *Runner) corrupted(name string, change *corrupt.Setting) (*dataset.Dataset, error) {
	d, err := r.set(name)
	if err != nil || change == nil {
		return d, err
	}
	return corrupt.Dataset(d, *change, 0)
}

// adaptedTo is the selection of images that a network adapts to: drawn at random for each cell,
// without their labels (Sun et al. 2021, appendix G); class-balanced in a folder that was begun so.
func (m *Model) adaptedTo(c sweep.Cell) string {
	o := m.adaptation()
	if m.Adapt.Sample != randomSample {
		return fmt.Sprintf("count=%d", o.Images)
	}
	return fmt.Sprintf("random=%d:%d", o.Images, crc32.ChecksumIEEE(fmt.Appendf(nil, "%d %s", o.Seed, c)))
}

// adapt gives the network of a model adapted to a cell: to images of the whole test set, which may
// hold some that are certified, too. See adaptedTo.
func (r *Runner) adapt(ctx context.Context, m *Model, c sweep.Cell) (path string, err error) {
	path = adaptedPath(r.Folder, m, c)
	if modelfile.Exists(path) {
		return path, nil
	}
	start, err := modelfile.Read(r.Weights(r.Manifest.Model(m.Start)))
	if err != nil {
		return "", err
	}
	name, change := r.Manifest.imagesOf(m, c)
	base, _ := cutSelection(name)
	o := m.adaptation()
	o.Backend = r.options.Training
	d, err := r.corrupted(with(base, m.adaptedTo(c)), change)
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

// adaptImages is how many images a network adapts to (Sun et al. 2021, appendix G).
const adaptImages = 500
