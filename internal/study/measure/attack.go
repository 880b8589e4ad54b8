package measure

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/ood"
)

func init() { add(70, func() Measure { return &Attack{} }) }

// Attack is how well a network's confidence tells foreign images that are attacked from
// its own: files in ood/MODEL, as "certspec ood attack" writes them. Where all networks of a table
// are attacked, each is attacked again from the best points of the others of its data. An image
// whose confidence under attack lies above its bound fails the run.
type Attack struct {
	Sets ForeignData `yaml:"sets" json:"sets"`
	// Among names the networks that give each other their points, where a table of the same
	// networks among others has its own; default none.
	Among string `yaml:"among,omitempty" json:"among,omitempty"`
}

// At fills in the names of the sets.
func (a *Attack) At(s Setting) (Measure, error) {
	sets, err := a.Sets.at(s)
	if a.Among != "" && filepath.Base(a.Among) != a.Among {
		return nil, fmt.Errorf("experiment: attacks among %q; expected a word, which stands in the names of files",
			a.Among)
	}
	return &Attack{sets, a.Among}, err
}

// Foreign are the sets, with what their files are named by.
func (a *Attack) Foreign() ForeignData { return a.Sets.with("", a.Among) }

// TransferJob is the kind of the attacks from the points of other networks.
const TransferJob = "transfer"

func (a *Attack) ending(kind string) string {
	if kind == TransferJob {
		return Suffixed(a.Among, transferEnds)
	}
	return AttackEnds
}

func (*Attack) Name() string { return "attack" }

func (a *Attack) Jobs(p Place, m *Model) ([]Job, error) {
	all := foreignJobs(a.Sets, "attack", m)
	for i := range all {
		all[i].Stage = 1 // they take long: first, all networks have their bounds
	}
	if others := p.Others(m); len(others) > 0 {
		for _, j := range foreignJobs(a.Sets, TransferJob, m) {
			j.With, j.Stage = others, 2
			all = append(all, j)
		}
	}
	return all, nil
}

func (a *Attack) Done(p Place, j Job) (bool, error) {
	f, _ := a.Foreign().Set(j.Model.Data, j.Part)
	open, err := Unfinished(p.At(ScoresPath(f, j.Model.Slug, j.Part, a.ending(j.Kind))))
	if !open || err != nil {
		return !open, err
	}
	kept, err := ReadSetAreas(f, p.At(), j.Model.Data, j.Part)
	n := kept.Network(j.Model.Name)
	return n != nil && n.Attack != nil && (n.Transfer || j.Kind != TransferJob), err
}

func (a *Attack) Cost(c Costs, j Job) error {
	f, at := a.Foreign().Set(j.Model.Data, j.Part)
	n, err := c.Size(tier.Select(f.Images[at], f.Attack))
	if err != nil {
		return err
	}
	t := c.Tier().Adversary
	o := ood.AttackOptions{Attacks: t.Attacks, Steps: t.Steps, Restarts: t.Restarts, Monotone: t.Monotone}
	transfers := 0
	if j.Kind == TransferJob {
		o.Attacks, transfers = []string{}, len(j.With)
		if t.Transfer > 0 {
			transfers = min(transfers, t.Transfer)
		}
	}
	points, err := o.Evaluations(mostClasses, transfers)
	if err != nil {
		return err
	}
	return c.Layers(j.Model, n*float64(points))
}

func (a *Attack) Run(ctx context.Context, t Tools, j Job) error {
	f, at := a.Foreign().Set(j.Model.Data, j.Part)
	n, run, err := layersOf(ctx, t, j.Model)
	if err != nil {
		return err
	}
	data, err := t.Set(tier.Select(f.Images[at], f.Attack))
	if err != nil {
		return err
	}
	path := func(m *Model, ending string) string { return t.At(ScoresPath(f, m.Slug, j.Part, ending)) }
	s := t.Tier().Adversary
	o := ood.AttackOptions{Epsilon: f.Epsilon, Near: f.Near, Attacks: s.Attacks, Steps: s.Steps, Restarts: s.Restarts,
		Monotone: s.Monotone, File: path(j.Model, a.ending(j.Kind)), Name: run.Name, Trained: run.Trained,
		Program: run.Program, Progress: run.Progress}
	if j.Kind == TransferJob {
		o.Attacks, o.BestTransfer = []string{}, s.Transfer
		for _, other := range j.With {
			o.Transfer = append(o.Transfer, path(other, PointsEnds))
		}
	} else {
		o.Points = path(j.Model, PointsEnds)
	}
	attacked, err := ood.Attack(ctx, n, data, o)
	if err != nil {
		return err
	}
	bound, err := ReadScores(path(j.Model, BoundEnds))
	if err != nil || bound == nil {
		return err
	}
	return ood.Ordered(bound, attacked)
}
