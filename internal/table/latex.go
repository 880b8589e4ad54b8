package table

import (
	"fmt"
	"strings"
	"unicode"
)

// EscapeLaTeX writes a text so that LaTeX sets every character of it. Control characters become blanks, and those that
// pdflatex has no letters for their numbers, e.g. [U+56FE].
func EscapeLaTeX(text string) string {
	var b strings.Builder
	for _, r := range latexEscapes.Replace(text) {
		switch {
		case unicode.IsControl(r):
			b.WriteByte(' ')
		case r > 0x17f:
			fmt.Fprintf(&b, "[U+%04X]", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

var latexEscapes = strings.NewReplacer(
	`\`, `\textbackslash{}`, `{`, `\{`, `}`, `\}`, `&`, `\&`, `%`, `\%`, `$`, `\$`, `#`, `\#`, `_`, `\_`,
	`[`, `{[}`, `]`, `{]}`, `*`, `{*}`, // which \\ and \item would take for themselves
	`~`, `\textasciitilde{}`, `^`, `\textasciicircum{}`, `<`, `\textless{}`, `>`, `\textgreater{}`,
	`σ`, `$\sigma$`, `α`, `$\alpha$`, `ε`, `$\varepsilon$`, `μ`, `$\mu$`, `Φ`, `$\Phi$`, `ℓ`, `$\ell$`,
	`⁻¹`, `$^{-1}$`, `¹`, `$^1$`, `½`, `$\frac12$`, `√`, `$\surd$`, `→`, `$\to$`, `“`, "``", `”`, `''`, `’`, `'`,
	`₀`, `$_0$`, `₁`, `$_1$`, `₂`, `$_2$`, `∞`, `$\infty$`, `²`, `$^2$`,
	`≥`, `$\geq$`, `≤`, `$\leq$`, `±`, `$\pm$`, `×`, `$\times$`, `−`, `$-$`, `·`, `$\cdot$`, `–`, `--`, `…`, `\ldots{}`,
)

// LaTeX is the table as a tabular environment with booktabs rules; title and notes are comments
// above it, so that the text around decides on the caption. A document needs \usepackage{booktabs}.
func (t *Table) LaTeX() string {
	var s strings.Builder
	if t.Title != "" {
		latexComment(&s, t.Title)
	}
	for _, note := range t.Notes {
		latexComment(&s, note)
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

// latexComment begins a comment again behind every line end, of which TeX takes a carriage return for one.
func latexComment(s *strings.Builder, text string) {
	s.WriteString("% " + strings.NewReplacer("\r\n", "\n% ", "\r", "\n% ", "\n", "\n% ").Replace(text) + "\n")
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
