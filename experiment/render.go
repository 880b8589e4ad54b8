package experiment

import (
	"slices"

	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/rs/compare"
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
		all[len(all)-1].Notes = f.Notes
	}
	return all
}

func optional(v *float64) any {
	if v == nil {
		return table.None
	}
	return rounded(*v, 4)
}

// difference is a difference with the ends of its interval; nil: not there.
func difference(d *compare.Difference) []any {
	if d == nil {
		return []any{table.None, table.None, table.None}
	}
	return []any{rounded(d.Difference, 4), rounded(d.Interval.Low, 4), rounded(d.Interval.High, 4)}
}
