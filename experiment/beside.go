package experiment

import (
	"fmt"
	"maps"
	"slices"

	"github.com/certspec/certspec/internal/table"
)

// Beside puts the figures of a table beside published ones, by title or group and figure as in Table.Published, with the differences: a line for each that was
// published of a line or group of the table; what is not there yet is –.
func (f *Filled) Beside(published map[string]map[string]float64) *table.Table {
	t := &table.Table{Title: f.Title + ": beside what is published", Columns: []string{"model", "figure", "here", "published", "difference"}}
	var names []string
	for _, l := range f.Lines {
		for _, name := range []string{l.Group, l.Title} {
			if !slices.Contains(names, name) && published[name] != nil {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		for _, figure := range slices.Sorted(maps.Keys(published[name])) {
			row := []any{name, figure, table.None, rounded(published[name][figure], 4), table.None}
			if v, ok := f.figure(name, figure); ok {
				row[2], row[4] = rounded(v, 4), rounded(v-published[name][figure], 4)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	t.Notes = []string{fmt.Sprintf("Published: %s. Here: tier %s, whose network, images and noise samples are others; errors of a group are the smallest among models of comparable accuracy.", f.Source, f.Tier)}
	return t
}

// figure is a value of a line by its title, or a smallest error of a group.
func (f *Filled) figure(name, figure string) (float64, bool) {
	var what string
	var radius float64
	if n, _ := fmt.Sscanf(figure, "%s at %g", &what, &radius); n < 2 {
		what = ""
	}
	for _, l := range f.Lines {
		if l.Title != name {
			continue
		}
		if k := slices.IndexFunc(f.Metrics, func(m Metric) bool { return m.Name == figure }); k >= 0 && l.Values[k] != nil {
			return l.Values[k].Mean, true
		}
		for _, at := range l.Calibration {
			if at == nil || at.Radius != radius {
				continue
			}
			if what == "CA" {
				return at.Accuracy, true
			}
			return errorOf(what, at.CCE, at.ACCE, at.CBS)
		}
	}
	for _, s := range f.Selected {
		if s.Group == name && s.Radius == radius {
			return errorOf(what, s.CCE, s.ACCE, s.CBS)
		}
	}
	return 0, false
}

func errorOf(what string, cce, acce, cbs *float64) (float64, bool) {
	if v := map[string]*float64{"CCE": cce, "ACCE": acce, "CBS": cbs}[what]; v != nil {
		return *v, true
	}
	return 0, false
}
