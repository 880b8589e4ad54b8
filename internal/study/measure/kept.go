package measure

import (
	"context"
	"slices"

	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/rs/sweep"
)

func init() { add(90, func() Measure { return &Kept{} }) }

// Kept is the share of its clean radius that an image keeps under a corruption, of the images that are certified as
// they are: it certifies what is not certified yet, as Radius does, and study's quantity kept follows from these
// radii.
type Kept struct {
	tier.Shifts `yaml:",inline"`
}

func (*Kept) Name() string { return "kept" }

func (k *Kept) Jobs(p Place, m *Model) (jobs []Job, err error) {
	cells, err := k.Cells(p.Tier())
	for _, c := range cells {
		jobs = append(jobs, Job{Kind: "certify", Model: m, Part: c.String(), Cell: c})
	}
	return jobs, err
}

func (k *Kept) Done(p Place, j Job) (bool, error) { return Radius{}.Done(p, j) }

func (k *Kept) Cost(c Costs, j Job) error { return Radius{}.Cost(c, j) }

func (k *Kept) Run(ctx context.Context, t Tools, j Job) error { return Radius{}.Run(ctx, t, j) }

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
