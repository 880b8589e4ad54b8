package calib

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/textfile"
)

// Table is a file of samples. Columns that the file does not have are nil.
type Table struct {
	Correct      []bool
	Confidence   []float64
	Lower, Upper []float64 // both or none
}

// ReadCSV reads samples from a CSV file with a header. Its columns, in any order, are correct (1 or 0, true or false),
// or label and prediction, which are equal or not; and confidence, or lower and upper, or all three. Usual other words
// for them are understood, as accuracy's hit, target, pred or max_prob; other columns are ignored. Columns are parted
// by commas, semicolons (numbers may then have a decimal comma) or tabs. A byte order mark, quotes and the line ends of
// any system are understood. A file with a header and no rows gives an empty table.
//
// Errors name the file as name, with line and column: columns that are missing or given twice, rows of another
// length, values that are not numbers in [0, 1], and intervals that are reversed.
func ReadCSV(name string, r io.Reader) (*Table, error) {
	file := newCSVFile(name, r)
	t := &Table{}
	columns, err := file.header(t)
	if err != nil {
		return nil, err
	}
	for {
		record, err := file.csv.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, file.wrap(err)
		}
		for k, c := range columns {
			if c.values == nil {
				correct, err := file.correct(record, c)
				if err != nil {
					return nil, file.at(c.index, err)
				}
				t.Correct = append(t.Correct, correct)
				continue
			}
			v, err := file.unit(c.name, record[c.index])
			if err != nil {
				return nil, file.at(c.index, err)
			}
			if c.name == "upper" { // lower stands before it in columns
				if l := t.Lower[len(t.Lower)-1]; v < l {
					return nil, file.at(columns[k-1].index,
						fmt.Errorf("lower is %v, expected at most upper, which is %v", l, v))
				}
			}
			*c.values = append(*c.values, v)
		}
	}
}

// csvFile is a CSV reader that knows its name.
type csvFile struct {
	name string
	csv  *csv.Reader
}

func newCSVFile(name string, r io.Reader) *csvFile {
	f := &csvFile{name: name, csv: textfile.NewCSV(r)}
	f.csv.ReuseRecord = true
	return f
}

// column is one that is read: into values, or as correct where that is nil, against another one or by itself.
type column struct {
	name    string
	index   int
	values  *[]float64
	against int // column of the predictions, where the named column has labels; −1: none
}

// usual are other words for the columns, in small letters.
var usual = map[string][]string{
	"correct":    {"is_correct", "hit", "right"},
	"confidence": {"conf", "max_prob", "max_probability", "msp"},
	"lower":      {"lower_bound", "low"},
	"upper":      {"upper_bound", "high"},
	"label":      {"labels", "target", "targets", "y_true", "true_label", "true", "y"},
	"prediction": {"predictions", "predict", "predicted", "predicted_label", "pred", "preds", "y_pred"},
}

// find is the place of the column that has the name, or a usual word for it; −1: none.
func find(header []string, name string) int {
	for _, word := range append([]string{name}, usual[name]...) {
		if i := slices.IndexFunc(header, func(h string) bool { return strings.EqualFold(h, word) }); i >= 0 {
			return i
		}
	}
	return -1
}

// correct reads whether a sample is right.
func (f *csvFile) correct(record []string, c column) (bool, error) {
	if c.against < 0 {
		return parseCorrect(record[c.index])
	}
	label, prediction := strings.TrimSpace(record[c.index]), strings.TrimSpace(record[c.against])
	if label == "" || prediction == "" {
		return false, errors.New("label or prediction is empty, expected a class in both")
	}
	return label == prediction, nil
}

// unit reads a number in [0, 1].
func (f *csvFile) unit(name, text string) (float64, error) {
	if f.csv.Comma == ';' {
		text = strings.Replace(text, ",", ".", 1)
	}
	return parseUnit(name, text)
}

