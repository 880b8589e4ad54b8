// Package table renders tables as HTML, Markdown, LaTeX, CSV and plain text.
package table

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"html"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/printable"
)

// Table is a table that renders itself as HTML, Markdown, LaTeX, CSV and plain text.
// A cell is a string, a number, a bool, or anything with a String method. CSV keeps numbers in full;
// the other forms round them. A column of numbers may have gaps, None.
type Table struct {
	Title   string   `json:"title,omitempty"`
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
	Notes   []string `json:"notes,omitempty"` // what a reader must know beside the numbers
}

// New is an empty table with these columns.
func New(columns ...string) *Table { return &Table{Columns: columns} }

// Add adds a row of cells, one for each column, and returns the table.
func (t *Table) Add(cells ...any) *Table {
	if len(cells) != len(t.Columns) {
		panic(fmt.Sprintf("table: a row of %d cells in a table of %d columns", len(cells), len(t.Columns)))
	}
	t.Rows = append(t.Rows, cells)
	return t
}

// None is a cell without a value in a column of numbers.
const None = "–"

// Rounded is a number that all forms but CSV show with that many decimals.
type Rounded struct {
	Value    float64
	Decimals int
}

func (r Rounded) String() string {
	s := strconv.FormatFloat(r.Value, 'f', r.Decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-") // a negative number that is shown as 0
	}
	return s
}

// String is the table as plain text.
func (t *Table) String() string {
	w := t.writer(func(s string) string { return s })
	w.Style().Box = pretty.StyleBoxLight
	s := w.Render()
	for _, note := range t.Notes {
		s += "\n" + line(note)
	}
	return s
}

// line is a note on its own line: names in it come from files that others made.
func line(note string) string { return printable.Line(strings.ReplaceAll(note, "\n", " ")) }

// HTML is the table as an HTML fragment that reads the same in a live notebook, in a saved page, and where a web site
// strips styles: alignment, against Jupyter's own; a wide table scrolls by itself, and its first column stays in sight.
func (t *Table) HTML() string {
	w := t.writerOf(func(text string) string { return breakable(html.EscapeString(text)) }, human)
	w.Style().HTML = pretty.HTMLOptions{CSSClass: "dataframe", EmptyColumn: "&nbsp;", Newline: "<br/>",
		EscapeText: false}
	s := w.RenderHTML()
	for _, side := range []string{"left", "right"} {
		s = strings.ReplaceAll(s, ` align="`+side+`"`, ` align="`+side+`" style="text-align:`+side+`"`)
	}
	if len(t.Columns) > widest {
		s = firstCell.ReplaceAllString(s, `${1}position:sticky;left:0;background:var(--jp-layout-color0,white);`)
	}
	s = `<div style="overflow-x:auto">` + s + "</div>"
	for _, note := range t.Notes {
		s += "\n<p><small>" + html.EscapeString(note) + "</small></p>"
	}
	// JupyterLab would set as mathematics what stands between two of them.
	return strings.ReplaceAll(s, "$", `<code style="all:unset">$</code>`)
}

// widest is the number of columns that a page has room for.
const widest = 8

var firstCell = regexp.MustCompile(`(<tr>\s*<t[dh] align="left" style=")`)

// breakable lets long words, as those of commands, break where a reader expects it.
func breakable(escaped string) string {
	words := strings.Split(escaped, " ")
	for i, word := range words {
		switch {
		case len(word) > 24:
			words[i] = breaks.Replace(word)
		case strings.HasPrefix(word, "--"): // a flag
			words[i] = `<span style="white-space:nowrap">` + word + "</span>"
		}
	}
	return strings.Join(words, " ")
}

var breaks = strings.NewReplacer("/", "/<wbr/>", "=", "=<wbr/>", "_", "_<wbr/>", ",", ",<wbr/>")

// Markdown is the table in the pipe form of GitHub.
func (t *Table) Markdown() string {
	w := t.writer(func(s string) string { return s }) // go-pretty escapes the pipes
	s := w.RenderMarkdown()
	for _, note := range t.Notes {
		s += "\n\n" + line(note)
	}
	return s + "\n"
}

// CSV is the table with its numbers in full, one header line first, without title and notes.
func (t *Table) CSV() string {
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

// Forms are the names of the forms, as Render takes them.
var Forms = []string{"markdown", "latex", "csv", "html", "text"}

// Render is the table in the form of that name; ok is whether there is one.
func (t *Table) Render(form string) (text string, ok bool) {
	switch form {
	case "markdown":
		return t.Markdown(), true
	case "latex":
		return t.LaTeX(), true
	case "csv":
		return t.CSV(), true
	case "html":
		return t.HTML() + "\n", true
	case "text":
		return t.String() + "\n", true
	}
	return "", false
}

// FormOf is the form that the extension of a file names; "" where there is none.
func FormOf(path string) string {
	return map[string]string{".html": "html", ".md": "markdown", ".tex": "latex", ".csv": "csv",
		".txt": "text"}[strings.ToLower(filepath.Ext(path))]
}

// Save writes the table in the form that the file's extension names: .html, .md, .tex, .csv or .txt.
func (t *Table) Save(path string) error {
	text, ok := t.Render(FormOf(path))
	if !ok {
		return fmt.Errorf("table %s: no form for extension %q; .html, .md, .tex, .csv or .txt expected", path,
			strings.ToLower(filepath.Ext(path)))
	}
	return atomicfile.Write(path, []byte(text))
}

// human is Format for people: digits in groups of three, and powers of ten as such.
func human(value any) string {
	s := format(value)
	f, ok := number(value)
	if !ok {
		return s
	}
	if digits, power, ok := strings.Cut(s, "e"); ok {
		n, err := strconv.Atoi(power)
		if err != nil {
			return s
		}
		return minus(digits) + " · 10" + raised.Replace(strconv.Itoa(n))
	}
	if _, chosen := value.(Rounded); !chosen && math.Abs(f) >= 1000 {
		s = printable.Grouped(f, 0)
	}
	return minus(s)
}

// minus writes a number with the sign that people write.
func minus(number string) string { return strings.Replace(number, "-", "−", 1) }

var raised = strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶",
	"7", "⁷", "8", "⁸", "9", "⁹")

// writer fills go-pretty's table with formatted cells, numbers to the right.
func (t *Table) writer(escape func(string) string) pretty.Writer { return t.writerOf(escape, format) }

func (t *Table) writerOf(escape func(string) string, format func(any) string) pretty.Writer {
	w := pretty.NewWriter()
	w.SuppressTrailingSpaces()
	w.Style().Format = pretty.FormatOptions{}
	if t.Title != "" {
		w.SetTitle("%s", escape(line(t.Title)))
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
			cells[i] = escape(format(cell))
		}
		w.AppendRow(cells)
	}
	return w
}

// numeric reports whether every cell of the column is a number or None, and at least one a number.
func (t *Table) numeric(column int) bool {
	some := false
	for _, row := range t.Rows {
		if column >= len(row) || row[column] == None {
			continue
		}
		if _, ok := number(row[column]); !ok {
			return false
		}
		some = true
	}
	return some
}

// number is the value of a cell that holds a floating-point number or an integer.
func number(cell any) (float64, bool) {
	if r, ok := cell.(Rounded); ok {
		return r.Value, true
	}
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

// format writes a value as tables and captions show it: integers in full, other numbers with
// three decimals, or three significant digits where that says too little.
func format(value any) string {
	if r, ok := value.(Rounded); ok {
		return r.String()
	}
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
