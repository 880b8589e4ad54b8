package evaluate

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

// table is a CSV file with a line for each model.
type table struct {
	columns []string
	models  []map[string]string
}

const modelColumn = "model"

// readTable reads a table that is to be added to; one that is not there is empty.
func readTable(path string) (*table, error) {
	t := &table{columns: []string{modelColumn}}
	if path == "" || path == "-" {
		return t, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(rows) == 0 || !slices.Contains(rows[0], modelColumn) {
		return nil, cli.Usagef("--out %s: that file is no table with a column %s; choose another name", path, modelColumn)
	}
	t.columns = rows[0]
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, cell := range row {
			m[t.columns[i]] = cell
		}
		t.models = append(t.models, m)
	}
	return t, nil
}

// put adds a model, or replaces what its line has of these sets and labels.
func (t *table) put(name string, labels [][2]string, results []Result) {
	i := slices.IndexFunc(t.models, func(m map[string]string) bool { return m[modelColumn] == name })
	if i < 0 {
		i = len(t.models)
		t.models = append(t.models, map[string]string{modelColumn: name})
	}
	set := func(column, cell string) {
		if !slices.Contains(t.columns, column) {
			t.columns = append(t.columns, column)
		}
		t.models[i][column] = cell
	}
	for _, l := range labels {
		set(l[0], l[1])
	}
	for _, r := range results {
		set(r.Set, fmt.Sprintf("%d/%d", r.Right, r.Images))
	}
}

func (t *table) rows() [][]string {
	rows := [][]string{t.columns}
	for _, m := range t.models {
		row := make([]string, len(t.columns))
		for i, column := range t.columns {
			row[i] = m[column]
		}
		rows = append(rows, row)
	}
	return rows
}
