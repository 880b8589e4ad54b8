package study

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/rs"
)

// Key names a column: a value for each image of a set, found on one network.
type Key struct {
	Network string // as in A/c10/g@1
	Set     string // as in clean or fog-3
	Name    string // as in radius
}

// Column has a value for each image of a set.
type Column struct {
	Key
	Images []int     // ids, ascending
	Labels []int     // right answers; in files whose heading is correct 1 or 0
	Values []float64 // NaN: none
	Marks  []string  // why there is no number: "a" (abstained) or "x" (wrong); "" beside a number
}

// Marks of images without a number.
const (
	abstained = "a" // no class
	wrong     = "x" // another class than the label
)

// ColumnOf has a number of each labelled image of a ledger whose class is right.
func ColumnOf(key Key, rows rs.Rows, of func(rs.Row) float64) *Column {
	c := &Column{Key: key}
	labelled := slices.DeleteFunc(slices.Clone(rows), func(row rs.Row) bool { return row.Label < 0 })
	slices.SortFunc(labelled, func(a, b rs.Row) int { return a.Image - b.Image })
	for _, row := range labelled {
		value, mark := math.NaN(), wrong
		switch {
		case row.Correct():
			value, mark = of(row), ""
		case !row.Certified():
			mark = abstained
		}
		c.Images, c.Labels = append(c.Images, row.Image), append(c.Labels, row.Label)
		c.Values, c.Marks = append(c.Values, value), append(c.Marks, mark)
	}
	return c
}

// Form says how a file of columns is written: image, Label, and a column for each set and name.
type Form struct {
	Suffix   string // of the file's name, behind the network's
	Label    string // heading of the second column: label, or correct
	Decimals int    // of values; −1: as many as they need
	Most     float64
	Least    float64
	// Gaps says that an image without a value is part of the column. Else it is not one of the
	// set's images.
	Gaps bool
	// Column is the column of a heading, Heading the heading of a column.
	Column  func(heading string) (set, name string)
	Heading func(set, name string) string
}

// forms of the files of results. The last one is for new measures.
var forms = []Form{
	fixedName(".shares.csv", "share", 1),
	fixedSet(".calibration.csv", "correct", "confidences", 0, 1, 6),
	{Suffix: ".attacks.csv", Label: "correct", Decimals: 6, Most: 1, Gaps: true,
		Column:  func(h string) (string, string) { return h, "confidence" },
		Heading: func(set, _ string) string { return set }},
	fixedSet(".predictions.csv", "label", "clean", -1, math.Inf(1), -1),
	{Suffix: ".columns.csv", Label: "label", Decimals: -1, Least: math.Inf(-1), Most: math.Inf(1),
		Column: func(h string) (string, string) {
			set, name, _ := strings.Cut(h, ": ")
			return set, name
		},
		Heading: func(set, name string) string { return set + ": " + name }},
	fixedName(".csv", "radius", math.MaxFloat64),
}

// fixedName is the form of a file whose headings are sets.
func fixedName(suffix, name string, most float64) Form {
	return Form{Suffix: suffix, Label: "label", Decimals: -1, Most: most,
		Column:  func(h string) (string, string) { return h, name },
		Heading: func(set, _ string) string { return set }}
}

// fixedSet is the form of a file whose headings are names.
func fixedSet(suffix, label, set string, least, most float64, decimals int) Form {
	return Form{Suffix: suffix, Label: label, Decimals: decimals, Least: least, Most: most, Gaps: true,
		Column:  func(h string) (string, string) { return set, h },
		Heading: func(_, name string) string { return name }}
}

// FormOf is the form of a file by its name.
func FormOf(file string) (Form, bool) {
	i := slices.IndexFunc(forms, func(f Form) bool { return strings.HasSuffix(file, f.Suffix) })
	if i < 0 {
		return Form{}, false
	}
	return forms[i], true
}

// ReadColumns reads the text of a file, in the order of its headings.
//
// Errors: headings that are not those of the form, or twice there; images that do not ascend; a
// value out of the form's range.
func (f Form) ReadColumns(text []byte, network string) ([]*Column, error) {
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(records) == 0 || len(records[0]) < 3 || records[0][0] != "image" || records[0][1] != f.Label {
		return nil, fmt.Errorf("its first line does not begin with image,%s and a column", f.Label)
	}
	columns := make([]*Column, len(records[0])-2)
	seen := map[Key]bool{}
	for k, heading := range records[0][2:] {
		c := &Column{Key: Key{Network: network}}
		c.Set, c.Name = f.Column(heading)
		if seen[c.Key] {
			return nil, fmt.Errorf("the column %q is there twice", heading)
		}
		columns[k], seen[c.Key] = c, true
	}
	last := -1
	for n, record := range records[1:] {
		image, err1 := strconv.Atoi(record[0])
		label, err2 := strconv.Atoi(record[1])
		if err := errors.Join(err1, err2); err != nil || image <= last || label < 0 || f.Label == "correct" && label > 1 {
			expected := "ascending numbers"
			if f.Label == "correct" {
				expected += ", and 0 or 1"
			}
			return nil, fmt.Errorf("line %d: image %q with %s %q; expected %s", n+2, record[0], f.Label, record[1], expected)
		}
		last = image
		for k, text := range record[2:] {
			if err := f.take(columns[k], image, label, text); err != nil {
				return nil, fmt.Errorf("line %d: %q in %s; expected %w", n+2, text, records[0][2+k], err)
			}
		}
	}
	for k, c := range columns {
		if len(c.Images) == 0 {
			return nil, fmt.Errorf("the column %q is empty", records[0][2+k])
		}
	}
	return columns, nil
}

// take adds an image to a column. The error says what was expected.
func (f Form) take(c *Column, image, label int, text string) error {
	value, mark := math.NaN(), ""
	switch {
	case text == "" && !f.Gaps:
		return nil
	case text == "":
	case text == abstained || text == wrong:
		mark = text
	default:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= f.Least && v <= f.Most) {
			return fmt.Errorf("a number from %g to %g, %q or %q", f.Least, f.Most, abstained, wrong)
		}
		value = v
	}
	c.Images, c.Labels = append(c.Images, image), append(c.Labels, label)
	c.Values, c.Marks = append(c.Values, value), append(c.Marks, mark)
	return nil
}

// Text is the content of a file of columns. An image has one label in all of them.
func (f Form) Text(columns []*Column) []byte {
	labels := map[int]int{}
	cells := make([]map[int]string, len(columns))
	header := []string{"image", f.Label}
	for k, c := range columns {
		header, cells[k] = append(header, f.Heading(c.Set, c.Name)), map[int]string{}
		for i, image := range c.Images {
			labels[image] = c.Labels[i]
			cells[k][image] = c.Marks[i]
			if !math.IsNaN(c.Values[i]) {
				cells[k][image] = strconv.FormatFloat(c.Values[i], 'f', f.Decimals, 64)
			}
		}
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write(header)
	for _, image := range slices.Sorted(maps.Keys(labels)) {
		record := []string{strconv.Itoa(image), strconv.Itoa(labels[image])}
		for k := range cells {
			record = append(record, cells[k][image])
		}
		w.Write(record)
	}
	w.Flush()
	return b.Bytes()
}
