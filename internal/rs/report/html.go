package report

import (
	"fmt"
	"html"
	"strings"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/table"
)

const page = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>%s</title>
<style>
body { font: 16px/1.5 Arial, Helvetica, sans-serif; color: #111; background: #fff;
       max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin-top: 2rem; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: 0.15rem 0.7rem; border-bottom: 1px solid #ddd; vertical-align: top; overflow-wrap: anywhere; }
thead th { border-bottom: 2px solid #888; }
code, pre { font: 0.9em/1.45 "Liberation Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
pre { background: #f3f3f3; padding: 0.6rem 0.8rem; overflow-x: auto; }
svg { max-width: 100%%; height: auto; }
figure { margin: 1rem 0; }
figcaption { color: #444; font-size: 0.9rem; }
@media print { body { margin: 0; max-width: none; } pre { white-space: pre-wrap; } }
</style>
</head>
<body>
`

// html is the document as one page that needs no other file. It is well-formed XML, too.
func (d *document) html() string {
	var b strings.Builder
	fmt.Fprintf(&b, page, escapeHTML(d.title))
	fmt.Fprintf(&b, "<h1>%s</h1>\n", escapeHTML(d.title))
	for _, block := range d.blocks {
		switch v := block.(type) {
		case heading:
			fmt.Fprintf(&b, "<h2>%s</h2>\n", escapeHTML(string(v)))
		case paragraph:
			fmt.Fprintf(&b, "<p>%s</p>\n", v.html())
		case list:
			b.WriteString("<ul>\n")
			for _, item := range v {
				fmt.Fprintf(&b, "<li>%s</li>\n", item.html())
			}
			b.WriteString("</ul>\n")
		case *table.Table:
			b.WriteString(v.HTML() + "\n")
		case code:
			lines := make([]string, len(v))
			for i, line := range v {
				lines[i] = escapeHTML(line)
			}
			fmt.Fprintf(&b, "<pre>%s</pre>\n", strings.Join(lines, "\n"))
		case picture:
			fmt.Fprintf(&b, "<figure>\n%s\n<figcaption>%s</figcaption>\n</figure>\n", v.svg, escapeHTML(v.caption))
		}
	}
	b.WriteString("</body>\n</html>\n")
	return b.String()
}

// escapeHTML writes a text on one line, of characters that XML may hold.
func escapeHTML(text string) string { return html.EscapeString(printable.Line(text)) }

func (p paragraph) html() string {
	var b strings.Builder
	for _, s := range p {
		text := escapeHTML(s.text)
		switch s.style {
		case strong:
			text = "<strong>" + text + "</strong>"
		case literal:
			text = "<code>" + text + "</code>"
		}
		b.WriteString(text)
	}
	return b.String()
}
