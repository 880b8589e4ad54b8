package experiment

import (
	"slices"

	"github.com/certspec/certspec/internal/table"
)

func rounded(v float64, decimals int) table.Rounded {
	return table.Rounded{Value: v, Decimals: decimals}
}

// Tables are the numbers as tables to print: those of every measure that the table asks for.
func (f *Filled) Tables() []*table.Table {
	var all []*table.Table
	add := func(t *table.Table, title string) {
		t.Title = f.Title
		if title != "" {
			t.Title += ": " + title
		}
		all = append(all, t)
	}
	several := slices.ContainsFunc(f.Lines, func(l FilledLine) bool { return l.Data != f.Lines[0].Data })
	head := func(l FilledLine) []any {
		if several {
			return []any{l.Data, l.Title}
		}
		return []any{l.Title}
	}
	columns := []string{"model"}
	if several {
		columns = []string{"data", "model"}
	}
	for _, m := range f.measures {
		m.Tables(f, columns, head, add)
	}
	if len(all) > 0 {
		last := all[len(all)-1]
		last.Notes = append(last.Notes, f.Notes...)
	}
	return all
}

func optional(v *float64) any {
	if v == nil {
		return table.None
	}
	return rounded(*v, 4)
}
