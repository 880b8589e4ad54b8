package table

import "strings"

// EscapeLaTeX writes a text so that LaTeX sets every character of it.
func EscapeLaTeX(text string) string { return latexEscapes.Replace(text) }

var latexEscapes = strings.NewReplacer(
	`\`, `\textbackslash{}`, `{`, `\{`, `}`, `\}`, `&`, `\&`, `%`, `\%`, `$`, `\$`, `#`, `\#`, `_`, `\_`,
	`~`, `\textasciitilde{}`, `^`, `\textasciicircum{}`, `<`, `\textless{}`, `>`, `\textgreater{}`,
	`σ`, `$\sigma$`, `α`, `$\alpha$`, `ε`, `$\varepsilon$`, `μ`, `$\mu$`, `Φ`, `$\Phi$`, `ℓ`, `$\ell$`,
	`₀`, `$_0$`, `₁`, `$_1$`, `₂`, `$_2$`, `∞`, `$\infty$`, `²`, `$^2$`,
	`≥`, `$\geq$`, `≤`, `$\leq$`, `±`, `$\pm$`, `×`, `$\times$`, `−`, `$-$`, `·`, `$\cdot$`, `–`, `--`, `…`, `\ldots{}`,
)

// LaTeX is the table as a tabular environment with booktabs rules; title and notes are comments
// above it, so that the text around decides on the caption. A document needs \usepackage{booktabs}.
func (t *Table) LaTeX() string {
	var s strings.Builder
	if t.Title != "" {
		s.WriteString("% " + t.Title + "\n")
	}
	for _, note := range t.Notes {
		s.WriteString("% " + strings.ReplaceAll(note, "\n", "\n% ") + "\n")
	}
	s.WriteString(`\begin{tabular}{`)
	for i := range t.Columns {
		if t.numeric(i) {
			s.WriteByte('r')
		} else {
			s.WriteByte('l')
		}
	}
	s.WriteString("}\n\\toprule\n")
	if strings.Join(t.Columns, "") != "" {
		header := make([]any, len(t.Columns))
		for i, name := range t.Columns {
			header[i] = name
		}
		latexRow(&s, header)
		s.WriteString("\\midrule\n")
	}
	for _, row := range t.Rows {
		latexRow(&s, row)
	}
	s.WriteString("\\bottomrule\n\\end{tabular}\n")
	return s.String()
}

func latexRow(s *strings.Builder, cells []any) {
	for i, cell := range cells {
		if i > 0 {
			s.WriteString(" & ")
		}
		s.WriteString(EscapeLaTeX(strings.ReplaceAll(Format(cell), "\n", " ")))
	}
	s.WriteString(" \\\\\n")
}
