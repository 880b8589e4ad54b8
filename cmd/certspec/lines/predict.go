package lines

import (
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/lines/certified"
)

// predictOptions are what the flags of "lines predict" ask.
type predictOptions struct {
	certificates certificates
	within       float64
	table        cli.TableOptions
	json         *bool
}

func predictCommand() *cobra.Command {
	var o predictOptions
	cmd := &cobra.Command{
		Use:   "predict {--logs FOLDER | --experiment FOLDER | --ledgers FOLDER…} --radius R,…",
		Short: "How well the line predicts the corrupted certified accuracy of a model that is left out",
		Long: `For each model and corruption, predict the certified accuracy under it from the certified accuracy on clean images and the line through the other models,
and count how often it is met within a tolerance, beside two predictions without a line: the same as on clean images, and less by the mean drop of
the others.`,
		Example: "  certspec lines predict --logs $CERTSPEC_DATA/certify-logs-shift --radius 0.5,0.75",
	}
	cli.Group(cmd, cli.Data, o.certificates.flags)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Floats(&o.certificates.radii, "radius", []float64{0.5}, "radii, each with a line of its own")
		f.Float64Var(&o.within, "within", 0.02, "tolerance, in accuracy")
	})
	o.table.Flags(cmd)
	o.json = cli.JSON(cmd)
	cmd.Args = o.certificates.more
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *predictOptions) run(cmd *cobra.Command) error {
	if !o.certificates.asked(cmd) {
		return cli.Usagef("%s wants --logs, --experiment or --ledgers", cmd.CommandPath())
	}
	if !(o.within > 0 && o.within < 1) {
		return cli.Usagef("--within %v: expected more than 0 and less than 1", o.within)
	}
	models, of, err := o.certificates.load()
	if err != nil {
		return err
	}
	all := []certified.Prediction{}
	for _, r := range o.certificates.radii {
		at := of
		at.Radii = []float64{r}
		p, err := certified.LeaveOneOut(models, at, o.within)
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), all)
	}
	percent := func(v float64) any { return table.Rounded{Value: 100 * v, Decimals: 1} }
	t := &table.Table{Columns: []string{"radius", "pairs", "line, % met", "same, % met", "mean drop, % met", "line, mean error in points"}, Notes: certified.Notes(models, of)}
	for _, p := range all {
		t.Rows = append(t.Rows, []any{cli.Number(p.Radius), p.Pairs, percent(p.Line), percent(p.Same), percent(p.MeanDrop), table.Rounded{Value: 100 * p.LineMAE, Decimals: 2}})
	}
	return o.table.Write(cmd, t)
}
