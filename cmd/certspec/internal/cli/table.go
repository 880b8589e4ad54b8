package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/table"
)

// TableOptions say in which form tables are written, and where to.
type TableOptions struct{ Format, Out string }

// Flags adds --format and --out.
func (o *TableOptions) Flags(cmd *cobra.Command) {
	Group(cmd, Output, func(f *Flags) {
		f.Out(&o.Out, "file to write (default standard output)")
		f.Named(&o.Format, "format", "", "form of the table: "+strings.Join(table.Forms, ", ")+
			" (default the one that the ending of --out names, or markdown)", known(table.Forms...))
	})
}

// Form is the one that --format or --out names, markdown for standard output; empty: none has the ending of --out.
func (o *TableOptions) Form() string {
	form := o.Format
	if form == "" {
		form = table.FormOf(o.Out)
	}
	if form == "" && (o.Out == "" || o.Out == "-") {
		form = "markdown"
	}
	return form
}

// Write writes tables, with an empty line between them.
func (o *TableOptions) Write(cmd *cobra.Command, tables ...*table.Table) error {
	form := o.Form()
	var parts []string
	for _, t := range tables {
		text, ok := t.Render(form)
		switch {
		case ok:
			parts = append(parts, text)
		case o.Format != "":
			return Usagef("--format %s: expected %s", o.Format, List(table.Forms))
		default:
			return Usagef("--out %s: no form of a table has that ending; expected --format %s", o.Out,
				List(table.Forms))
		}
	}
	return WriteOut(cmd, o.Out, []byte(strings.Join(parts, "\n")))
}
