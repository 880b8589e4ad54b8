package table

import (
	"fmt"
	"regexp"
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
	`⁻¹`, `$^{-1}$`, `½`, `$\frac12$`, `√`, `$\surd$`, `→`, `$\to$`, `“`, "``", `”`, `''`, `’`, `'`,
	`₀`, `$_0$`, `₁`, `$_1$`, `₂`, `$_2$`, `∞`, `$\infty$`,
	`⁻`, `$^-$`, `⁰`, `$^0$`, `¹`, `$^1$`, `²`, `$^2$`, `³`, `$^3$`, `⁴`, `$^4$`, `⁵`, `$^5$`, `⁶`, `$^6$`,
	`⁷`, `$^7$`, `⁸`, `$^8$`, `⁹`, `$^9$`, `≥`, `$\geq$`, `≤`, `$\leq$`, `±`, `$\pm$`,
	`×`, `$\times$`, `−`, `$-$`, `·`, `$\cdot$`, `–`, `--`, `…`, `\ldots{}`,
)

// LaTeX is the table as a tabular environment with booktabs rules; title and notes are comments
// above it, so that the text around decides on the caption. Numbers are as people read them. A
// document needs \usepackage{booktabs}.
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
		header := make([]string, len(t.Columns))
		for i, name := range t.Columns {
			header[i] = equation.ReplaceAllString(EscapeLaTeX(name), "$$$1$$")
		}
		s.WriteString(strings.Join(header, " & ") + " \\\\\n")
		s.WriteString("\\midrule\n")
	}
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = EscapeLaTeX(strings.ReplaceAll(human(cell), "\n", " "))
		}
		s.WriteString(strings.Join(cells, " & ") + " \\\\\n")
	}
	s.WriteString("\\bottomrule\n\\end{tabular}\n")
	return s.String()
}

// equation is the name of a column such as r = 0.25.
var equation = regexp.MustCompile(`^([a-zA-Z] = [\d.]+)$`)

// latexComment begins a comment again behind every line end, of which TeX takes a carriage return for one.
func latexComment(s *strings.Builder, text string) {
	s.WriteString("% " + strings.NewReplacer("\r\n", "\n% ", "\r", "\n% ", "\n", "\n% ").Replace(text) + "\n")
}
