package evaluate

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/internal/textfile"
)

// Pooled are the right answers of several cells together.
type Pooled struct {
	Set    string  `json:"set"` // clean, fog (its severities together), C (a family, a group)
	Right  int     `json:"right"`
	Images int     `json:"images"`
	Share  float64 `json:"share"`
	Misses int     `json:"misses,omitempty"` // outputs that are not finite, which count as wrong
}

// Pool puts the cells of a corruption together, its severities alike, in the order of the cells,
// and behind them those of each word: a family or a group of corruptions ("C", "Low", see
// corrupt.Names). Words that are the name of a corruption add nothing.
func Pool(cells []Cell, words ...string) []Pooled {
	var out []Pooled
	add := func(set string, of func(corruption string) bool) {
		p := Pooled{Set: set}
		for _, c := range cells {
			if of(c.Cell.Corruption) {
				p.Right, p.Images, p.Misses = p.Right+c.Right, p.Images+c.Images, p.Misses+c.Misses
			}
		}
		p.Share = float64(p.Right) / float64(max(1, p.Images))
		out = append(out, p)
	}
	seen := map[string]bool{}
	for _, c := range cells {
		name := c.Cell.Corruption
		if seen[name] {
			continue
		}
		seen[name] = true
		set := name
		if name == "" {
			set = c.Cell.String()
		}
		add(set, func(corruption string) bool { return corruption == name })
	}
	for _, word := range words {
		if names, err := corrupt.Names([]string{word}); err == nil {
			add(word, func(corruption string) bool { return slices.Contains(names, corruption) })
		}
	}
	return out
}

// ModelColumn is the column of a Table that names the model.
const ModelColumn = "model"

// Table is a table of accuracies, a line for each model, in the form that lines.Read reads:
// accuracies are right answers of images, as in 88/100. The zero value has no model.
type Table struct {
	columns []string
	models  []map[string]string
}

// ReadTable reads a table that is to be added to; one that is not there is empty. Errors: a file that is no table with
// a column model, or whose last line was cut off.
func ReadTable(path string) (*Table, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return decodeTable(path, text)
}

// UpdateTable changes a table in a file, and makes it if it is not there. Several processes may do so at once.
// Errors: those of ReadTable and of writing.
func UpdateTable(path string, change func(*Table)) error {
	return journal.Update(path, func(old []byte) ([]byte, error) {
		t, err := decodeTable(path, old)
		if err != nil {
			return nil, err
		}
		change(t)
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		err = w.WriteAll(t.Rows())
		return b.Bytes(), err
	})
}

func decodeTable(path string, text []byte) (*Table, error) {
	if text == nil {
		return &Table{}, nil
	}
	if journal.Whole(text) < len(text) {
		return nil, fmt.Errorf("%s: its last line was cut off: %s; end it with a newline if it is whole",
			path, journal.Quote(text[journal.Whole(text):]))
	}
	rows, err := csv.NewReader(bytes.NewReader(textfile.Cut(text))).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(rows) == 0 || !slices.Contains(rows[0], ModelColumn) {
		return nil, fmt.Errorf("%s is no table with a column %s", path, ModelColumn)
	}
	t := &Table{columns: rows[0]}
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, cell := range row {
			m[t.columns[i]] = cell
		}
		t.models = append(t.models, m)
	}
	return t, nil
}

// Put adds a model, or replaces what its line has of these labels (column and value) and accuracies.
func (t *Table) Put(model string, labels [][2]string, accuracies []Pooled) {
	i := slices.IndexFunc(t.models, func(m map[string]string) bool { return m[ModelColumn] == model })
	if i < 0 {
		i = len(t.models)
		t.models = append(t.models, map[string]string{})
	}
	set := func(column, cell string) {
		if !slices.Contains(t.columns, column) {
			t.columns = append(t.columns, column)
		}
		t.models[i][column] = cell
	}
	set(ModelColumn, model)
	for _, l := range labels {
		set(l[0], l[1])
	}
	for _, a := range accuracies {
		set(a.Set, fmt.Sprintf("%d/%d", a.Right, a.Images))
	}
}

// Rows are the lines of the table for a CSV file, the first with the columns.
func (t *Table) Rows() [][]string {
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
