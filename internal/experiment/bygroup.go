package experiment

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/sweep"
)

// GroupRadius is the average certified radius of a line over the corruptions of a frequency group
// at one severity (Sun et al. 2021, figure 4), the mean over its seeds.
type GroupRadius struct {
	Title    string            `json:"title"`
	Group    string            `json:"group"` // "clean", or that of package corrupt: low, mid, high
	Severity int               `json:"severity"`
	ACR      float64           `json:"acr"`
	Interval resample.Interval `json:"interval"`
}

// ByGroup are the radii of all lines of a table under CIFAR-10-C and its like, by frequency group
// at a severity, and clean. Lines and groups of which a cell is missing are left out.
//
// Errors: those of Fill; a severity at which no line has a whole group.
func ByGroup(ctx context.Context, folder, name string, severity int, o resample.Options) (all []GroupRadius,
	err error) {
	f, err := newTableBuilder(ctx, folder, name, o)
	if err != nil {
		return nil, err
	}
	groups := append([]corrupt.Members{{Name: "clean"}}, corrupt.Groups[:3]...) // by frequency
	found := false
	for _, l := range f.table.Lines {
		radii, roots := map[uint64]*Radii{}, map[uint64]string{}
		for _, model := range l.Models {
			m := f.Manifest.Model(model)
			k, err := f.Manifest.keptOf(f.Folder, m)
			if err != nil {
				return nil, err
			}
			radii[m.Seed], roots[m.Seed] = k.radii, f.Manifest.root(m)
		}
		for _, g := range groups {
			metric := Metric{Name: g.Name}
			for _, corruption := range g.Corruptions {
				metric.Cells = append(metric.Cells, fmt.Sprintf("%s-%d", corruption, severity))
			}
			if len(metric.Cells) == 0 {
				metric.Cells = []string{sweep.Cell{}.String()}
			}
			v, err := f.value(radii, roots, metric)
			if err != nil {
				return nil, fmt.Errorf("experiment: %s: %s: %w", l.Title, g.Name, err)
			}
			if v != nil {
				all = append(all, GroupRadius{l.Title, g.Name, severity, v.Mean, v.Interval})
				found = found || g.Name != "clean"
			}
		}
	}
	if !found {
		return nil, fmt.Errorf("experiment: %s in %s has no whole frequency group at severity %d", f.table.Name,
			f.Folder, severity)
	}
	return all, nil
}