// header reads the first line and returns the columns to read, lower before upper.
func (f *csvFile) header(t *Table) ([]column, error) {
	header, err := f.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the file is empty, expected a header with the columns correct, confidence or "+
			"correct, lower, upper", f.name)
	}
	if err != nil {
		return nil, f.wrap(err)
	}
	names := make([]string, len(header))
	for i, h := range header {
		names[i] = strings.TrimSpace(h)
	}
	var columns []column
	for _, c := range []column{{name: "correct"}, {name: "confidence", values: &t.Confidence},
		{name: "lower", values: &t.Lower}, {name: "upper", values: &t.Upper}} {
		c.index, c.against = find(names, c.name), -1
		if label, prediction := find(names, "label"), find(names, "prediction"); c.values == nil && c.index < 0 &&
			label >= 0 && prediction >= 0 {
			c.index, c.against = label, prediction
		}
		if c.index < 0 {
			continue
		}
		if again := slices.Index(names[c.index+1:], names[c.index]); again >= 0 {
			return nil, f.at(c.index+1+again, fmt.Errorf("a second column %s", c.name))
		}
		if c.values != nil {
			*c.values = []float64{}
		}
		columns = append(columns, c)
	}
	missing := ""
	switch {
	case !slices.ContainsFunc(columns, func(c column) bool { return c.values == nil }):
		missing = "correct (or label and prediction)"
	case t.Lower != nil && t.Upper == nil:
		missing = "upper"
	case t.Upper != nil && t.Lower == nil:
		missing = "lower"
	case t.Confidence == nil && t.Lower == nil:
		missing = "confidence (or lower and upper)"
	}
	if missing != "" {
		return nil, fmt.Errorf("%s:1: no column %s; the header has %.40q; expected columns %s", f.name, missing,
			names[:min(len(names), 12)], csvColumns)
	}
	return columns, nil
}

// csvColumns says in words which columns ReadCSV reads.
const csvColumns = "correct (1 or 0) or label and prediction; and confidence, or lower and upper"

// at adds file, line and column of a field of the last record.
func (f *csvFile) at(field int, err error) error {
	line, col := f.csv.FieldPos(field)
	return fmt.Errorf("%s:%d:%d: %w", f.name, line, col, err)
}

// wrap adds the file to an error of the CSV reader, which has line and column itself.
func (f *csvFile) wrap(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%s:%d:%d: %w", f.name, parse.Line, parse.Column, parse.Err)
	}
	return fmt.Errorf("%s: %w", f.name, err)
}

// parseCorrect understands 1 and 0, also as 1.0 and 0.0, and true and false.
func parseCorrect(s string) (bool, error) {
	s = strings.TrimSpace(s)
	switch strings.ToLower(s) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	if v, err := strconv.ParseFloat(s, 64); err == nil && (v == 0 || v == 1) {
		return v == 1, nil
	}
	return false, fmt.Errorf("correct is %.40q, expected 1 or 0, true or false", s)
}

// parseUnit understands numbers in [0, 1].
func parseUnit(name, s string) (float64, error) {
	s = strings.TrimSpace(s)
	v, err := strconv.ParseFloat(s, 64)
	if err != nil && !(errors.Is(err, strconv.ErrRange) && math.IsInf(v, 0)) || !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("%s is %.40q, expected a number in [0, 1]", name, s)
	}
	return v, nil
}

// Halves parts samples into those to fit on and those to judge: group by group, in turns. Samples of one group, such as
// equal images, stay together in the half of the first of them. With a nil group each sample is its own.
func (t *Table) Halves(group []int) (fit, judged *Table) {
	fit, judged = &Table{}, &Table{}
	for i := range t.Correct {
		g, to := i, fit
		if group != nil {
			g = group[i]
		}
		if g%2 == 1 {
			to = judged
		}
		to.Correct = append(to.Correct, t.Correct[i])
		if t.Confidence != nil {
			to.Confidence = append(to.Confidence, t.Confidence[i])
		}
		if t.Lower != nil {
			to.Lower, to.Upper = append(to.Lower, t.Lower[i]), append(to.Upper, t.Upper[i])
		}
	}
	return fit, judged
}
