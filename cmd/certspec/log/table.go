package log

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/rs/certlog"
	"github.com/certspec/certspec/internal/table"
)

// tableOptions are what the flags of "log table" ask.
type tableOptions struct {
	logOptions
	names []string
	table cli.TableOptions
	json  *bool
}

func tableCommand() *cobra.Command {
	var o tableOptions
	cmd := &cobra.Command{
		Use:   "table FILE…",
		Short: "A table of methods and radii, for a paper or a page",
		Long: `A table with a row per ledger or published log: certified accuracy at each radius and average
certified radius, as Markdown, LaTeX (booktabs), CSV, HTML or text. CSV has all digits.`,
		Example: "  certspec log table a.ledger b.tsv --names \"ours,Cohen et al.\" --radii 0,0.25,0.5 -o table.tex",
	}

	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Words(&o.names, "names", nil, "what stands for the files, in their order (default the names of the files)", nil)
		o.logOptions.flags(f)
	})
	o.table.Flags(cmd)
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error { return o.run(cmd, files) }
	return cmd
}

func (o *tableOptions) run(cmd *cobra.Command, files []string) error {
	switch {
	case len(files) == 0:
		return cli.Usagef("%s wants at least one file", cmd.CommandPath())
	case cmd.Flags().Changed("names") && len(o.names) != len(files):
		return cli.Usagef("--names has %d names for %d files", len(o.names), len(files))
	case !cmd.Flags().Changed("names"):
		o.names = nil
		for _, file := range files {
			base := filepath.Base(file)
			o.names = append(o.names, strings.TrimSuffix(base, filepath.Ext(base)))
		}
	}
	limit, err := o.limitOf(cmd.Flags())
	if err != nil {
		return err
	}
	logs, failed := readLogs(files, limit)
	if failed != nil {
		return failed
	}
	if *o.json {
		rows := []named{}
		for i, l := range logs {
			rows = append(rows, named{o.names[i], l.File, cli.Measure(l.Rows, o.radii, l.Warnings)})
		}
		return cli.PrintJSON(cmd.OutOrStdout(), rows)
	}
	return o.table.Write(cmd, methods(logs, o.names, o.radii))
}

// named is a row as "log table --json" prints it.
type named struct {
	Name string `json:"name"`
	File string `json:"file"`
	cli.Metrics
}

// methods has a row per log.
func methods(logs []*certlog.Results, names []string, radii []float64) *table.Table {
	t := &table.Table{Columns: []string{"method", "images", "abstained"}}
	for _, r := range radii {
		t.Columns = append(t.Columns, fmt.Sprintf("r = %g", r))
	}
	t.Columns = append(t.Columns, "ACR")
	for i, l := range logs {
		m := cli.Measure(l.Rows, radii, l.Warnings)
		l.Warnings = m.Warnings
		warn(l.File, l.Warnings)
		row := []any{names[i], m.Rows, m.Abstained}
		for j := range radii {
			if j < len(m.CertifiedAccuracy) {
				row = append(row, table.Rounded{Value: m.CertifiedAccuracy[j].Value, Decimals: 4})
			} else {
				row = append(row, table.None)
			}
		}
		if m.ACR != nil {
			row = append(row, table.Rounded{Value: *m.ACR, Decimals: 4})
		} else {
			row = append(row, table.None)
		}
		t.Rows = append(t.Rows, row)
		if l.Run != nil {
			h := l.Run.Header
			t.Notes = append(t.Notes, fmt.Sprintf("%s: %s on %s, σ = %g, α = %g, %s rule, at most %d noise samples per image.",
				names[i], h.Model.Name, h.Data.Name, h.Sigma, h.Alpha, h.Rule.Name, h.Rule.Looks[len(h.Rule.Looks)-1].Samples))
		}
	}
	return t
}
