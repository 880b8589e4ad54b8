package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/rs"
)

// metrics are the figures of one run or log.
type metrics struct {
	Rows              int                   `json:"rows"`
	Abstained         int                   `json:"abstained"`
	ACR               *float64              `json:"acr"` // null where no label is known
	CertifiedAccuracy []accuracyAt          `json:"certified_accuracy"`
	Bounds            *rs.BoundDistribution `json:"bounds,omitempty"`
	Warnings          []string              `json:"warnings"`
}

type accuracyAt struct {
	Radius float64 `json:"radius"`
	Value  float64 `json:"value"`
}

func measure(rows rs.Rows, radii []float64, warnings []string) metrics {
	m := metrics{
		Rows: len(rows), Abstained: rows.Abstained(),
		CertifiedAccuracy: []accuracyAt{}, Warnings: append([]string{}, warnings...),
	}
	acr := rows.ACR()
	if unlabelled := len(rows) - acr.Images; unlabelled > 0 {
		m.Warnings = append(m.Warnings, fmt.Sprintf("%d of %d images have no label and count in no accuracy", unlabelled, len(rows)))
	}
	if acr.Images == 0 {
		return m
	}
	m.ACR = &acr.Value
	for _, a := range rows.CertifiedAccuracy(radii...) {
		m.CertifiedAccuracy = append(m.CertifiedAccuracy, accuracyAt{a.Radius, a.Value})
	}
	return m
}

// fileMetrics is what "log metrics" prints per file.
type fileMetrics struct {
	File string `json:"file"`
	metrics
}

func logMetricsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "metrics FILE…",
		Short: "Average certified radius and certified accuracies",
		Long: `Average certified radius and certified accuracies of ledgers and of published logs: tab-separated
text with the columns idx, label, predict, radius and perhaps correct, time, nA, n, plow and nused.
It warns of lines that are no rows, of missing rows, of logs that look truncated and, with --n,
--alpha and --sigma, of radii in published logs above what so many copies can prove.
With --json, one object per file and line.`,
		Example: "  certspec log metrics out/fmnist-s025.ledger cohen.tsv --radii 0,0.25,0.5",
	}
	radiiOf, limitOf := radiiFlag(cmd), limitFlags(cmd)
	bounds := cmd.Flags().Bool("bounds", false, "also how the lower bounds of the probability are distributed over the certified images")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if len(files) == 0 {
			return usagef("%s wants at least one file", cmd.CommandPath())
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
		var all []fileMetrics
		for _, l := range logs {
			m := fileMetrics{l.file, measure(l.rows, radii, l.warnings)}
			if *bounds {
				d := l.rows.Bounds()
				m.Bounds = &d
				if d.Images == 0 {
					m.Warnings = append(m.Warnings, "names no lower bounds of the probability")
				}
			}
			all = append(all, m)
		}
		out := cmd.OutOrStdout()
		if *asJSON {
			enc := json.NewEncoder(out)
			enc.SetEscapeHTML(false)
			for _, m := range all {
				if err := enc.Encode(m); err != nil {
					return err
				}
			}
			return failed
		}
		return errors.Join(printMetrics(out, all, radii), failed)
	}
	return cmd
}

func printMetrics(out io.Writer, all []fileMetrics, radii []float64) error {
	if len(all) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "file\trows\tabstained\tACR")
	for _, r := range radii {
		fmt.Fprintf(w, "\tCA(%g)", r)
	}
	fmt.Fprintln(w)
	for _, m := range all {
		for _, warning := range m.Warnings {
			say("warning: %s: %s", m.File, warning)
		}
		acr := "no labels"
		if m.ACR != nil {
			acr = strconv.FormatFloat(*m.ACR, 'f', 4, 64)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s", m.File, m.Rows, m.Abstained, acr)
		for _, a := range m.CertifiedAccuracy {
			fmt.Fprintf(w, "\t%.4f", a.Value)
		}
		for range len(radii) - len(m.CertifiedAccuracy) {
			fmt.Fprint(w, "\t–")
		}
		fmt.Fprintln(w)
	}
	for _, m := range all {
		if m.Bounds == nil || m.Bounds.Images == 0 {
			continue
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s: lower bounds of %d certified images\n", m.File, m.Bounds.Images)
		for _, q := range m.Bounds.Quantiles {
			fmt.Fprintf(w, "  %g %%\tat most %.9f\n", 100*q.Share, q.Lower)
		}
		for _, b := range m.Bounds.Histogram {
			fmt.Fprintf(w, "  [%g, %g)\t%d images\n", b.From, b.To, b.Count)
		}
	}
	return w.Flush()
}
