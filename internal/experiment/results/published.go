package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/table"
)

// Beside puts the figures of a table beside published ones, by title, group or recipe and figure as
// in Table.Published, with the differences: a line for each that was published of a line or group
// of the table; what is not there yet is –.
func (f *Filled) Beside(published map[string]map[string]float64) *table.Table {
	columns, head := f.heads()
	t := &table.Table{Title: f.Title + ": beside what is published", Columns: append(columns, "figure", "here",
		"published", "difference")}
	var names []string
	for _, l := range f.Lines {
		for _, name := range []string{l.Group, l.Title, l.recipe} {
			if slices.Contains(names, name) || published[name] == nil {
				continue
			}
			names = append(names, name)
			shown := l
			if name == l.Group {
				shown.Title = name
			}
			for _, figure := range slices.Sorted(maps.Keys(published[name])) {
				if !l.has(figure) {
					continue
				}
				theirs, decimals := published[name][figure], 4
				if strings.HasSuffix(figure, recipe.InPercent) {
					decimals = 1
				}
				row := append(head(shown), figure, table.None, Rounded(theirs, decimals), table.None)
				if v, ok := f.figure(name, figure); ok {
					n := len(row)
					row[n-3], row[n-1] = Rounded(v, decimals), Rounded(v-theirs, decimals)
				}
				t.Rows = append(t.Rows, row)
			}
		}
	}
	t.Notes = []string{fmt.Sprintf("Published: %s. Here: tier %s, whose network, images and noise samples are "+
		"others; errors of a group are the smallest among models of comparable accuracy.", f.Source, f.Tier)}
	return t
}

// figure is a value of a line by its title or recipe, or a smallest error of a group.
func (f *Filled) figure(name, figure string) (float64, bool) {
	var what string
	var radius float64
	if n, _ := fmt.Sscanf(figure, "%s at %g", &what, &radius); n < 2 {
		what = ""
	}
	for _, l := range f.Lines {
		if l.recipe == name {
			return l.toldOf(figure)
		}
		if l.Title != name {
			continue
		}
		if k := slices.IndexFunc(f.Metrics, func(m Metric) bool { return m.Name == figure }); k >= 0 &&
			l.Values[k] != nil {
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

// has reports whether a figure is one of a line's: not one of foreign images that are measured with other data.
func (l *FilledLine) has(figure string) bool {
	set, _, ok := strings.Cut(strings.TrimSuffix(figure, recipe.InPercent), " ")
	return !ok || !strings.HasSuffix(figure, recipe.InPercent) || set == "own" || slices.Contains(l.foreign, set)
}

// toldOf finds a figure in what was told of a line, with ties lost, as they are in print (guaranteed-ood-detection §6).
func (l *FilledLine) toldOf(figure string) (float64, bool) {
	bounds, _ := l.Found["bound"].([]*ForeignFigures)
	attacks, _ := l.Found["attack"].([]*ForeignFigures)
	if len(bounds) > 0 && figure == "accuracy, %" {
		return 100 * bounds[0].Accuracy, true
	}
	if len(bounds) > 0 && figure == recipe.ForeignFigure("own", "confidence") {
		return 100 * bounds[0].Own, true
	}
	for _, t := range bounds {
		for what, v := range map[string]float64{"AUC": t.AUC.Conservative, "GAUC": t.WorstAUC.Conservative,
			"confidence": t.Confidence, "bound": t.Worst} {
			if figure == recipe.ForeignFigure(t.Set, what) {
				return 100 * v, true
			}
		}
	}
	for _, t := range attacks {
		if figure == recipe.ForeignFigure(t.Set, "AAUC") {
			return 100 * t.WorstAUC.Conservative, true
		}
	}
	return 0, false
}
