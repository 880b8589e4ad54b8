package nb

import (
	"strings"
	"testing"
)

// nasty holds what each form must escape.
const nasty = `a_b & 50% <c> #1 {x} \y ~z ^2 $ "q", |p| σ ≥ ½`

func nastyTable() *Tabular {
	return &Tabular{Title: "T & T", Columns: []string{"name <b>", "value_1"},
		Rows: [][]any{{nasty, 0.25}, {"plain", 1234567.0}}, Notes: []string{"n < 5 & more"}}
}

func TestTableOfStructs(t *testing.T) {
	type row struct {
		Radius float64 `json:"radius"`
		Share  float64 `json:"certified_accuracy,omitempty"`
		Hidden int     `json:"-"`
		Plain  string
		secret int
		Best   float64 `nb:"best_of 16, at most" json:"best"`
		Gone   float64 `nb:"-" json:"gone"`
	}
	table := Table([]row{{0.25, 0.5, 1, "x", 2, 3, 4}})
	if got := strings.Join(table.Columns, "|"); got != "radius|certified accuracy|plain|best_of 16, at most" {
		t.Errorf("columns are %s", got)
	}
	if len(table.Rows) != 1 || table.Rows[0][1] != 0.5 || table.Rows[0][2] != "x" || table.Rows[0][3] != 3. {
		t.Errorf("rows are %v", table.Rows)
	}
	if one := Table(row{Plain: "y"}); len(one.Rows) != 1 || one.Rows[0][2] != "y" {
		t.Errorf("one struct gives %v", one.Rows)
	}
	for _, bad := range []any{3, nil, []int{1}, "text"} {
		if _, err := tabulate([]any{bad}); err == nil {
			t.Errorf("a table of %v is no error", bad)
		}
	}
}
