package measure

import (
	"context"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/study"
)

func init() { add(30, func() Measure { return new(Agreement) }) }

// Agreement is how often a model answers as the one that the table compares with does, on clean
// images without noise: the predictions of both, image by image, in results/MODEL.predictions.csv. A
// job needs both models.
type Agreement bool

func (*Agreement) Name() string { return "agreement" }

func (*Agreement) Jobs(p Place, m *Model) ([]Job, error) {
	other := p.Reference(m)
	if other == nil || other.Results != "" || other.Test != m.Test { // the last: of other data
		return nil, nil
	}
	return []Job{{Kind: "agree", Model: m, With: []*Model{other}}}, nil
}

func (*Agreement) Done(p Place, j Job) (bool, error) {
	for _, m := range j.models() {
		if of, err := ReadPredictions(p.Result(m, predictionsFile), m.Name); of == nil || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (*Agreement) Cost(c Costs, j Job) error {
	n, err := c.Size(c.Images(j.Model, "agreement"))
	if err != nil {
		return err
	}
	return c.Samples(j.Model, n, n)
}

func (a *Agreement) Run(ctx context.Context, t Tools, j Job) error {
	for _, m := range j.models() {
		if done, err := a.Done(t, Job{Model: m}); done || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		p, err := predict(ctx, t, m)
		if err != nil {
			return err
		}
		if err := keepColumns(t, m, predictionsFile, []*study.Column{p}); err != nil {
			return err
		}
	}
	return nil
}

// predict asks a model about the clean images.
func predict(ctx context.Context, t Tools, m *Model) (*study.Column, error) {
	model, err := t.Open(ctx, m, sweep.Cell{})
	if err != nil {
		return nil, err
	}
	data, err := t.Set(t.Images(m, "agreement"))
	if err != nil {
		return nil, err
	}
	images, err := data.Load(ctx)
	if err != nil {
		return nil, err
	}
	p := &study.Column{Key: study.Key{Network: m.Name, Set: "clean", Name: "class"}, Images: images.IDs,
		Labels: images.Labels, Marks: make([]string, images.Len())}
	const most = 100
	size := min(most, images.Len())
	result := classifier.Result{Classes: make([]int32, size)}
	for start := 0; start < images.Len(); start += size {
		var grid []int16
		for k := range size { // the last batch repeats its last image
			grid = append(grid, images.Grid(min(start+k, images.Len()-1))...)
		}
		if err := model.Classify(ctx, classifier.Batch{N: size, Grid: grid}, &result); err != nil {
			return nil, err
		}
		for k := range min(size, images.Len()-start) {
			p.Values = append(p.Values, float64(result.Classes[k]))
		}
	}
	return p, nil
}

const predictionsFile = ".predictions.csv"

// ReadPredictions reads the classes that a model answers to images, or classifier.Miss; nil where
// the file is not there.
func ReadPredictions(path, network string) (*study.Column, error) {
	columns, err := ReadColumns(path, network)
	return columnOf(columns, "clean", "class"), err
}
