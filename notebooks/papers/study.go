package papers

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/nb"
)

// Study is the grid of pruned networks of Fridovich-Keil et al. 2022 on networks of ours (table
// C/table1), as far as it is trained.
type Study struct {
	Models    lines.Models // recorded
	Mixed     lines.Models // of mixed weights, from mixed.jsonl beside the manifest
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
	for _, path := range nb.Must(filepath.Glob(filepath.Join(folder, "results", "*.record.jsonl"))) {
		s.Models = append(s.Models, nb.Must(lines.Read(path, lines.CSV{}))...)
	}
	nb.Check(s.Models.Check())
	s.Mixed, s.Published = records(folder, "mixed.jsonl"), records(folder, "published.jsonl")
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

// learned are the models without those that collapsed: whose accuracy without shift is below half
// of the dense network's of their architecture and augmentation.
func learned(models lines.Models) (kept lines.Models, collapsed []string) {
	dense := map[string]float64{}
	key := func(m lines.Model) string { return m.Labels["architecture"] + " " + m.Labels["augmentation"] }
	for _, m := range models.Where("method", "dense") {
		dense[key(m)] = max(dense[key(m)], m.Accuracies[clean].Share)
	}
	for _, m := range models {
		if m.Accuracies[clean].Share < dense[key(m)]/2 {
			collapsed = append(collapsed, m.Name)
		} else {
			kept = append(kept, m)
		}
	}
	return kept, collapsed
}

const clean = "cifar10_acc"

// Table is a table of the paper with networks of ours: slope and R² of each predictor, and in brackets as printed.
func (s *Study) Table(g lines.Grouping, printed lines.Published) *nb.Tabular {
	by, left := g.For(s.Models)
	ours, err := lines.Tabulate(s.Models, by, lines.Clip{})
	if err != nil {
		return nb.Facts(g.Title, "no group has three networks of one architecture yet: "+s.State())
	}
	t := nb.Columns(append([]string{"shift", "predictor"}, ours.Groups...)...)
	for _, shift := range ours.Shifts {
		for _, p := range ours.Predictors {
			row := []any{printable.Name(shift), p}
			for _, group := range ours.Groups {
				c, _ := ours.At(shift, p, group)
				cell := lines.Printed(c.Slope) + ", " + lines.Printed(c.R2)
				if at, ok := printed[lines.PublishedKey{Shift: shift, Predictor: p, Group: group}]; ok {
					cell += " (" + at.Slope + ", " + at.R2 + ")"
				}
				row = append(row, strings.ReplaceAll(cell, "-", "−"))
			}
			t.Add(row...)
		}
	}
	_, collapsed := learned(s.Models)
	t.Notes = []string{fmt.Sprintf("Slope and R², in brackets as printed. Ours: %s; severities 1, 3 and 5 of a JPEG "+
		"copy, 500 pairs a path: comparable by sign and order alone. %d networks collapsed, below half the accuracy "+
		"of their dense one. Not in it: %s.", s.State(), len(collapsed), listed(left))}
	return t
}

// Figure is figure 2 or 3 of the paper with networks of ours, with best 10 or 11: all shifts, or some.
func (s *Study) Figure(g lines.Grouping, best bool, shifts ...string) any {
	by, _ := g.For(s.Models)
	if _, err := lines.Tabulate(s.Models, by, lines.Clip{}); err != nil {
		return nb.Facts(g.Title, s.State())
	}
	return nb.LinesBy(s.Models, by, best, shifts...)
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
