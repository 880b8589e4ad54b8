package report

import (
	"fmt"
	"strings"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/table"
)

// markdown is the document in the Markdown of GitHub, without the picture.
func (d *document) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", escapeMarkdown(d.title))
	for _, block := range d.blocks {
		switch v := block.(type) {
		case heading:
			fmt.Fprintf(&b, "\n## %s\n", escapeMarkdown(string(v)))
		case paragraph:
			fmt.Fprintf(&b, "\n%s\n", v.markdown())
		case list:
			b.WriteString("\n")
			for _, item := range v {
				fmt.Fprintf(&b, "- %s\n", item.markdown())
			}
		case *table.Table:
			fmt.Fprintf(&b, "\n%s", markdownTable(v))
		case code:
			// Indented: no line can end the block.
			b.WriteString("\n")
			for _, line := range v {
				fmt.Fprintf(&b, "    %s\n", printable.Line(line))
			}
		}
	}
	return b.String()
}

func (p paragraph) markdown() string {
	var b strings.Builder
	for _, s := range p {
		text := escapeMarkdown(s.text)
		switch s.style {
		case strong:
			text = "**" + text + "**"
		case literal:
			text = codeSpan(s.text)
		}
		b.WriteString(text)
	}
	return b.String()
}

// codeSpan fences a literal with more backticks than stand in it.
func codeSpan(text string) string {
	text = printable.Line(strings.Join(strings.Fields(text), " "))
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`,
	`<`, `&lt;`, `>`, `&gt;`, `&`, `&amp;`, `#`, `\#`, `~`, `\~`, `$`, `\$`, "\n", " ", "\r", " ")

func escapeMarkdown(text string) string { return printable.Line(markdownEscapes.Replace(text)) }

// markdownTable escapes the texts of a table; the table itself escapes pipes.
func markdownTable(t *table.Table) string {
	escaped := &table.Table{Rows: make([][]any, len(t.Rows))}
	for _, c := range t.Columns {
		escaped.Columns = append(escaped.Columns, escapeMarkdown(c))
	}
	for i, row := range t.Rows {
		for _, cell := range row {
			if s, ok := cell.(string); ok {
				cell = escapeMarkdown(s)
			}
			escaped.Rows[i] = append(escaped.Rows[i], cell)
		}
	}
	for _, note := range t.Notes {
		escaped.Notes = append(escaped.Notes, escapeMarkdown(note))
	}
	return escaped.Markdown()
}
