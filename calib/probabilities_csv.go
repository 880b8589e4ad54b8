package calib

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ReadProbabilitiesCSV reads rows of probabilities from a CSV file with a header. Its columns, in any order, are label,
// the true class, and p0, p1, …, one for each class. Other columns are ignored.
//
// Errors name the file as name, with line and column: columns that are missing or given twice, values that are not
// numbers in [0, 1], labels that are no class; those of Check, with the file.
func ReadProbabilitiesCSV(name string, r io.Reader) (Probabilities, error) {
	file := newCSVFile(name, r)
	p := Probabilities{}
	header, err := file.csv.Read()
	if errors.Is(err, io.EOF) {
		return p, fmt.Errorf("%s: the file is empty, expected a header with the columns label, p0, p1, …", name)
	}
	if err != nil {
		return p, file.wrap(err)
	}
	names := make([]string, len(header))
	for i, h := range header {
		names[i] = strings.TrimSpace(h)
	}
	var columns []int // label, p0, p1, …
	for {
		want := "label"
		if k := len(columns); k > 0 {
			want = fmt.Sprintf("p%d", k-1)
		}
		at := find(names, want)
		if at < 0 && len(columns) < 3 {
			return p, fmt.Errorf("%s:1: no column %s; the header has %.40q; expected label, p0, p1, …", name, want,
				names[:min(len(names), 12)])
		}
		if at < 0 {
			break
		}
		if again := slices.Index(names[at+1:], names[at]); again >= 0 {
			return p, file.at(at+1+again, fmt.Errorf("a second column %s", want))
		}
		columns = append(columns, at)
	}
	p.Classes = len(columns) - 1
	for k, column := range names {
		if class, found := strings.CutPrefix(column, "p"); found && !slices.Contains(columns, k) {
			if n, err := strconv.Atoi(class); err == nil && n >= p.Classes {
				return p, file.at(k, fmt.Errorf("column %s without p%d", column, p.Classes))
			}
		}
	}
	for {
		record, err := file.csv.Read()
		if errors.Is(err, io.EOF) {
			if err := p.Check(); err != nil {
				return p, fmt.Errorf("%s: %w", name, err)
			}
			return p, nil
		}
		if err != nil {
			return p, file.wrap(err)
		}
		label, err := strconv.Atoi(strings.TrimSpace(record[columns[0]]))
		if err != nil || label < 0 || label >= p.Classes {
			return p, file.at(columns[0], fmt.Errorf("label is %.40q, expected a class from 0 to %d",
				record[columns[0]], p.Classes-1))
		}
		p.Labels = append(p.Labels, label)
		for k, at := range columns[1:] {
			v, err := file.unit(fmt.Sprintf("p%d", k), record[at])
			if err != nil {
				return p, file.at(at, err)
			}
			p.P = append(p.P, v)
		}
	}
}
