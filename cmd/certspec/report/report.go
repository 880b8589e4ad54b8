// Package report is "certspec report".
package report

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/rs/report"
	"github.com/certspec/certspec/resample"
)

// options holds the values of the flags.
type options struct {
	report.Options
	format, out string
	json        *bool
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "report LEDGER",
		Short: "Write a report for a reviewer on what a ledger claims: HTML, Markdown or LaTeX",
		Long: `Write what a ledger claims and what it does not.

A page for readers comes first: certified accuracies with exact intervals for the population, the average
certified radius with a bootstrap interval, the curve (HTML), what is claimed, and the commands that check it.
For the reviewer, norm, pixels, noise law, model, data, seed, rule, budget, misses and the expected number of
false claims follow.

With --simultaneous all claims hold together with probability at least 1−α: the bounds are derived
again from the stored counts, at the level α divided by the number of images. Nothing is drawn again.`,
		Example: "  certspec report notebooks/results/quickstart.ledger -o report.html",
	}

	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.BoolVar(&o.Simultaneous, "simultaneous", false,
			"all claims at once at the ledger's α: α/N for each of N images")
		f.DataName(&o.DataName)
		f.Floats(&o.Radii, "radii", nil, "radii of the certified accuracies (default those that the ledger states)")
		f.Float64Var(&o.Bootstrap.Confidence, "confidence", resample.DefaultConfidence, "confidence of the intervals")
		f.Uint64Var(&o.Bootstrap.Seed, "seed", 0, "seed of the bootstrap")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Out(&o.out, "file to write (default standard output)", "html .html .htm", "md .md", "latex .tex")
		cli.Choice(f, &o.format, "format", "",
			"html, md or latex (default the one that the ending of --out names, or md)", "html", "md", "latex")
	})
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error { return o.run(cmd, files) }
	return cmd
}

func (o *options) run(cmd *cobra.Command, files []string) error {
	if len(files) != 1 {
		return cli.Usagef("%s wants one ledger, not %d files", cmd.CommandPath(), len(files))
	}
	form := cmp.Or(o.format, cli.FormatOf(cmd, o.out), "md")
	switch {
	case !(o.Bootstrap.Confidence > 0): // 0 would be the default
		return cli.Usagef("--confidence %v: expected more than 0", o.Bootstrap.Confidence)
	case cmd.Flags().Changed("radii") && len(o.Radii) == 0:
		return cli.Usagef("--radii is empty: expected radii")
	}
	if err := cli.CheckRadii(o.Radii); err != nil {
		return err
	}
	r, err := report.New(cmd.Context(), files[0], o.Options)
	if err != nil {
		return cli.Usage(err)
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), r)
	}
	text := r.Markdown()
	switch form {
	case "html":
		if text, err = r.HTML(); err != nil {
			return err
		}
	case "latex":
		text = r.LaTeX()
	}
	return cli.WriteOut(cmd, o.out, []byte(text))
}
