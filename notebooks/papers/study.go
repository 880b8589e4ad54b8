package papers

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/certspec/certspec/internal/experiment/claims"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/nb"
)

// Study is the grid of pruned networks of Fridovich-Keil et al. 2022 on networks of ours (table
// C/table1), as far as it is trained.
type Study struct {
	Models    lines.Models // recorded
	Published lines.Models // of networks of others, measured on the same images, from published.jsonl
	Tier      string
	planned   []string // names of all models
	failed    []store.Failure
}

// OpenStudy reads the folder of an experiment: its manifest and results/*.record.jsonl. A folder
// that is not there is an empty study.
func OpenStudy(folder string) *Study {
	s := &Study{}
	m, err := store.ReadManifest(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return s
	}
	s.Tier = nb.Must(m, err).Tier.Name
	s.failed = nb.Must(m.Failures(folder))
	for _, model := range m.Models {
		s.planned = append(s.planned, model.Name)
	}
	s.Models = nb.Must(claims.Records(folder))
	s.Published = records(folder, "published.jsonl")
	return s
}

// State says in words how much of the study is there.
func (s *Study) State() string {
	switch {
	case s.planned == nil:
		return "not here yet; results/experiments/README.md has the command"
	case !s.complete():
		return fmt.Sprintf("PARTIAL: %d of %d networks, tier %s", len(s.Models), len(s.planned), s.Tier)
	case len(s.failed) > 0:
		return fmt.Sprintf("complete: %d of %d networks, tier %s; pruning leaves nothing of a layer of the other %d",
			len(s.Models), len(s.planned), s.Tier, len(s.failed))
	}
	return fmt.Sprintf("complete: %d networks, tier %s", len(s.planned), s.Tier)
}

// complete reports whether all networks are there that can be made.
func (s *Study) complete() bool {
	return s.planned != nil && len(s.Models)+len(s.failed) == len(s.planned)
}

const clean = "cifar10_acc"

// Figure is figure 2 or 3 of the paper with networks of ours, with best 10 or 11: all shifts, or some.
func (s *Study) Figure(g lines.Grouping, best bool, shifts ...string) any {
	by, _ := g.For(s.Models)
	if _, err := lines.Tabulate(s.Models, by, lines.Clip{}); err != nil {
		return nb.Facts(g.Title, s.State())
	}
	return nb.LinesBy(s.Models, by, best, shifts...)
}
