package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/internal/table"
)

func logTableCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "table FILE…",
		Short: "A table of methods and radii, for a paper or a page",
		Long: `A table with a row per ledger or published log: certified accuracy at each radius and average
certified radius, as Markdown, LaTeX (booktabs), CSV, HTML or text. CSV has all digits.`,
		Example: "  certspec log table a.ledger b.tsv --names \"ours,Cohen et al.\" --radii 0,0.25,0.5 -o table.tex",
	}
	names := cmd.Flags().StringSlice("names", nil, "what stands for the files, in their order; default: the names of the files")
	radiiOf, limitOf := radiiFlag(cmd), limitFlags(cmd)
	write := tableFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		switch {
		case len(files) == 0:
			return usagef("%s wants at least one file", cmd.CommandPath())
		case cmd.Flags().Changed("names") && len(*names) != len(files):
			return usagef("--names has %d names for %d files", len(*names), len(files))
		case !cmd.Flags().Changed("names"):
			*names = nil
			for _, file := range files {
				base := filepath.Base(file)
				*names = append(*names, strings.TrimSuffix(base, filepath.Ext(base)))
			}
		}
		radii, err := radiiOf()
		if err != nil {
			return err
		}
		limit, err := limitOf()
		if err != nil {
			return err
		}
		logs, failed := readLogs(files, limit)
		if failed != nil {
			return failed
		}
		return write(methods(logs, *names, radii))
	}
	return cmd
}

// methods has a row per log.
func methods(logs []*logFile, names []string, radii []float64) *table.Table {
	t := &table.Table{Columns: []string{"method", "images", "abstained"}}
	for _, r := range radii {
		t.Columns = append(t.Columns, fmt.Sprintf("r = %g", r))
	}
	t.Columns = append(t.Columns, "ACR")
	for i, l := range logs {
		m := measure(l.rows, radii, l.warnings)
		l.warnings = m.Warnings
		l.warn()
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
		if l.run != nil {
			h := l.run.Header
			t.Notes = append(t.Notes, fmt.Sprintf("%s: %s on %s, σ = %g, α = %g, %s rule, at most %d copies per image.",
				names[i], h.Model.Name, h.Data.Name, h.Sigma, h.Alpha, h.Rule.Name, h.Rule.Looks[len(h.Rule.Looks)-1].Copies))
		}
	}
	return t
}
