package table

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nasty holds what each form must escape.
const nasty = `a_b & 50% <c> #1 {x} \y ~z ^2 $ "q", |p| σ ≥ ½`

func nastyTable() *Table {
	return &Table{Title: "T & T", Columns: []string{"name <b>", "value_1"},
		Rows: [][]any{{nasty, 0.25}, {"plain", 1234567.0}}, Notes: []string{"n < 5 & more"}}
}

// cells reads the text of all td and th elements; the fragment must be well-formed XML.
func cells(t *testing.T, fragment string) []string {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader("<all>" + fragment + "</all>"))
	dec.Entity = xml.HTMLEntity
	var out []string
	inside := false
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatalf("not well-formed: %v in\n%s", err, fragment)
		}
		switch v := token.(type) {
		case xml.StartElement:
			if v.Name.Local == "td" || v.Name.Local == "th" {
				inside = true
				out = append(out, "")
			} else if inside && v.Name.Local != "code" { // of $
				t.Fatalf("element %s inside a cell: text was not escaped", v.Name.Local)
			}
		case xml.EndElement:
			if v.Name.Local == "td" || v.Name.Local == "th" {
				inside = false
			}
		case xml.CharData:
			if inside {
				out[len(out)-1] += string(v)
			}
		}
	}
}

func TestHTMLKeepsEveryCharacter(t *testing.T) {
	got := cells(t, nastyTable().HTML())
	want := []string{"name <b>", "value_1", nasty, "0.250", "plain", "1.23 · 10⁶"}
	if strings.Join(got, "\x00") != strings.Join(want, "\x00") {
		t.Errorf("cells are %q, want %q", got, want)
	}
	if html := nastyTable().HTML(); strings.Count(html, `style="text-align:left"`) != 3 || strings.Count(html, `style="text-align:right"`) != 3 {
		t.Errorf("words should stand left and numbers right:\n%s", html)
	} else if !strings.Contains(html, "$") || strings.Contains(strings.ReplaceAll(html, ">$</code>", ""), "$") {
		t.Errorf("a dollar sign may begin mathematics:\n%s", html)
	}
}

func TestCSVReadsBackInFull(t *testing.T) {
	table := nastyTable()
	table.Rows[0][1] = 1.0 / 3
	records, err := csv.NewReader(strings.NewReader(table.CSV())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 3 || records[1][0] != nasty || records[1][1] != "0.3333333333333333" || records[2][1] != "1.234567e+06" {
		t.Errorf("records are %q", records)
	}
}

func TestMarkdownPipesStayInTheirCells(t *testing.T) {
	for line := range strings.Lines(strings.TrimSpace(nastyTable().Markdown())) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		bare := strings.ReplaceAll(line, `\|`, "")
		if n := strings.Count(bare, "|"); n != 3 {
			t.Errorf("%q has %d cell borders, want 3", line, n)
		}
	}
}

