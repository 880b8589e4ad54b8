package lines

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// Table holds, for each shift, predictor and group, the lines of accuracy under the shift (in probit units) on the
// predictor, and their unweighted means.
type Table struct {
	Title      string   `json:"title"`
	Shifts     []string `json:"shifts"`
	Predictors []string `json:"predictors"`
	Groups     []string `json:"groups"`
	Clip       string   `json:"clip"`
	Cells      []Cell   `json:"cells"` // by shift, then predictor, then group
}

// Cell is one pair of numbers of a table.
type Cell struct {
	Shift     string          `json:"shift"`
	Predictor string          `json:"predictor"`
	Group     string          `json:"group"`
	Slope     float64         `json:"slope"` // mean over Lines, not rounded
	R2        float64         `json:"r2"`    // mean over Lines, not rounded
	Models    int             `json:"models"`
	Lines     map[string]Line `json:"lines"` // by the value of the grouping's label
	Mark      Mark            `json:"mark,omitempty"`
}

// Mark is how the paper marks a cell: R² above 0.5 is bold. The largest and the second largest of one shift and group
// have marks of their own.
type Mark string

// The marks; the best and the second are bold, too.
const (
	boldMark   Mark = "bold"
	bestMark   Mark = "best"
	secondMark Mark = "second"
)

// At is the cell of a shift, predictor and group.
func (t *Table) At(shift, predictor, group string) (Cell, bool) {
	for _, c := range t.Cells {
		if c.Shift == shift && c.Predictor == predictor && c.Group == group {
			return c, true
		}
	}
	return Cell{}, false
}

// BestPredictor is the one with the largest mean R² in a shift and group; the zero value where the table has none.
func (t *Table) BestPredictor(shift, group string) (best Predictor) {
	largest := math.Inf(-1)
	for _, p := range Predictors {
		if c, ok := t.At(shift, p.Name, group); ok && c.R2 > largest {
			largest, best = c.R2, p
		}
	}
	return best
}

// Tabulate fits every line of a table. For each shift, group and predictor, the models of a group are split by the
// grouping's label. Each part with at least three models gets a least-squares line. The cell holds the unweighted mean
// of slopes and of R². Predictors that no model has are left out; models without a value are left out of that line.
// Errors: a shift that no model has, a group without a line, values that have no probit.
func Tabulate(models Models, by Grouping, clip Clip) (*Table, error) {
	if err := clip.check(); err != nil {
		return nil, err
	}
	if err := models.Check(); err != nil {
		return nil, err
	}
	t := &Table{Title: by.Title, Clip: clip.String()}
	predictors := by.predictors(models)
	if len(predictors) == 0 {
		return nil, fmt.Errorf("lines: %s: the models have none of its predictors (%s, %s, …)", by.Title, by.ID,
			Predictors[1].Field)
	}
	for _, p := range predictors {
		t.Predictors = append(t.Predictors, p.Name)
	}
	for _, g := range by.Groups {
		t.Groups = append(t.Groups, g.Name)
	}
	for _, shift := range by.Shifts {
		if err := models.needField(shift); err != nil {
			return nil, err
		}
		t.Shifts = append(t.Shifts, shift)
		for _, p := range predictors {
			for _, g := range by.Groups {
				cell, err := fitCell(models, by, shift, p, g, clip)
				if err != nil {
					return nil, err
				}
				t.Cells = append(t.Cells, cell)
			}
		}
	}
	t.mark()
	return t, nil
}

// predictors are those that some model has, with the grouping's accuracy in the place of the first.
func (g Grouping) predictors(models Models) []Predictor {
	var has []Predictor
	of := g.Predictors
	if of == nil {
		of = Predictors
	}
	for _, p := range of {
		if p.Field == "" {
			p.Field = g.ID
		}
		if models.needField(p.Field) == nil {
			has = append(has, p)
		}
	}
	return has
}

func fitCell(models Models, by Grouping, shift string, p Predictor, g Group, clip Clip) (Cell, error) {
	cell := Cell{Shift: shift, Predictor: p.Name, Group: g.Name, Lines: map[string]Line{}}
	parts := map[string][]Model{}
	for _, m := range models {
		if g.Keep(m) {
			part := m.Labels[by.Lines]
			parts[part] = append(parts[part], m)
		}
	}
	var slopes, r2 []float64
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		x, y, _, err := points(parts[part], p.Field, shift, clip)
		if err != nil {
			return cell, err
		}
		line, err := LeastSquares(x, y)
		var few *FewPoints
		if errors.As(err, &few) {
			continue
		} else if err != nil {
			return cell, fmt.Errorf("%w (%s, %s on %s)", err, g.Name, shift, p.Name)
		}
		cell.Lines[part] = line
		cell.Models += line.N
		slopes, r2 = append(slopes, line.Slope), append(r2, line.R2)
	}
	if len(slopes) == 0 {
		return cell, fmt.Errorf("lines: group %q has no three models with %s and %s that differ in it", g.Name, p.Field,
			shift)
	}
	cell.Slope, cell.R2 = stat.Mean(slopes, nil), stat.Mean(r2, nil)
	return cell, nil
}

// points are the coordinates of the models that have both fields, and those models.
func points(models []Model, xField, yField string, clip Clip) (x, y []float64, kept []Model, err error) {
	for _, m := range models {
		a, okA, err := m.Value(xField, clip)
		if err != nil {
			return nil, nil, nil, err
		}
		b, okB, err := m.Value(yField, clip)
		if err != nil {
			return nil, nil, nil, err
		}
		if okA && okB {
			x, y, kept = append(x, a), append(y, b), append(kept, m)
		}
	}
	return x, y, kept, nil
}

// mark sets the cells apart by their means before rounding.
func (t *Table) mark() {
	perShift := len(t.Predictors) * len(t.Groups)
	for s := range t.Shifts {
		for g := range t.Groups {
			var best, second *Cell
			for p := range t.Predictors {
				c := &t.Cells[s*perShift+p*len(t.Groups)+g]
				if !(c.R2 > 0.5) {
					continue
				}
				c.Mark = boldMark
				switch {
				case best == nil || c.R2 > best.R2:
					best, second = c, best
				case second == nil || c.R2 > second.R2:
					second = c
				}
			}
			if best != nil {
				best.Mark = bestMark
			}
			if second != nil {
				second.Mark = secondMark
			}
		}
	}
}

// asPrinted is a number as the paper prints it: two decimals, zeros at the end cut off but one decimal left, and a
// small negative number as -0.0.
func asPrinted(v float64) string {
	s := strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0")
	if strings.HasSuffix(s, ".") {
		s += "0"
	}
	return s
}
