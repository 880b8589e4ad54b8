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
	columns, head := f.heads()
	for _, m := range f.measures {
		readerOf(m).Tables(f, columns, head, add)
	}
	if len(all) > 0 {
		last := all[len(all)-1]
		last.Notes = append(last.Notes, f.Notes...)
	}
	return all
}

// heads are the columns that say which line a row of a table is of.
func (f *Filled) heads() (columns []string, head func(FilledLine) []any) {
	if slices.ContainsFunc(f.Lines, func(l FilledLine) bool { return l.Data != f.Lines[0].Data }) {
		return []string{"data", "model"}, func(l FilledLine) []any { return []any{l.Data, l.Title} }
	}
	return []string{"model"}, func(l FilledLine) []any { return []any{l.Title} }
}

func optional(v *float64) any {
	if v == nil {
		return table.None
	}
	return rounded(*v, 4)
}
