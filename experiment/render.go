package experiment

import (
	"slices"

	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/rs"
)

func rounded(v float64, decimals int) table.Rounded {
	return table.Rounded{Value: v, Decimals: decimals}
}

// Tables are the numbers as tables to print: average certified radii, differences, calibration, attacks; those that the table asks for.
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
	if len(f.Metrics) > 0 {
		add(f.radii(columns, head), "")
		add(f.differences(columns, head), "main figures, with differences from "+f.Compare)
	}
	if len(f.Lines) > 0 && f.Lines[0].Calibration != nil {
		if f.Selected != nil {
			add(f.selection(), "the smallest errors among models of comparable accuracy")
			add(f.spreads(), "these errors, with differences from the method of "+f.Compare)
		}
		add(f.calibration(columns, head), "certified calibration, model by model")
	}
	if len(f.Lines) > 0 && f.Lines[0].ACE != nil {
		add(f.attacks(columns, head), "adaptive calibration error")
		add(f.raised(columns, head), "what each attack adds to the adaptive calibration error")
	}
	if len(all) > 0 {
		all[len(all)-1].Notes = f.Notes
	}
	return all
}

func (f *Filled) radii(columns []string, head func(FilledLine) []any) *table.Table {
	t := &table.Table{Columns: columns}
	for _, m := range f.Metrics {
		t.Columns = append(t.Columns, m.Name)
	}
	for _, l := range f.Lines {
		row := head(l)
		for _, v := range l.Values {
			if v == nil {
				row = append(row, table.None)
			} else {
				row = append(row, rounded(v.Mean, 3))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// differences has a line for each model and main figure.
func (f *Filled) differences(columns []string, head func(FilledLine) []any) *table.Table {
	t := &table.Table{Columns: append(slices.Clone(columns), "figure", "seeds", "mean", "least", "largest", "low", "high", "difference", "its low", "its high")}
	for k, m := range f.Metrics {
		if !m.Main {
			continue
		}
		for _, l := range f.Lines {
			row := append(head(l), m.Name)
			v := l.Values[k]
			if v == nil {
				row = append(row, 0)
				for range 8 {
					row = append(row, table.None)
				}
				t.Rows = append(t.Rows, row)
				continue
			}
			row = append(row, v.Seeds, rounded(v.Mean, 4), rounded(v.Low, 4), rounded(v.High, 4), rounded(v.Interval.Low, 4), rounded(v.Interval.High, 4))
			t.Rows = append(t.Rows, append(row, difference(v.Difference)...))
		}
	}
	return t
}

func optional(v *float64) any {
	if v == nil {
		return table.None
	}
	return rounded(*v, 4)
}

func (f *Filled) calibration(columns []string, head func(FilledLine) []any) *table.Table {
	t := &table.Table{Columns: append(slices.Clone(columns), "radius", "certified accuracy", "CCE", "ACCE", "CBS")}
	for _, l := range f.Lines {
		for _, at := range l.Calibration {
			if at == nil {
				t.Rows = append(t.Rows, append(head(l), table.None, table.None, table.None, table.None, table.None))
				break
			}
			t.Rows = append(t.Rows, append(head(l), rounded(at.Radius, 2), rounded(at.Accuracy, 4), optional(at.CCE), optional(at.ACCE), optional(at.CBS)))
		}
	}
	return t
}

func (f *Filled) selection() *table.Table {
	t := &table.Table{Columns: []string{"radius", "best accuracy", "method", "models", "CCE", "ACCE", "CBS"}}
	for _, s := range f.Selected {
		t.Rows = append(t.Rows, []any{rounded(s.Radius, 2), rounded(s.Best, 4), s.Group, s.Models, optional(s.CCE), optional(s.ACCE), optional(s.CBS)})
	}
	return t
}

func (f *Filled) spreads() *table.Table {
	t := &table.Table{Columns: []string{"radius", "method", "figure", "value", "low", "high", "difference", "its low", "its high"}}
	for _, s := range f.Selected {
		for _, figure := range []struct {
			name   string
			value  *float64
			spread *Spread
		}{{"CCE", s.CCE, s.CCESpread}, {"CBS", s.CBS, s.CBSSpread}} {
			row := []any{rounded(s.Radius, 2), s.Group, figure.name, optional(figure.value)}
			if figure.spread == nil {
				row = append(row, table.None, table.None)
			} else {
				row = append(row, rounded(figure.spread.Interval.Low, 4), rounded(figure.spread.Interval.High, 4))
			}
			if figure.spread == nil {
				row = append(row, difference(nil)...)
			} else {
				row = append(row, difference(figure.spread.Difference)...)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// difference is a difference with the ends of its interval; nil: not there.
func difference(d *rs.Difference) []any {
	if d == nil {
		return []any{table.None, table.None, table.None}
	}
	return []any{rounded(d.Difference, 4), rounded(d.Interval.Low, 4), rounded(d.Interval.High, 4)}
}

func (f *Filled) raised(columns []string, head func(FilledLine) []any) *table.Table {
	t := &table.Table{Columns: append(slices.Clone(columns), "attack", "difference", "its low", "its high")}
	for _, l := range f.Lines {
		for _, a := range attack.ACEAttacks(0) {
			t.Rows = append(t.Rows, append(append(head(l), a.String()), difference(l.Raised[a.String()])...))
		}
	}
	return t
}

func (f *Filled) attacks(columns []string, head func(FilledLine) []any) *table.Table {
	names := []string{"accuracy", "clean"}
	for _, a := range attack.ACEAttacks(0) {
		names = append(names, a.String())
	}
	t := &table.Table{Columns: append(slices.Clone(columns), names...)}
	for _, l := range f.Lines {
		row := head(l)
		for _, name := range names {
			if v := l.ACE[name]; v != nil {
				row = append(row, rounded(v.Mean, 4))
			} else {
				row = append(row, table.None)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
