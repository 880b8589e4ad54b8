package measure

import (
	"cmp"
	"context"
	"slices"

	"github.com/certspec/certspec/internal/evaluate"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/rs/sweep"
)

func init() { add(50, func() Measure { return &Evaluate{} }) }

// Evaluate is the plain accuracy of a model, without noise, on clean images and under corruptions, in
// results/MODEL.evaluate.json, with the predictions in predictions/CORRUPTION/SEVERITY/MODEL.npy.
type Evaluate struct {
	tier.Shifts `yaml:",inline"`
}

// EvaluateFile ends the name of its results.
const EvaluateFile = ".evaluate.json"

// Evaluated is a set with its right answers.
type Evaluated struct {
	Set    string `json:"set"` // clean, or a corruption with its severities together
	Right  int    `json:"right"`
	Images int    `json:"images"`
}

// Share is the accuracy.
func (e Evaluated) Share() float64 { return float64(e.Right) / float64(e.Images) }

func (*Evaluate) Name() string { return "evaluate" }

func (*Evaluate) Jobs(_ Place, m *Model) ([]Job, error) {
	return []Job{{Kind: "evaluate", Model: m}}, nil
}

func (*Evaluate) Done(p Place, j Job) (bool, error) {
	var found []Evaluated
	return ReadJSON(p.Result(j.Model, EvaluateFile), &found)
}

func (e *Evaluate) Cost(c Costs, j Job) error {
	cells, err := e.Cells(c.Tier())
	if err != nil {
		return err
	}
	n, err := c.Size(c.Images(j.Model, "evaluate"))
	if err != nil {
		return err
	}
	return c.Samples(j.Model, n*float64(len(cells)), n*float64(len(cells)))
}

func (e *Evaluate) Run(ctx context.Context, t Tools, j Job) error {
	cells, err := e.Cells(t.Tier())
	if err != nil {
		return err
	}
	model, err := t.Open(ctx, j.Model, sweep.Cell{})
	if err != nil {
		return err
	}
	data, err := t.Set(t.Images(j.Model, "evaluate"))
	if err != nil {
		return err
	}
	done, err := evaluate.Run(ctx, model, data, evaluate.Options{Cells: cells, Name: j.Model.Slug,
		Folder: t.At("predictions"), Progress: t.Report})
	if err != nil {
		return err
	}
	var found []Evaluated
	for _, c := range done {
		name := cmp.Or(c.Cell.Corruption, c.Cell.String())
		k := slices.IndexFunc(found, func(o Evaluated) bool { return o.Set == name })
		if k < 0 {
			k = len(found)
			found = append(found, Evaluated{Set: name})
		}
		found[k].Right, found[k].Images = found[k].Right+c.Right, found[k].Images+c.Images
	}
	return keepJSON(t, t.Result(j.Model, EvaluateFile), found)
}
