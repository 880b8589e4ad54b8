package lines

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/lines"
)

// tableOptions are what the flags of "lines table" ask.
type tableOptions struct {
	source
	number   string
	appendix bool
	clip     lines.Clip
	table    cli.TableOptions
	json     *bool
}

// tables are those of Fridovich-Keil et al. 2022, by number.
var tables = map[string]lines.Grouping{"1": lines.ByPruning, "2": lines.ByAugmentation, "3": lines.ByCLIP}

func tableCommand() *cobra.Command {
	var o tableOptions
	cmd := &cobra.Command{
		Use:   "table --in FILE --table 1",
		Short: "Print tables 1 to 3 of Models out of line: which numbers predict accuracy under shift",
		Long: `The tables of Fridovich-Keil et al. 2022: for each shift and group of models, slope and R² of accuracy
under the shift on eight predictors, the unweighted mean over architectures. Table 1 groups by pruning,
2 by augmentation, 3 (printed as 4) ImageNet models. Text by default; the ending of --out decides: .md,
.tex, .csv, .html or .txt.`,
		Example: "  certspec lines table --in $CERTSPEC_DATA/robustnets/metric_and_OOD_var_dict.json --table 1 " +
			"--out table1.tex",
		Args: cli.NoArgs,
	}
	cli.Group(cmd, cli.Data, o.source.flags)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		cli.Choice(f, &o.number, "table", "1", "1, 2 or 3", "1", "2", "3")
		f.BoolVar(&o.appendix, "appendix", false, "the corruptions that the paper leaves to its appendix")
		f.Float64Var(&o.clip.Share, "clip", 0, "accuracies are moved into [clip, 1 - clip]; 0: half an image")
	})
	o.table.Flags(cmd)
	o.json = cli.JSON(cmd)
	cli.First(cmd, "in", "table", "leave-out", "clip", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *tableOptions) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "in"); err != nil {
		return err
	}
	models, err := o.read()
	if err != nil {
		return err
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
	return o.table.Write(cmd, t.Rendered())
}

// whatThereIs leaves out of a grouping what models do not have yet, and says so.
func whatThereIs(by lines.Grouping, models lines.Models) lines.Grouping {
	kept, left := by.For(models)
	if len(left) > 0 {
		cli.Say("left out, as no model has it, or no three of an architecture: %s", strings.Join(left, ", "))
	}
	return kept
}