// unescape undoes LaTeX's escapes, and fails on a special character that has none.
func unescape(t *testing.T, s string) string {
	t.Helper()
	var out strings.Builder
	words := []struct{ tex, is string }{
		{`\textbackslash{}`, `\`}, {`\textasciitilde{}`, "~"}, {`\textasciicircum{}`, "^"}, {`\textless{}`, "<"}, {`\textgreater{}`, ">"},
		{`$\sigma$`, "σ"}, {`$\frac12$`, "½"}, {`$\geq$`, "≥"}, {`\{`, "{"}, {`\}`, "}"}, {`\&`, "&"}, {`\%`, "%"}, {`\$`, "$"}, {`\#`, "#"}, {`\_`, "_"},
	}
next:
	for s != "" {
		for _, w := range words {
			if strings.HasPrefix(s, w.tex) {
				out.WriteString(w.is)
				s = s[len(w.tex):]
				continue next
			}
		}
		if strings.ContainsAny(s[:1], `\{}&%$#_~^<>`) {
			t.Fatalf("unescaped %q before %q", s[:1], s)
		}
		out.WriteByte(s[0])
		s = s[1:]
	}
	return out.String()
}

func TestLaTeXEscapes(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(nastyTable().LaTeX()), "\n")
	var rows []string
	for _, line := range lines {
		if body, ok := strings.CutSuffix(line, ` \\`); ok {
			rows = append(rows, body)
		} else if !strings.HasPrefix(line, "%") && !strings.HasPrefix(line, `\`) {
			t.Errorf("stray line %q", line)
		}
	}
	if len(rows) != 3 {
		t.Fatalf("%d rows, want 3:\n%s", len(rows), strings.Join(lines, "\n"))
	}
	if got := EscapeLaTeX("[*]a\x00b\n图é"); got != "{[}{*}{]}a b [U+56FE]é" {
		t.Errorf("%q", got)
	}
	if got := (&Table{Title: "a\rb\n", Notes: []string{"c\r\n\\end{document}\rd"}}).LaTeX(); !strings.HasPrefix(got, "% a\n% b\n% \n% c\n% \\end{document}\n% d\n\\begin") {
		t.Errorf("title and notes are %q", got)
	}
	body, value, _ := strings.Cut(rows[1], " & ")
	if got := unescape(t, body); got != nasty || value != "0.250" {
		t.Errorf("row reads %q, %q; want %q, 0.250", got, value, nasty)
	}
	if lines[2] != `\begin{tabular}{lr}` {
		t.Errorf("line %q, want the numbers to the right: \\begin{tabular}{lr}", lines[2])
	}
}

// A page and a paper have digits in groups and powers of ten; other forms are for programs, too.
func TestHuman(t *testing.T) {
	for value, want := range map[any]string{999: "999", 1000: "1,000", 4180.4: "4,180", 100_000: "100,000", -12_345: "−12,345", -0.25: "−0.250", -7e-5: "−7 · 10⁻⁵", 7e-5: "7 · 10⁻⁵", 0.25: "0.250",
		"1e5": "1e5", 0: "0"} {
		if got := human(value); got != want {
			t.Errorf("%v reads %q, want %q", value, got, want)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{0.25, "0.250"}, {0.0, "0.000"}, {-0.0004, "-0.0004"}, {1e-12, "1e-12"}, {123.4567, "123.457"}, {4180.4, "4180"},
		{10000, "10000"}, {uint8(7), "7"}, {float32(0.5), "0.500"}, {"s", "s"}, {true, "true"}, {nil, ""},
	} {
		if got := format(c.value); got != c.want {
			t.Errorf("format(%v) = %q, want %q", c.value, got, c.want)
		}
	}
}

func TestSaveTableByExtension(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	table := nastyTable()
	for ext, want := range map[string]string{
		".html": table.HTML() + "\n", ".md": table.Markdown(), ".tex": table.LaTeX(), ".csv": table.CSV(), ".TXT": table.String() + "\n",
	} {
		path := filepath.Join(dir, "t"+ext)
		if err := table.Save(path); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, []byte(want)) {
			t.Errorf("%s holds %q (%v)", ext, got, err)
		}
	}
	if err := table.Save(filepath.Join(dir, "t.xls")); err == nil || !strings.Contains(err.Error(), ".xls") {
		t.Errorf("unknown extension: %v", err)
	}
	if names, _ := os.ReadDir(dir); len(names) != 5 {
		t.Errorf("%d files, want 5 and no left-over", len(names))
	}
}

// A column of numbers with a gap stays one of numbers, and each form but CSV rounds as the cell says.
func TestRoundedAndNone(t *testing.T) {
	table := &Table{Columns: []string{"name", "ACR"}, Rows: [][]any{{"a", Rounded{0.12345678, 4}}, {"b", None}}}
	tex := table.LaTeX()
	for _, want := range []string{`\begin{tabular}{lr}`, `a & 0.1235 \\`, `b & -- \\`} {
		if !strings.Contains(tex, want) {
			t.Errorf("no %q in\n%s", want, tex)
		}
	}
	if got := table.CSV(); got != "name,ACR\na,0.12345678\nb,–\n" {
		t.Errorf("CSV %q", got)
	}
	for want, r := range map[string]Rounded{"0.00": {-0.004, 2}, "0": {-0.4, 0}, "-0.01": {-0.006, 2}, "-10": {-10, 0}} {
		if got := r.String(); got != want {
			t.Errorf("%+v is shown as %s; expected %s", r, got, want)
		}
	}
}
