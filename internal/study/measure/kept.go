package measure

import (
	"context"
	"fmt"
	"slices"

	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/study"
)

func init() {
	add(90, func() Measure { return &Kept{} })
	study.RegisterMean("kept", study.Share, "kept", func(_, share float64) float64 { return share })
}

// Kept is the share of its clean radius that an image keeps under a corruption, of the images that are
// certified as they are. A radius that grows counts as kept. It certifies what is not certified yet, as
// Radius does, and writes results/MODEL.columns.csv.
type Kept struct {
	tier.Shifts `yaml:",inline"`
}

func (*Kept) Name() string { return "kept" }

func (k *Kept) Jobs(p Place, m *Model) (jobs []Job, err error) {
	cells, err := k.Cells(p.Tier())
	for _, c := range cells {
		jobs = append(jobs, Job{Kind: "certify", Model: m, Part: c.String(), Cell: c})
	}
	for _, c := range cells[min(1, len(cells)):] {
		jobs = append(jobs, Job{Kind: "kept", Model: m, Part: c.String(), Cell: c})
	}
	return jobs, err
}

func (k *Kept) Done(p Place, j Job) (bool, error) {
	if j.Kind == "certify" {
		return Radius{}.Done(p, j)
	}
	columns, err := ReadColumns(p.Result(j.Model, columnsFile), j.Model.Name)
	return columnOf(columns, j.Part, "kept") != nil, err
}

func (k *Kept) Cost(c Costs, j Job) error {
	if j.Kind == "certify" {
		return Radius{}.Cost(c, j)
	}
	return nil
}

func (k *Kept) Run(ctx context.Context, t Tools, j Job) error {
	if j.Kind == "certify" {
		return Radius{}.Run(ctx, t, j)
	}
	clean, err := rs.Open(ledgerOf(t, Job{Model: j.Model}))
	if err != nil {
		return err
	}
	corrupted, err := rs.Open(ledgerOf(t, j))
	if err != nil {
		return err
	}
	c := &study.Column{Key: study.Key{Network: j.Model.Name, Set: j.Part, Name: "kept"}}
	before := map[int]rs.Row{}
	for _, row := range clean.Rows {
		before[row.Image] = row
	}
	rows := slices.SortedFunc(slices.Values(corrupted.Rows), func(a, b rs.Row) int { return a.Image - b.Image })
	for _, row := range rows {
		if was := before[row.Image]; was.Correct() && was.Radius > 0 {
			share := 0.
			if row.Correct() {
				share = min(1, row.Radius/was.Radius)
			}
			c.Images, c.Labels = append(c.Images, row.Image), append(c.Labels, row.Label)
			c.Values, c.Marks = append(c.Values, share), append(c.Marks, "")
		}
	}
	if len(c.Images) == 0 {
		return fmt.Errorf("experiment: %s certifies no clean image of %s, so none can keep its radius", j.Model.Name, j.Part)
	}
	return addColumn(t, j.Model, c)
}

// Shown are its numbers in a table: one for each corruption, over the severities.
func (k *Kept) Shown(t tier.Tier) (what string, sets []string, err error) {
	cells, err := k.Cells(t)
	for _, c := range cells {
		if c != (sweep.Cell{}) && !slices.Contains(sets, c.Corruption) {
			sets = append(sets, c.Corruption)
		}
	}
	return "kept", sets, err
}
