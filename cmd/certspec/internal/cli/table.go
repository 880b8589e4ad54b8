package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/table"
)

// TableOptions say in which form tables are written, and where to.
type TableOptions struct {
	Format, Out string
	Drawn       []string // endings of figures that the command draws in the place of a table
}

// TableForms are the forms of tables, with their endings.
func TableForms() []string {
	return []string{"markdown .md", "latex .tex", "csv .csv", "html .html", "text .txt"}
}

// FigureForms are the endings of figures.
var FigureForms = []string{".svg", ".pdf", ".png"}

// Flags adds --format and --out.
func (o *TableOptions) Flags(cmd *cobra.Command) {
	Group(cmd, Output, func(f *Flags) {
		f.Out(&o.Out, "file to write (default standard output)", append(TableForms(), o.Drawn...)...)
		f.Named(&o.Format, "format", "", "form of the table: "+strings.Join(table.Forms, ", ")+
			" (default the one that the ending of --out names, or markdown)", known(table.Forms...))
	})
}

// Form is the one that --format or the ending of --out names, markdown where there is no ending; else it is empty.
func (o *TableOptions) Form() string {
	if form := cmp.Or(o.Format, table.FormOf(o.Out)); form != "" || endingOf(o.Out) != "" {
		return form
	}
	return "markdown"
}

// WriteUnder writes a table under a line, which is the first note of forms that have nothing above a table.
func (o *TableOptions) WriteUnder(cmd *cobra.Command, line string, tables ...*table.Table) error {
	switch {
	case line == "":
	case o.Form() == "markdown":
		return o.write(cmd, []string{printable.Line(line) + "\n"}, tables)
	default:
		tables[0].Notes = slices.Insert(tables[0].Notes, 0, line)
	}
	return o.write(cmd, nil, tables)
}

// Write writes tables, with an empty line between them.
func (o *TableOptions) Write(cmd *cobra.Command, tables ...*table.Table) error {
	return o.write(cmd, nil, tables)
}

// write puts parts before the tables.
func (o *TableOptions) write(cmd *cobra.Command, parts []string, tables []*table.Table) error {
	form := o.Form()
	for _, t := range tables {
		text, ok := t.Render(form)
		switch {
		case ok:
			parts = append(parts, text)
		case o.Format != "":
			return Usagef("--format %s: expected %s", o.Format, List(table.Forms))
		default:
			return Usagef("--out %s: no form of a table has that ending; expected .md, .tex, .csv, .html or .txt", o.Out)
		}
	}
	return WriteOut(cmd, o.Out, []byte(strings.Join(parts, "\n")))
}
