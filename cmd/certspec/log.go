package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/certlog"
)

func init() { verbs = append(verbs, logCommand) }

func logCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Metrics of certification logs: ledgers of certspec and published tables",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(logMetricsCommand())
	return cmd
}

// metrics are the figures of one run or log.
type metrics struct {
	Rows              int          `json:"rows"`
	Abstained         int          `json:"abstained"`
	ACR               *float64     `json:"acr"` // null where no label is known
	CertifiedAccuracy []accuracyAt `json:"certified_accuracy"`
	Warnings          []string     `json:"warnings"`
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
text with the columns idx, label, predict, radius and perhaps correct and time.
With --json, one object per file and line.`,
		Example: "  certspec log metrics out/fmnist-s025.ledger cohen.tsv --radii 0,0.25,0.5",
	}
	radii := cmd.Flags().Float64Slice("radii", []float64{0, .25, .5, .75}, "radii of the certified accuracies")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if len(files) == 0 {
			return usagef("%s wants at least one file", cmd.CommandPath())
		}
		if err := checkRadii(*radii); err != nil {
			return err
		}
		var all []fileMetrics
		var failed error
		for _, file := range files {
			rows, warnings, err := readRows(file)
			if err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			all = append(all, fileMetrics{file, measure(rows, *radii, warnings)})
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
		return errors.Join(printMetrics(out, all, *radii), failed)
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
	return w.Flush()
}

// readRows reads a ledger, which begins with a brace, or a published log.
func readRows(file string) (rows rs.Rows, warnings []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	if first, err := in.Peek(1); err != nil || first[0] != '{' {
		log, err := certlog.Read(file, in)
		if err != nil {
			return nil, nil, err
		}
		return log.Rows, log.Warnings, nil
	}
	run, err := rs.Open(file)
	if err != nil {
		return nil, nil, err
	}
	if !run.Complete() {
		warnings = append(warnings, fmt.Sprintf("not complete: %d of %d images", len(run.Rows), run.Header.Data.Images))
	}
	return run.Rows, warnings, nil
}

func checkRadii(radii []float64) error {
	for _, r := range radii {
		if !(r >= 0) || math.IsInf(r, 0) {
			return usagef("--radii: %v: expected radii of at least 0", r)
		}
	}
	return nil
}
