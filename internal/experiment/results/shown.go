package results

import (
	"slices"

	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/study"
	"github.com/certspec/certspec/table"
)

// shownReader reads what a measure left in columns: one quantity of every row on some sets.
type shownReader struct {
	measure.Shown
	key string
}

// Shown is a value of a line on a set.
type Shown struct {
	Set        string              `json:"set"`
	Quantity   string              `json:"quantity"`
	Starts     int                 `json:"starts"`
	Mean       float64             `json:"mean"`
	Interval   resample.Interval   `json:"interval"`
	Difference *compare.Difference `json:"difference,omitempty"` // from the line that the table compares with
}

func (r shownReader) fill(f *TableBuilder, out *Filled) (notes []string, err error) {
	what, sets, err := r.Shown.Shown(f.Manifest.Tier)
	if err != nil {
		return nil, err
	}
	s := f.columns
	at := slices.IndexFunc(out.Lines, func(l FilledLine) bool { return l.Title == out.Compare })
	for i := range out.Lines {
		var all []Shown
		for _, set := range sets {
			cell := study.Cell{Row: s.Rows[i].Recipe, Set: set, What: what}
			found, starts, err := s.Estimate(f.ctx, cell, f.bootstrap)
			if err != nil {
				return nil, err
			}
			if starts == 0 {
				continue
			}
			one := Shown{Set: set, Quantity: what, Starts: starts, Mean: found.Value, Interval: found.Interval}
			if at >= 0 && at != i && out.Lines[at].Data == out.Lines[i].Data {
				other := cell
				other.Row = s.Rows[at].Recipe
				if one.Difference, err = s.Difference(f.ctx, cell, other, f.bootstrap); err != nil {
					return nil, err
				}
			}
			all = append(all, one)
		}
		if all != nil {
			out.Lines[i].Found[r.key] = all
		}
	}
	return nil, nil
}

func (r shownReader) tables(f *Filled, columns []string, head func(FilledLine) []any,
	add func(*table.Table, string)) {
	t := &table.Table{Columns: append(slices.Clone(columns), "figure", "on", "seeds", "mean", "low", "high",
		"difference", "its low", "its high", "p")}
	var shown []*compare.Difference
	each := func(visit func(l FilledLine, s Shown)) {
		for _, l := range f.Lines {
			all, _ := l.Found[r.key].([]Shown)
			for _, s := range all {
				visit(l, s)
			}
		}
	}
	each(func(_ FilledLine, s Shown) { shown = append(shown, s.Difference) })
	corrected, notes := holmCorrection(f.confidence, shown)
	t.Notes = notes
	each(func(l FilledLine, s Shown) {
		row := append(head(l), s.Quantity, s.Set, s.Starts, Rounded(s.Mean, 4), Rounded(s.Interval.Low, 4),
			Rounded(s.Interval.High, 4))
		t.Rows = append(t.Rows, append(row, differenceCells(s.Difference, corrected)...))
	})
	add(t, r.key+", with differences from "+f.Compare)
}
