package experiment

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/ood"
)

// adversaryMeasure is how well a network's confidence tells foreign images that are attacked from
// its own: files in ood/MODEL, as "certspec ood attack" writes them. Where all networks of a table
// are attacked, each is attacked again from the best points of the others of its data. An image
// whose confidence under attack lies above its bound fails the run.
type adversaryMeasure struct {
	Sets foreignData `yaml:"sets" json:"sets"`
	// Among names the networks that give each other their points, where a table of the same
	// networks among others has its own; default none.
	Among string `yaml:"among,omitempty" json:"among,omitempty"`
}

func (a *adversaryMeasure) at(s *Setup) (Measure, error) {
	sets, err := a.Sets.at(s)
	if a.Among != "" && filepath.Base(a.Among) != a.Among {
		return nil, fmt.Errorf("experiment: attacks among %q; expected a word, which stands in the names of files",
			a.Among)
	}
	return &adversaryMeasure{sets, a.Among}, err
}

func (a *adversaryMeasure) foreign() foreignData { return a.Sets.with("", a.Among) }

const transferJob = "transfer"

func (a attackJobs) Jobs(p *Place, m *Model) ([]Job, error) {
	all := foreignJobs(a.Sets, "attack", m)
	for i := range all {
		all[i].stage = 1 // they take long: first, all networks have their bounds
	}
	var others []*Model
	for _, l := range p.table.Lines {
		for _, name := range l.Models {
			if o := p.Manifest.Model(name); o.Data == m.Data && name != m.Name && o.Adapt == nil && o.Results == "" {
				others = append(others, o)
			}
		}
	}
	if len(others) > 0 {
		for _, j := range foreignJobs(a.Sets, transferJob, m) {
			j.With, j.stage = others, 2
			all = append(all, j)
		}
	}
	return all, nil
}

// ending is that of the file of a kind of job.
func (a *adversaryMeasure) ending(kind string) string {
	if kind == transferJob {
		return suffixed(a.Among, transferEnds)
	}
	return attackEnds
}

func (a attackJobs) Done(p *Place, j Job) (bool, error) {
	f, _ := a.foreign().of(j.Model.Data, j.Part)
	open, err := unfinished(foreignFile(f, p.Folder, j.Model, j.Part, a.ending(j.Kind)))
	if !open || err != nil {
		return !open, err
	}
	kept, err := areasOf(f, p.Folder, j.Model.Data, j.Part)
	n := kept.of(j.Model.Name)
	return n != nil && n.Attack != nil && (n.Transfer || j.Kind != transferJob), err
}

func (a attackRunner) Do(ctx context.Context, r *Runner, j Job) error {
	f, at := a.foreign().of(j.Model.Data, j.Part)
	n, run, err := r.network(ctx, j.Model)
	if err != nil {
		return err
	}
	data, err := r.set(with(f.Images[at], f.Attack))
	if err != nil {
		return err
	}
	t := r.Manifest.Tier.Adversary
	run.File = foreignFile(f, r.Folder, j.Model, j.Part, a.ending(j.Kind))
	o := ood.AttackOptions{Epsilon: f.Epsilon, Near: f.Near, Attacks: t.Attacks, Steps: t.Steps, Restarts: t.Restarts,
		Monotone: t.Monotone, Run: run}
	if j.Kind == transferJob {
		o.Attacks, o.BestTransfer = []string{}, t.Transfer
		for _, other := range j.With {
			o.Transfer = append(o.Transfer, foreignFile(f, r.Folder, other, j.Part, pointsEnds))
		}
	} else {
		o.Points = foreignFile(f, r.Folder, j.Model, j.Part, pointsEnds)
	}
	attacked, err := ood.Attack(ctx, n, data, o)
	if err != nil {
		return err
	}
	bound, err := closed(foreignFile(f, r.Folder, j.Model, j.Part, boundEnds))
	if err != nil || bound == nil {
		return err
	}
	return ood.Ordered(bound, attacked)
}

func (a attackJobs) Cost(c *Costs, j Job) error {
	f, at := a.foreign().of(j.Model.Data, j.Part)
	n, err := c.Size(with(f.Images[at], f.Attack))
	if err != nil {
		return err
	}
	t := c.Manifest.Tier.Adversary
	o := ood.AttackOptions{Attacks: t.Attacks, Steps: t.Steps, Restarts: t.Restarts, Monotone: t.Monotone}
	transfers := 0
	if j.Kind == transferJob {
		o.Attacks, transfers = []string{}, len(j.With)
		if t.Transfer > 0 {
			transfers = min(transfers, t.Transfer)
		}
	}
	points, err := o.Evaluations(classes, transfers)
	if err != nil {
		return err
	}
	return c.Layers(j.Model, n*float64(points))
}

// classes are as many as most sets have.
const classes = 10

func (a attackReader) Fill(f *TableBuilder, out *Filled) ([]string, error) {
	if err := tellAll(a.foreign(), f, out, "attack", func(n *networkAreas) *separation { return n.Attack }); err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("Attacked: each foreign image is moved in its ball to where the network is most "+
		"sure, the most of all attacks (%v), and of monotone PGD from points found on the other networks of the "+
		"table where their files are there; images %s. AUC and GAUC are of the same images.", f.Manifest.Tier.Adversary,
		f.Manifest.Tier.Images["attack"])}, nil
}

func (a attackReader) Tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table,
	string)) {
	t := &table.Table{Columns: append(slices.Clone(columns), "foreign", "networks", "images", "AUC", "AAUC",
		"with ties", "low", "high", "GAUC", "mean under attack, %")}
	for _, l := range f.Lines {
		all, _ := l.Found["attack"].([]*told)
		for _, of := range all {
			row := append(append(head(l), of.Set, of.Models, of.Images, percent(of.AUC.Conservative)),
				areaCells(&of.WorstAUC)...)
			guaranteed := any(table.None)
			if of.BoundAUC != nil {
				guaranteed = percent(of.BoundAUC.Conservative)
			}
			t.Rows = append(t.Rows, append(row, guaranteed, percent(of.Worst)))
		}
	}
	if len(t.Rows) > 0 {
		add(t, "own images against attacked foreign ones, in percent")
	}
}
