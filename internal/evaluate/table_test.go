package evaluate

import (
	"reflect"
	"testing"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs/sweep"
)

// Severities count together, a group after its corruptions, and a line that is put again is replaced.
func TestPoolAndTable(t *testing.T) {
	cell := func(name string, severity, right int) Cell {
		c := Cell{Right: right, Images: 10}
		if name != "" {
			c.Cell = sweep.Cell{Corruption: name, Severity: severity, Setting: corrupt.Setting{Name: name, Severity: severity}}
		}
		return c
	}
	cells := []Cell{cell("", 0, 9), cell("fog", 1, 8), cell("pixelate", 1, 3), cell("fog", 2, 6)}
	pooled := Pool(cells, "Low", "fog")
	want := []Pooled{{"clean", 9, 10, .9, 0}, {"fog", 14, 20, .7, 0}, {"pixelate", 3, 10, .3, 0}, {"Low", 14, 20, .7, 0}}
	if !reflect.DeepEqual(pooled, want) { // fog is of low frequency, pixelate is not
		t.Errorf("%+v, want %+v", pooled, want)
	}
	path := testkit.Write(t, []byte("model,group,clean\na,x,1/10\nb,y,2/10\n"), t.TempDir(), "acc.csv")
	table, err := ReadTable(path)
	if err != nil {
		t.Fatal(err)
	}
	table.Put("b", [][2]string{{"group", "z"}}, pooled[:2])
	table.Put("c", nil, pooled[2:3])
	rows := [][]string{{"model", "group", "clean", "fog", "pixelate"}, {"a", "x", "1/10", "", ""}, {"b", "z", "9/10", "14/20", ""}, {"c", "", "", "", "3/10"}}
	if got := table.Rows(); !reflect.DeepEqual(got, rows) {
		t.Errorf("%v, want %v", got, rows)
	}
	testkit.Write(t, []byte("name\na\n"), path)
	if _, err := ReadTable(path); err == nil {
		t.Error("a table without a column model passes")
	}
}
