package log

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

// fileMetrics is what "log metrics" prints per file.
type fileMetrics struct {
	File string `json:"file"`
	cli.Metrics
}

// metricsOptions are what the flags of "log metrics" ask.
type metricsOptions struct {
	logOptions
	bounds bool
	cap    float64
	json   *bool
}

func metricsCommand() *cobra.Command {
	var o metricsOptions
	cmd := &cobra.Command{
		Use:   "metrics FILE…",
		Short: "Average certified radius and certified accuracies",
		Long: `Average certified radius and certified accuracies of ledgers and of published logs: tab-separated
text with the columns idx, label, predict, radius and perhaps correct, time, nA, n, plow and nused.
It warns of lines that are no rows, of missing rows, of logs that look truncated and, with --n,
--alpha and --sigma, of radii in published logs above what so many noise samples can prove.
With --cap, radii are cut to the largest that fewer noise samples could certify, for a fair comparison.
With --json, one object per file and line.`,
		Example: "  certspec log metrics out/fmnist-s025.ledger cohen.tsv --radii 0,0.25,0.5\n" +
			"  certspec log metrics cohen.tsv --cap 0.7805",
	}

	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		o.logOptions.flags(f)
		f.BoolVar(&o.bounds, "bounds", false, "also how the lower bounds of the probability are distributed over the certified images")
		f.Float64Var(&o.cap, "cap", 0, "cut every radius to this, the largest that the noise samples of another run can certify; 0 cuts none")
	})
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error { return o.run(cmd, files) }
	return cmd
}

func (o *metricsOptions) run(cmd *cobra.Command, files []string) error {
	if len(files) == 0 {
		return cli.Usagef("%s wants at least one file", cmd.CommandPath())
	}
	if !(o.cap >= 0) || math.IsInf(o.cap, 0) {
		return cli.Usagef("--cap %v: expected a radius, or 0 for none", o.cap)
	}
	limit, err := o.limitOf(cmd.Flags())
	if err != nil {
		return err
	}
	logs, failed := readLogs(files, limit)
	var all []fileMetrics
	for _, l := range logs {
		m := fileMetrics{l.File, cli.Measure(l.Rows.Capped(o.cap), o.radii, l.Warnings)}
		if o.bounds {
			d := l.Rows.Bounds()
			m.Bounds = &d
			if d.Images == 0 {
				m.Warnings = append(m.Warnings, "names no lower bounds of the probability")
			}
		}
		all = append(all, m)
	}
	out := cmd.OutOrStdout()
	if *o.json {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		for _, m := range all {
			if err := enc.Encode(m); err != nil {
				return err
			}
		}
		return failed
	}
	return errors.Join(printMetrics(out, all, o.radii), failed)
}

func printMetrics(out io.Writer, all []fileMetrics, radii []float64) error {
	if len(all) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "file\trows\tabstained\tACR")
	for _, r := range radii {
		cli.Fprintf(w, "\tCA(%g)", r)
	}
	fmt.Fprintln(w)
	for _, m := range all {
		for _, warning := range m.Warnings {
			cli.Say("warning: %s: %s", m.File, warning)
		}
		acr := "no labels"
		if m.ACR != nil {
			acr = strconv.FormatFloat(*m.ACR, 'f', 4, 64)
		}
		cli.Fprintf(w, "%s\t%d\t%d\t%s", m.File, m.Rows, m.Abstained, acr)
		for _, a := range m.CertifiedAccuracy {
			cli.Fprintf(w, "\t%.4f", a.Value)
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
		cli.Fprintf(w, "\n%s: lower bounds of %d certified images\n", m.File, m.Bounds.Images)
		for _, q := range m.Bounds.Quantiles {
			cli.Fprintf(w, "  %g %%\tat most %.9f\n", 100*q.Share, q.Lower)
		}
		for _, b := range m.Bounds.Histogram {
			cli.Fprintf(w, "  [%g, %g)\t%d images\n", b.From, b.To, b.Count)
		}
	}
	return w.Flush()
}
