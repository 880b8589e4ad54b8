package lines

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/lines"
)

// tableOptions holds the values of the flags of "lines table".
type tableOptions struct {
	source
	number, figure string
	appendix       bool
	clip           lines.Clip
	table          cli.TableOptions
	json           *bool
}

// tables are the tables of Fridovich-Keil et al. 2022, by number.
var tables = map[string]lines.Grouping{"1": lines.ByPruning, "2": lines.ByAugmentation, "3": lines.ByCLIP}

func tableCommand() *cobra.Command {
	var o tableOptions
	cmd := &cobra.Command{
		Use:   "table --in FILE {--table 1 | --figure 2 --out FILE}",
		Short: "Print a table of Models out of line, or draw a figure: what predicts accuracy under shift",
		Long: `Print a table or draw a figure of Fridovich-Keil et al. 2022.

Tables have slope and R² of accuracy under each shift on eight predictors, for each group of models, as the
unweighted mean over architectures. Table 1 groups by pruning, 2 by augmentation, 3 (printed as 4) ImageNet models.
Figures 2 and 3 draw accuracy under shift by pruning and by augmentation, 8 and 9 the same for the corruptions of the
appendix, 10 and 11 against the number that predicts best.`,
		Example: "  certspec lines table --in $CERTSPEC_DATA/robustnets/metric_and_OOD_var_dict.json --table 1 " +
			"--out table1.tex\n  certspec lines table --in records.jsonl --figure 2 --out figure2.svg",
		Args: cli.NoArgs,
	}
	cli.Group(cmd, cli.Data, o.source.flags)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		cli.Choice(f, &o.number, "table", "1", "1, 2 or 3", "1", "2", "3")
		cli.Choice(f, &o.figure, "figure", "", "draw this figure instead", "2", "3", "8", "9", "10", "11")
		f.BoolVar(&o.appendix, "appendix", false, "the corruptions that the paper leaves to its appendix")
		f.Float64Var(&o.clip.Share, "clip", 0, "accuracies are moved into [clip, 1 - clip]; 0: half an image")
	})
	o.table.Drawn = cli.FigureForms
	o.table.Flags(cmd)
	o.json = cli.JSON(cmd)
	cli.First(cmd, "in", "table", "figure", "clip", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *tableOptions) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "in"); err != nil {
		return err
	}
	if o.figure != "" {
		if err := cli.Needed(cmd, "out"); err != nil {
			return err
		}
		for _, name := range []string{"table", "appendix", "format", "json"} {
			if cmd.Flags().Changed(name) {
				return cli.Usagef("--%s with --figure %s: it is of tables", name, o.figure)
			}
		}
	}
	models, err := o.read()
	if err != nil {
		return err
	}
	if o.figure != "" {
		return o.draw(cmd, models)
	}
	by := tables[o.number]
	if o.appendix {
		by = by.Appendix()
	}
	by = whatThereIs(by, models)
	t, err := lines.Tabulate(models, by, o.clip)
	if err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), t)
	}
	return o.table.Write(cmd, t.Table())
}

// whatThereIs leaves out of a grouping what models do not have yet, and says so.
func whatThereIs(by lines.Grouping, models lines.Models) lines.Grouping {
	kept, left := by.For(models)
	if len(left) > 0 {
		cli.Say("left out, as no model has it, or no three of an architecture: %s", strings.Join(left, ", "))
	}
	return kept
}
