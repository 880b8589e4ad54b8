package run

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/ood"
)

func (r *Runner) attack(ctx context.Context, j plan.Job) error {
	a := j.Measure.(*recipe.Attack)
	f, at := a.Foreign().Set(j.Model.Data, j.Part)
	n, run, err := r.network(ctx, j.Model)
	if err != nil {
		return err
	}
	data, err := r.Set(recipe.Select(f.Images[at], f.Attack))
	if err != nil {
		return err
	}
	t := r.Manifest.Tier.Adversary
	run.File = store.ScoresPath(f, r.Folder, j.Model, j.Part, a.Ending(j.Kind))
	o := ood.AttackOptions{Epsilon: f.Epsilon, Near: f.Near, Attacks: t.Attacks, Steps: t.Steps, Restarts: t.Restarts,
		Monotone: t.Monotone, File: run.File, Name: run.Name, Trained: run.Trained, Program: run.Program,
		Progress: run.Progress}
	if j.Kind == recipe.TransferJob {
		o.Attacks, o.BestTransfer = []string{}, t.Transfer
		for _, other := range j.With {
			o.Transfer = append(o.Transfer, store.ScoresPath(f, r.Folder, other, j.Part, recipe.PointsEnds))
		}
	} else {
		o.Points = store.ScoresPath(f, r.Folder, j.Model, j.Part, recipe.PointsEnds)
	}
	attacked, err := ood.Attack(ctx, n, data, o)
	if err != nil {
		return err
	}
	bound, err := store.ReadScores(store.ScoresPath(f, r.Folder, j.Model, j.Part, recipe.BoundEnds))
	if err != nil || bound == nil {
		return err
	}
	return ood.Ordered(bound, attacked)
}

func (r *Runner) bound(ctx context.Context, j plan.Job) error {
	b := j.Measure.(*recipe.Bound)
	f, at := b.Foreign().Set(j.Model.Data, j.Part)
	n, run, err := r.network(ctx, j.Model)
	if err != nil {
		return err
	}
	type measured struct {
		file, data string
		epsilon    float64
		method     feedforward.Method
		arithmetic feedforward.Arithmetic
	}
	all := []measured{
		{store.OwnScoresPath(r.Folder, j.Model), r.OwnImages(j.Model), 0, "", ""},
		{store.ScoresPath(f, r.Folder, j.Model, j.Part, recipe.BoundEnds), f.Images[at],
			f.Epsilon, feedforward.IBP, ""},
	}
	if f.Bounds() != "" {
		all = append(all, measured{store.ScoresPath(f, r.Folder, j.Model, j.Part, f.BoundEnding()),
			recipe.Select(f.Images[at], b.Images), f.Epsilon, b.BoundMethod(), b.Arithmetic})
	}
	for _, what := range all {
		data, err := r.Set(what.data)
		if err != nil {
			return err
		}
		o := run
		o.File, o.Epsilon, o.Method, o.Arithmetic = what.file, what.epsilon, what.method, what.arithmetic
		m, err := ood.Measure(ctx, n, data, o)
		if err != nil {
			return err
		}
		if nan := m.Claims.NaN; nan > 0 {
			return fmt.Errorf("experiment: %s: %d of %d confidences on %s are not numbers", j.Model.Name, nan,
				len(m.Lines), what.data)
		}
	}
	return nil
}

// network opens a model as layers.
func (r *Runner) network(ctx context.Context, m *recipe.Model) (*feedforward.Network, ood.Options, error) {
	model, err := r.Open(ctx, m)
	if err != nil {
		return nil, ood.Options{}, err
	}
	n, err := model.FeedForward(ctx)
	return n, ood.Options{Name: m.Name, Trained: model.Trained(), Program: r.Options.Program, Progress: r.progress}, err
}
