package main

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/report"
)

func init() { verbs = append(verbs, reportCommand) }

func reportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report LEDGER",
		Short: "What a ledger claims, for a reviewer: HTML, Markdown or LaTeX",
		Long: `What a ledger claims and what it does not: norm, pixels, noise law, model, data, seed, rule and budget;
certified accuracies with exact intervals for the population, the average certified radius with a
bootstrap interval, the curve (HTML), abstentions and misses, the number of false claims to be
expected; and how to check it, with the commands to type.

With --simultaneous all claims hold together with probability at least 1−α: the bounds are derived
again from the stored counts, at the level α divided by the number of images. Nothing is drawn again.`,
		Example: "  certspec report notebooks/results/quickstart.ledger -o report.html",
	}
	var (
		o              report.Options
		format, output string
	)
	f := cmd.Flags()
	f.StringVar(&format, "format", "", "html, md or latex; default: the one that --output's extension names, or md")
	f.StringVarP(&output, "output", "o", "", "file to write; default: standard output")
	f.BoolVar(&o.Simultaneous, "simultaneous", false, "all claims at once at the ledger's α: α/N for each of N images")
	f.Float64SliceVar(&o.Radii, "radii", nil, "radii of the certified accuracies (default those that the ledger states)")
	f.Float64Var(&o.Bootstrap.Confidence, "confidence", rs.DefaultConfidence, "of the intervals")
	f.Uint64Var(&o.Bootstrap.Seed, "seed", 0, "of the bootstrap")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if len(files) != 1 {
			return usagef("%s wants one ledger, not %d files", cmd.CommandPath(), len(files))
		}
		form := format
		if form == "" {
			switch strings.ToLower(filepath.Ext(output)) {
			case ".html", ".htm":
				form = "html"
			case ".tex":
				form = "latex"
			case ".md", "":
				form = "md"
			}
		}
		switch {
		case form != "html" && form != "md" && form != "latex":
			return usagef("--format %q, --output %q: expected html, md or latex", format, output)
		case !(o.Bootstrap.Confidence > 0): // 0 would be the default
			return usagef("--confidence %v: expected more than 0", o.Bootstrap.Confidence)
		case f.Changed("radii") && len(o.Radii) == 0:
			return usagef("--radii is empty: expected radii")
		}
		if err := checkRadii(o.Radii); err != nil {
			return err
		}
		r, err := report.New(files[0], o)
		if err != nil {
			var option *rs.OptionError
			if errors.As(err, &option) {
				return usageError{err}
			}
			return err
		}
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), r)
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
		return writeOut(cmd, output, []byte(text))
	}
	return cmd
}
