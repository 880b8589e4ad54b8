package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/experiment"
	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/rs"
)

func experimentTableCommand() *cobra.Command {
	var o rs.Bootstrap
	cmd := &cobra.Command{
		Use:   "table FOLDER [TABLE]",
		Short: "Print a table with the numbers that a folder holds",
		Long: `Print a table with the numbers that a folder holds so far: average certified radii, the main figures with intervals and paired
differences, certified calibration, attacks. What is not there yet is –. The caption names tier, data, samples and engines, and whether published
files of corrupted images or our own were used. It needs manifest.json and results alone.`,
		Example: "  certspec experiment table out/A A/table2 -o table2.tex",
	}
	f := cmd.Flags()
	f.IntVar(&o.Resamples, "resamples", 10_000, "resamples of the bootstrap")
	f.Float64Var(&o.Confidence, "confidence", rs.DefaultConfidence, "of the intervals")
	f.Uint64Var(&o.Seed, "seed", 0, "of the resampling")
	format := f.String("format", "", "form of the table: "+strings.Join(table.Forms, ", ")+"; default: the one that --output's extension names, or markdown")
	output := f.StringP("output", "o", "", "file to write; default: standard output")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) < 1 || len(args) > 2 {
			return usagef("%s wants a folder, and the name of a table where it has several", cmd.CommandPath())
		}
		if o.Resamples < 1 || !(o.Confidence > 0) { // 0 would be the default
			return usagef("--resamples %d, --confidence %v: expected more than 0", o.Resamples, o.Confidence)
		}
		name := ""
		if len(args) == 2 {
			name = args[1]
		}
		filled, err := experiment.Fill(args[0], name, o)
		if err != nil {
			return usageOf(err)
		}
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), filled)
		}
		form := *format
		if form == "" {
			form = table.FormOf(*output)
		}
		if form == "" && (*output == "" || *output == "-") {
			form = "markdown"
		}
		var parts []string
		for _, t := range filled.Tables() {
			text, ok := t.Render(form)
			if !ok {
				return usagef("--format %q, --output %q: expected one of %s", *format, *output, strings.Join(table.Forms, ", "))
			}
			parts = append(parts, text)
		}
		text := strings.Join(parts, "\n")
		return writeOut(cmd, *output, []byte(text))
	}
	return cmd
}
