package nb

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/certspec/certspec/table"
)

// Tabular is a table that renders itself. Its methods HTML, Markdown, LaTeX, CSV and String give its forms; Save writes
// the one that a file's extension names. Its fields are Title, Columns, Rows, whose cells are strings, numbers, bools,
// or anything with a String method, and Notes, what a reader must know beside the numbers.
type Tabular = table.Table

// Table makes a table of certification runs (one row each), of a result that Show puts in the page with one (a sweep, a
// comparison, certified confidences), of a slice of structs (one row each, one column per exported field), or of one
// struct. A column is named by the field's tag nb, as it stands there, else
// by its name in JSON, with spaces for underscores; "-" leaves it out.
func Table(sources ...any) *Tabular {
	t, err := tabulate(sources)
	end(err)
	return t
}

// Columns is an empty table with these columns, to be filled by its method Add.
func Columns(names ...string) *Tabular { return table.New(names...) }

// Facts makes a table of two columns from names and values in turn.
func Facts(namesAndValues ...any) *Tabular {
	t := &Tabular{Columns: []string{"", ""}}
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		t.Rows = append(t.Rows, namesAndValues[i:i+2])
	}
	if len(namesAndValues)%2 != 0 {
		panic("nb: Facts needs names and values in turn")
	}
	return t
}

// structs makes a table of structs of one type.
func structs(rows reflect.Value) *Tabular {
	t := &Tabular{}
	kind := rows.Type().Elem()
	var fields []int
	for i := range kind.NumField() {
		field := kind.Field(i)
		name, chosen := field.Tag.Lookup("nb")
		if !chosen {
			name, _, _ = strings.Cut(field.Tag.Get("json"), ",")
			name = strings.ReplaceAll(cmp.Or(name, strings.ToLower(field.Name)), "_", " ")
		}
		if !field.IsExported() || name == "-" {
			continue
		}
		fields = append(fields, i)
		t.Columns = append(t.Columns, name)
	}
	for i := range rows.Len() {
		var row []any
		for _, f := range fields {
			row = append(row, rows.Index(i).Field(f).Interface())
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// isTable reports whether a value of the type is shown as a table: a slice of structs without a String method.
func isTable(t reflect.Type) bool {
	return t != nil && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct
}

// openRows is how many rows a page shows of a table; of a longer one it shows some at both ends.
const openRows, endRows = 1000, 25

// shortened is a table of its first and last rows. All rows go into a file beside the notebook.
func shortened(t *Tabular) *Tabular {
	file := fileName(cmp.Or(t.Title, strings.Join(t.Columns, " "), "table")) + ".csv"
	note := fmt.Sprintf("%d rows, of which the first and last %d are shown; all are in %s beside the notebook",
		len(t.Rows), endRows, file)
	if err := t.Save(file); err != nil {
		note = fmt.Sprintf("%d rows, of which the first and last %d are shown; the file of all could not be written: %v",
			len(t.Rows), endRows, err)
	}
	gap := make([]any, len(t.Columns))
	for i := range gap {
		gap[i] = table.None
	}
	rows := append(append(slices.Clone(t.Rows[:endRows]), gap), t.Rows[len(t.Rows)-endRows:]...)
	return &Tabular{Title: t.Title, Columns: t.Columns, Rows: rows, Notes: append(slices.Clone(t.Notes), note)}
}

func tableBundle(t *Tabular) map[protocol.MIMEType]any {
	if len(t.Rows) > openRows {
		t = shortened(t)
	}
	return map[protocol.MIMEType]any{protocol.MIMETextPlain: t.String(), protocol.MIMETextHTML: tablePage(t)}
}
