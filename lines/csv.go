package lines

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/textfile"
)

// Unit of a bare number in a column of accuracies.
type Unit string

// The units. A cell "k/n" or "88.4%" states its own.
const (
	unitUnstated Unit = ""
	unitShare    Unit = "share"   // 0 to 1
	unitPercent  Unit = "percent" // 0 to 100
)

// CSV says how a table of models is read.
type CSV struct {
	Unit    Unit           // of bare numbers in columns of accuracies
	Images  map[string]int // n by column, for accuracies that do not state it; "" for all other columns
	Numbers []string       // columns that hold other numbers than accuracies
	Labels  []string       // columns of labels that look like numbers; those with words are labels anyway
}

// readCSV reads a table with one model a line; Read says what its columns mean.
func readCSV(path string, in io.Reader, o CSV) (Models, error) {
	if !slices.Contains([]Unit{unitUnstated, unitShare, unitPercent}, o.Unit) {
		return nil, fmt.Errorf("lines: unit %q, want %s or %s", o.Unit, unitShare, unitPercent)
	}
	t, err := readColumns(path, in)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Concat(o.Numbers, o.Labels, slices.Sorted(maps.Keys(o.Images))) {
		if name != "" && !slices.Contains(t.header, name) {
			return nil, unknown("column", name, t.header)
		}
	}
	name := slices.Index(t.header, "model")
	if name < 0 {
		return nil, &FieldError{File: path, Line: 1, Reason: fmt.Sprintf("no column %q among %s", "model",
			list(t.header))}
	}
	models := make(Models, len(t.rows))
	for i, row := range t.rows {
		models[i] = Model{Name: row[name], Labels: map[string]string{}, Accuracies: map[string]Accuracy{},
			Numbers: map[string]float64{}}
		if row[name] == "" {
			return nil, &FieldError{path, t.lines[i], "model", "a model without a name"}
		}
		if before := slices.IndexFunc(models[:i], func(m Model) bool { return m.Name == row[name] }); before >= 0 {
			return nil, &FieldError{path, t.lines[i], "model", fmt.Sprintf("%q stands twice, first in line %d",
				row[name], t.lines[before])}
		}
	}
	images, err := t.images(path, o)
	if err != nil {
		return nil, err
	}
	for c, column := range t.header {
		if c == name || column == imagesColumn && images != nil {
			continue
		}
		isNumber := slices.Contains(o.Numbers, column) || slices.ContainsFunc(Predictors,
			func(p Predictor) bool { return p.Field == column })
		isLabel := slices.Contains(o.Labels, column) || !isNumber && t.hasWords(c)
		for i, row := range t.rows {
			cell := strings.TrimSpace(row[c])
			if cell == "" {
				continue
			}
			var err error
			switch {
			case isLabel:
				models[i].Labels[column] = cell
			case isNumber:
				models[i].Numbers[column], err = strconv.ParseFloat(cell, 64)
				if err != nil {
					err = fmt.Errorf("%q is no number", cell)
				}
			default:
				n := o.Images[""]
				if of, ok := o.Images[column]; ok {
					n = of
				} else if n == 0 && images != nil && !strings.Contains(cell, "/") {
					n = images[i]
				}
				models[i].Accuracies[column], err = o.accuracy(cell, n)
			}
			if err != nil {
				return nil, &FieldError{path, t.lines[i], column, err.Error()}
			}
		}
	}
	if len(models) == 0 {
		return nil, &FieldError{File: path, Reason: "no models"}
	}
	return models, nil
}

// columns is a CSV file as text.
type columns struct {
	header []string
	rows   [][]string
	lines  []int
}

func readColumns(path string, in io.Reader) (*columns, error) {
	r := csv.NewReader(textfile.NewReader(in))
	r.Comment = '#'
	r.TrimLeadingSpace = true
	t := &columns{}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var parse *csv.ParseError
		if errors.As(err, &parse) {
			return nil, &FieldError{File: path, Line: parse.Line, Reason: parse.Err.Error()}
		} else if err != nil {
			return nil, fmt.Errorf("lines: %s: %w", path, err)
		}
		if t.header == nil {
			t.header = row
			for i, name := range row {
				row[i] = strings.TrimSpace(name)
				if slices.Contains(row[:i], row[i]) {
					return nil, &FieldError{path, 1, row[i], "the column stands twice"}
				}
			}
			continue
		}
		line, _ := r.FieldPos(0)
		t.rows, t.lines = append(t.rows, row), append(t.lines, line)
	}
	if t.header == nil {
		return nil, &FieldError{File: path, Reason: "the file is empty"}
	}
	return t, nil
}

const imagesColumn = "n"

// images is the column of images by line, 0 where it is blank; nil if there is none, or CSV says
// that it is something else.
func (t *columns) images(path string, o CSV) ([]int, error) {
	c := slices.Index(t.header, imagesColumn)
	if c < 0 || slices.Contains(o.Numbers, imagesColumn) || slices.Contains(o.Labels, imagesColumn) {
		return nil, nil
	}
	counts := make([]int, len(t.rows))
	for i, row := range t.rows {
		cell := strings.TrimSpace(row[c])
		if cell == "" {
			continue
		}
		n, err := strconv.Atoi(cell)
		if err != nil || n < 1 {
			return nil, &FieldError{path, t.lines[i], imagesColumn,
				fmt.Sprintf("%q, want the number of images behind the line's accuracies", cell)}
		}
		counts[i] = n
	}
	return counts, nil
}

// hasWords says whether a cell of the column is neither blank nor any form of a number.
func (t *columns) hasWords(c int) bool {
	for _, row := range t.rows {
		cell := strings.TrimSpace(row[c])
		if cell == "" {
			continue
		}
		k, _, isCount := strings.Cut(strings.TrimSuffix(cell, "%"), "/")
		if _, err := strconv.ParseFloat(strings.TrimSpace(k), 64); err != nil && !errors.Is(err, strconv.ErrRange) {
			return true
		} else if isCount && strings.ContainsAny(cell[len(k):],
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			return true
		}
	}
	return false
}

func (o CSV) accuracy(cell string, n int) (Accuracy, error) {
	if left, right, isCount := strings.Cut(cell, "/"); isCount {
		k, errK := strconv.Atoi(strings.TrimSpace(left))
		total, errN := strconv.Atoi(strings.TrimSpace(right))
		if errK != nil || errN != nil {
			return Accuracy{}, fmt.Errorf("%q, want correct/images, both whole numbers", cell)
		}
		if n > 0 && n != total {
			return Accuracy{}, fmt.Errorf("%q, but %d images are said for this column", cell, n)
		}
		return Count(k, total)
	}
	number, signed := strings.CutSuffix(cell, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil {
		return Accuracy{}, fmt.Errorf("%q is no accuracy: want k/n, a percentage (88.4%%), or a number in the "+
			"stated unit", cell)
	}
	switch {
	case signed || o.Unit == unitPercent:
		return percent(v, n)
	case o.Unit == unitShare:
		if v > 1 && v <= 100 {
			return Accuracy{}, fmt.Errorf("%v is above 1, but the unit is said to be shares; are these percent?", v)
		}
		a := Accuracy{Share: v, N: n}
		return a, a.check()
	}
	return Accuracy{}, fmt.Errorf("%q has no unit: say whether bare numbers are shares or percent, write k/n, or "+
		"say that the column is no accuracy", cell)
}
