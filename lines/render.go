package lines

import (
	"fmt"

	"github.com/certspec/certspec/table"
)

// Table returns the table as it is printed: a row for each shift and predictor, with slope and mean R² for each
// group. A mark stands behind R² (* bold: above 0.5; ** second best; *** best).
func (t *Table) Table() *table.Table {
	out := &table.Table{Title: t.Title, Columns: []string{"shift", "predictor"}, Notes: []string{
		"Slope m and R² of accuracy under the shift (probit) on the predictor (accuracies: probit), unweighted " +
			"means over the lines of a group, rounded after averaging.",
		fmt.Sprintf("Accuracies clipped at %s. R²: *** best of the shift and group, ** second best, * above 0.5.",
			t.Clip),
	}}
	for _, g := range t.Groups {
		out.Columns = append(out.Columns, g+" m", g+" R²")
	}
	for _, shift := range t.Shifts {
		for _, p := range t.Predictors {
			row := []any{shift, p}
			for _, g := range t.Groups {
				c, _ := t.At(shift, p, g)
				row = append(row, asPrinted(c.Slope), asPrinted(c.R2)+map[Mark]string{bestMark: " ***", secondMark: " **",
					boldMark: " *"}[c.Mark])
			}
			out.Rows = append(out.Rows, row)
		}
	}
	return out
}

// Table is the result as a table of its lines.
func (r *Result) Table() *table.Table {
	out := &table.Table{Title: fmt.Sprintf("%s on %s, probit units", r.Y, r.X), Columns: []string{"group", "models",
		"slope", "interval", "intercept", "interval ", "R²", "reliability", "Deming's slope"},
		Notes: append([]string{"Clip " + r.Clip + ". Intervals: " + r.Sampling + "."}, r.Notes...)}
	for _, l := range r.Lines {
		interval := func(name string) any {
			if i, ok := l.Intervals[name]; ok {
				return fmt.Sprintf("%.2f to %.2f", i.Low, i.High)
			}
			return table.None
		}
		reliable, deming := any(table.None), any(table.None)
		if l.Reliability != 0 {
			reliable = table.Rounded{Value: l.Reliability, Decimals: 3}
		}
		if l.Deming != nil {
			deming = table.Rounded{Value: l.Deming.Slope, Decimals: 3}
		}
		out.Rows = append(out.Rows, []any{l.Group, l.N, table.Rounded{Value: l.Slope, Decimals: 3}, interval("slope"),
			table.Rounded{Value: l.Intercept, Decimals: 3}, interval("intercept"),
			table.Rounded{Value: l.R2, Decimals: 3}, reliable, deming})
	}
	return out
}

// Above is the result as a table of its models: how far each stands above its group's line, in points of accuracy.
func (r *Result) Above() *table.Table {
	out := &table.Table{Title: fmt.Sprintf("Effective robustness: %s above the line of %s, in points", r.Y, r.X),
		Columns: []string{"model", "group", r.X, r.Y, "above the line", "interval", "Cook's distance", "leverage"},
		Notes:   append([]string{"Intervals: " + r.Sampling + "."}, r.Notes...)}
	for _, m := range r.Models {
		interval, cook, leverage := any(table.None), any(table.None), any(table.None)
		if m.Interval != nil {
			interval = fmt.Sprintf("%.2f to %.2f", 100*m.Interval.Low, 100*m.Interval.High)
		}
		if m.Influence != nil {
			cook, leverage = table.Rounded{Value: m.Influence.Cook, Decimals: 3},
				table.Rounded{Value: m.Influence.Leverage, Decimals: 3}
		}
		out.Rows = append(out.Rows, []any{m.Name, m.Group, table.Rounded{Value: 100 * m.X.Share, Decimals: 2},
			table.Rounded{Value: 100 * m.Y.Share, Decimals: 2},
			table.Rounded{Value: 100 * m.Robustness, Decimals: 2}, interval, cook, leverage})
	}
	return out
}

// Table is the agreement as a table of its models, in percent.
func (a *Agreement) Table() *table.Table {
	verdict := "reliable: R² of the agreements is at least"
	if !a.Reliable {
		verdict = "NOT reliable: R² of the agreements is below"
	}
	t := &table.Table{Title: "Accuracy under shift without labels, in %", Columns: []string{"model",
		"accuracy without shift", "ALine-S", "interval", "ALine-D", "interval ", "truth"},
		Notes: []string{
			fmt.Sprintf("Agreement line: slope %.4f, intercept %.4f, R² %.4f over %d pairs; %s %g.", a.Line.Slope,
				a.Line.Intercept, a.Line.R2, a.Line.N, verdict, LeastAgreement),
			"Clip " + a.Clip + ". Intervals: " + a.Sampling + "; not the error of the method.",
		}}
	percent := func(v float64) any { return table.Rounded{Value: 100 * v, Decimals: 2} }
	interval := func(i *Interval) any {
		if i == nil {
			return table.None
		}
		return fmt.Sprintf("%.2f to %.2f", 100*i.Low, 100*i.High)
	}
	for _, m := range a.Models {
		truth := any(table.None)
		if m.Truth != nil {
			truth = percent(*m.Truth)
		}
		t.Rows = append(t.Rows, []any{m.Name, percent(m.X), percent(m.S), interval(m.SInterval), percent(m.D),
			interval(m.DInterval), truth})
	}
	return t
}
