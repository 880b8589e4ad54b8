package report

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/certspec/certspec/table"
)

const preamble = `\documentclass[11pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage[margin=25mm]{geometry}
\usepackage{booktabs}
\setlength{\parindent}{0pt}
\setlength{\parskip}{6pt}
\sloppy
\begin{document}
`

// latex is the document for LaTeX, without the picture.
func (d *document) latex() string {
	var b strings.Builder
	b.WriteString(preamble)
	fmt.Fprintf(&b, "\\section*{%s}\n", table.EscapeLaTeX(d.title))
	for _, block := range d.blocks {
		switch v := block.(type) {
		case heading:
			fmt.Fprintf(&b, "\n\\subsection*{%s}\n", table.EscapeLaTeX(string(v)))
		case paragraph:
			fmt.Fprintf(&b, "\n%s\n", v.latex())
		case list:
			b.WriteString("\n\\begin{itemize}\n")
			for _, item := range v {
				fmt.Fprintf(&b, "\\item %s\n", item.latex())
			}
			b.WriteString("\\end{itemize}\n")
		case *table.Table:
			fmt.Fprintf(&b, "\n%s", latexTable(v))
		case code:
			b.WriteString("\n\\begin{flushleft}\\small\n")
			for _, line := range v {
				fmt.Fprintf(&b, "%s\\\\\n", teletype(line))
			}
			b.WriteString("\\end{flushleft}\n")
		}
	}
	b.WriteString("\\end{document}\n")
	return b.String()
}

func (p paragraph) latex() string {
	var b strings.Builder
	for _, s := range p {
		switch s.style {
		case strong:
			fmt.Fprintf(&b, "\\textbf{%s}", table.EscapeLaTeX(s.text))
		case literal:
			b.WriteString(teletype(s.text))
		default:
			b.WriteString(table.EscapeLaTeX(s.text))
		}
	}
	return b.String()
}

// teletype keeps two dashes apart, and lets long names break behind a slash, a colon, a comma or every 32 characters.
func teletype(text string) string {
	var b strings.Builder
	run := 0
	for _, r := range text {
		b.WriteString(table.EscapeLaTeX(string(r)))
		run++
		switch {
		case r == '-':
			b.WriteString("{}")
		case strings.ContainsRune("/:,", r) || run == 32:
			b.WriteString(`\allowbreak{}`)
			run = 0
		case r == ' ':
			run = 0
		}
	}
	return `\texttt{` + b.String() + "}"
}

var halfDigest = regexp.MustCompile(`[0-9a-f]{32}`)

// latexTable gives the texts of a table of facts room to break, and lets digests break in the middle.
func latexTable(t *table.Table) string {
	text := t.LaTeX()
	if len(t.Columns) == 2 {
		text = strings.Replace(text, "{ll}", `{p{0.38\textwidth}p{0.56\textwidth}}`, 1)
	}
	return halfDigest.ReplaceAllString(text, `$0\allowbreak{}`)
}
