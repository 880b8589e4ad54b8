package nb

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"html"
	"math"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/janpfeifer/gonb/gonbui/protocol"
	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Tabular is a table that renders itself as HTML, Markdown, LaTeX, CSV and plain text.
// A cell is a string, a number, a bool, or anything with a String method. CSV keeps numbers in full;
// the other forms round them.
type Tabular struct {
	Title   string   `json:"title,omitempty"`
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
	Notes   []string `json:"notes,omitempty"` // what a reader must know beside the numbers
}

// Table makes a table of certification runs (one row each), of a slice of structs (one row each,
// one column per exported field), or of one struct.
func Table(sources ...any) *Tabular {
	t, err := tabulate(sources)
	end(err)
	return t
}

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
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = strings.ToLower(field.Name)
		}
		fields = append(fields, i)
		t.Columns = append(t.Columns, strings.ReplaceAll(name, "_", " "))
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

// String is the table as plain text.
func (t *Tabular) String() string {
	w := t.writer(func(s string) string { return s })
	w.Style().Box = pretty.StyleBoxLight
	s := w.Render()
	for _, note := range t.Notes {
		s += "\n" + note
	}
	return s
}

// HTML is the table as an HTML fragment that reads the same in a live notebook, in a saved page,
// and where a web site strips styles: the only style is the alignment, against Jupyter's own.
func (t *Tabular) HTML() string {
	w := t.writer(html.EscapeString)
	w.Style().HTML = pretty.HTMLOptions{CSSClass: "dataframe", EmptyColumn: "&nbsp;", Newline: "<br/>", EscapeText: false}
	s := w.RenderHTML()
	for _, side := range []string{"left", "right"} {
		s = strings.ReplaceAll(s, ` align="`+side+`"`, ` align="`+side+`" style="text-align:`+side+`"`)
	}
	for _, note := range t.Notes {
		s += "\n<p><small>" + html.EscapeString(note) + "</small></p>"
	}
	return s
}

// Markdown is the table in the pipe form of GitHub.
func (t *Tabular) Markdown() string {
	w := t.writer(func(s string) string { return s }) // go-pretty escapes the pipes
	s := w.RenderMarkdown()
	for _, note := range t.Notes {
		s += "\n\n" + note
	}
	return s + "\n"
}

// CSV is the table with its numbers in full, one header line first, without title and notes.
func (t *Tabular) CSV() string {
	var buffer bytes.Buffer
	w := csv.NewWriter(&buffer)
	_ = w.Write(t.Columns) // a bytes.Buffer takes everything
	for _, row := range t.Rows {
		record := make([]string, len(row))
		for i, cell := range row {
			if f, ok := number(cell); ok {
				record[i] = strconv.FormatFloat(f, 'g', -1, 64)
			} else {
				record[i] = fmt.Sprint(cell)
			}
		}
		_ = w.Write(record)
	}
	w.Flush()
	return buffer.String()
}

// Save writes the table in the form that the file's extension names: .html, .md, .tex, .csv or .txt.
func (t *Tabular) Save(path string) error {
	var s string
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".html":
		s = t.HTML() + "\n"
	case ".md":
		s = t.Markdown()
	case ".tex":
		s = t.LaTeX()
	case ".csv":
		s = t.CSV()
	case ".txt":
		s = t.String() + "\n"
	default:
		return fmt.Errorf("table %s: no form for extension %q; .html, .md, .tex, .csv or .txt expected", path, ext)
	}
	return writeFile(path, []byte(s))
}

func (t *Tabular) bundle() map[protocol.MIMEType]any {
	return map[protocol.MIMEType]any{protocol.MIMETextPlain: t.String(), protocol.MIMETextHTML: t.HTML()}
}

// writer fills go-pretty's table with formatted cells, numbers to the right.
func (t *Tabular) writer(escape func(string) string) pretty.Writer {
	w := pretty.NewWriter()
	w.SuppressTrailingSpaces()
	w.Style().Format = pretty.FormatOptions{}
	if t.Title != "" {
		w.SetTitle("%s", escape(t.Title))
	}
	header := make(pretty.Row, len(t.Columns))
	configs := make([]pretty.ColumnConfig, len(t.Columns))
	named := false
	for i, name := range t.Columns {
		header[i] = escape(name)
		named = named || name != ""
		configs[i] = pretty.ColumnConfig{Number: i + 1, Align: text.AlignLeft, AlignHeader: text.AlignLeft}
		if t.numeric(i) {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
	}
	if named {
		w.AppendHeader(header)
	}
	w.SetColumnConfigs(configs)
	for _, row := range t.Rows {
		cells := make(pretty.Row, len(row))
		for i, cell := range row {
			cells[i] = escape(Format(cell))
		}
		w.AppendRow(cells)
	}
	return w
}

// numeric reports whether every cell of the column is a number.
func (t *Tabular) numeric(column int) bool {
	for _, row := range t.Rows {
		if column < len(row) {
			if _, ok := number(row[column]); !ok {
				return false
			}
		}
	}
	return len(t.Rows) > 0
}

// number is the value of a cell that holds a floating-point number or an integer.
func number(cell any) (float64, bool) {
	switch v := reflect.ValueOf(cell); {
	case !v.IsValid():
		return 0, false
	case v.CanInt():
		_, named := cell.(fmt.Stringer) // a named integer with a String method is text
		return float64(v.Int()), !named
	case v.CanUint():
		return float64(v.Uint()), true
	case v.CanFloat():
		return v.Float(), true
	}
	return 0, false
}

// Format writes a value as tables and captions show it: integers in full, other numbers with
// three decimals, or three significant digits where that says too little.
func Format(value any) string {
	f, ok := number(value)
	switch v := reflect.ValueOf(value); {
	case value == nil:
		return ""
	case !ok:
		return fmt.Sprint(value)
	case v.CanInt() || v.CanUint():
		return fmt.Sprint(value)
	case f != 0 && (math.Abs(f) < 0.001 || math.Abs(f) >= 1e6):
		return strconv.FormatFloat(f, 'g', 3, 64)
	case math.Abs(f) >= 1000:
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'f', 3, 64)
}
