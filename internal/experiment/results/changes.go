package results

import (
	"context"
	"fmt"
	"slices"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/sweep"
)

// Change is by how much a network that was trained further differs, at a radius, from the one that
// this began with (Emde et al. 2025, figures 4, 17 and 18): in certified accuracy, in the largest
// calibration error inside the certified intervals, exactly and as far as ADMM finds it, and in the
// certified Brier score; all of them shares, the mean over the seeds.
type Change struct {
	Title  string  `json:"title"`
	Group  string  `json:"group"`
	Start  string  `json:"start"` // title of the line that it began with
	Radius float64 `json:"radius"`
	// that line has the largest certified accuracy at the radius of all that training began with
	OfBest   bool    `json:"of_best"`
	Accuracy float64 `json:"certified_accuracy"`
	CCE      float64 `json:"cce"`
	ACCE     float64 `json:"acce"`
	CBS      float64 `json:"cbs"`
}

// Changes are the changes of all lines of a table with certified calibration that began with another line
// of it, line by line and radius by radius. What is not there yet, or certified for no image, is
// left out.
func (f *Filled) Changes() (all []Change) {
	began := make([]int, len(f.Lines)) // line that each began with, or −1
	var starts []int
	for i, l := range f.Lines {
		began[i] = slices.IndexFunc(f.Lines, func(o FilledLine) bool {
			return l.start != "" && slices.Contains(o.Models, l.start)
		})
		if began[i] >= 0 {
			starts = append(starts, began[i])
		}
	}
	for i, l := range f.Lines {
		if began[i] < 0 {
			continue
		}
		start := f.Lines[began[i]]
		for k, at := range l.Calibration {
			before := start.Calibration[k]
			if at == nil || before == nil || at.CCE == nil || before.CCE == nil {
				continue
			}
			best := !slices.ContainsFunc(starts, func(s int) bool {
				other := f.Lines[s].Calibration[k]
				return other != nil && other.Accuracy > before.Accuracy
			})
			all = append(all, Change{
				Title: l.Title, Group: l.Group, Start: start.Title, Radius: at.Radius, OfBest: best,
				Accuracy: at.Accuracy - before.Accuracy, CCE: *at.CCE - *before.CCE, ACCE: *at.ACCE - *before.ACCE,
				CBS: *at.CBS - *before.CBS,
			})
		}
	}
	return all
}

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
	for i := range f.Table.Lines {
		l, err := f.line(i, nil)
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			cells := []string{sweep.Cell{}.String()}
			for k, corruption := range g.Corruptions {
				cells = append(cells[:k], fmt.Sprintf("%s-%d", corruption, severity))
			}
			v, err := f.value(f.columns.Rows[i], cells)
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
		return nil, fmt.Errorf("experiment: %s in %s has no whole frequency group at severity %d", f.Table.Name,
			f.Folder, severity)
	}
	return all, nil
}
