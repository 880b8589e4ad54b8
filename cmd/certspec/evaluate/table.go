package evaluate

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/nearest"
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

// readGroups reads, for each class of the data, the model's classes that stand for it.
func readGroups(path string, classes []string) ([][]int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	groups := make([][]int, len(classes))
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		label := slices.Index(classes, fields[0])
		if label < 0 {
			return nil, fmt.Errorf("%s, line %d: the data have no class %q%s", path, number, fields[0], nearest.DidYouMean(fields[0], classes))
		}
		if groups[label] != nil || len(fields) < 2 {
			return nil, fmt.Errorf("%s, line %d: %s stands twice, or without a class of the model", path, number, fields[0])
		}
		for _, field := range fields[1:] {
			class, err := strconv.Atoi(field)
			if err != nil || class < 0 {
				return nil, fmt.Errorf("%s, line %d: %q is no class of the model, which are numbers from 0", path, number, field)
			}
			groups[label] = append(groups[label], class)
		}
	}
	for label, group := range groups {
		if group == nil {
			return nil, fmt.Errorf("%s: no line for the class %s of the data", path, classes[label])
		}
	}
	return groups, nil
}

// readFolders gives, for each class of the data, the class of the model that has its folder; nil where all classes of the model are there, in their order.
func readFolders(path string, classes []string) ([][]int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var folders []string
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		if folder, _, _ := strings.Cut(strings.TrimSpace(line), " "); folder != "" { // a name may follow
			if slices.Contains(folders, folder) {
				return nil, fmt.Errorf("%s: the folder %s stands twice", path, folder)
			}
			folders = append(folders, folder)
		}
	}
	if slices.Equal(folders, classes) {
		return nil, nil
	}
	groups := make([][]int, len(classes))
	for label, folder := range classes {
		class := slices.Index(folders, folder)
		if class < 0 {
			return nil, fmt.Errorf("%s: no class of the model has the folder %s of the data%s", path, folder, nearest.DidYouMean(folder, folders))
		}
		groups[label] = []int{class}
	}
	return groups, nil
}
