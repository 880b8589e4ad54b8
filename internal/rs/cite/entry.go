// Package cite says in BibTeX what a certification rests on: this software, the papers of its method, the
// model, and the ledger itself.
package cite

import (
	"fmt"
	"strings"

	"github.com/certspec/certspec/internal/printable"
)

// Entry is an entry of a bibliography.
type Entry struct {
	Type   string // article, inproceedings, software or misc
	Key    string
	Fields []Field // in the order in which they are written
}

// Field is one field of an entry.
type Field struct{ Name, Value string }

// String is the entry in BibTeX.
func (e Entry) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "@%s{%s,\n", e.Type, e.Key)
	for _, f := range e.Fields {
		fmt.Fprintf(&b, "  %s = {%s},\n", f.Name, f.Value)
	}
	b.WriteString("}\n")
	return b.String()
}

// special are the characters that mean something to TeX.
var special = strings.NewReplacer(`\`, `\textbackslash{}`, `{`, `\{`, `}`, `\}`, `$`, `\$`, `&`, `\&`, `#`, `\#`, `%`,
	`\%`, `_`, `\_`,
	`^`, `\textasciicircum{}`, `~`, `\textasciitilde{}`, "\n", " ", "σ", `$\sigma$`, "α", `$\alpha$`, "≤", `$\le$`)

// tex makes plain text safe for TeX.
func tex(text string) string {
	return special.Replace(printable.Line(strings.ReplaceAll(text, "\n", " ")))
}
