package lines

import (
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/lines/certified"
)

func predictCommand() *cobra.Command {
	var c certificates
	var within float64
	var out cli.TableOptions
	cmd := &cobra.Command{
		Use:   "predict {--logs FOLDER | --experiment FOLDER | --ledgers FOLDER…} --radius R,…",
		Short: "How well the line predicts the corrupted certified accuracy of a model that is left out",
		Long: `For each model and corruption, predict the certified accuracy under it from the certified accuracy on clean images and the line through the other models,
and count how often it is met within a tolerance, beside two predictions without a line: the same as on clean images, and less by the mean drop of
the others.`,
		Example: "  certspec lines predict --logs $CERTSPEC_DATA/certify-logs-shift --radius 0.5,0.75",
	}
	cli.Group(cmd, cli.Data, c.flags)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Floats(&c.radii, "radius", []float64{0.5}, "radii, each with a line of its own")
		f.Float64Var(&within, "within", 0.02, "tolerance, in accuracy")
	})
	out.Flags(cmd)
	asJSON := cli.JSON(cmd)
	cmd.Args = c.more
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !c.asked(cmd) {
			return cli.Usagef("%s wants --logs, --experiment or --ledgers", cmd.CommandPath())
		}
		if !(within > 0 && within < 1) {
			return cli.Usagef("--within %v: expected more than 0 and less than 1", within)
		}
		models, of, err := c.load()
		if err != nil {
			return err
		}
		all := []certified.Prediction{}
		for _, r := range c.radii {
			o := of
			o.Radii = []float64{r}
			p, err := certified.LeaveOneOut(models, o, within)
			if err != nil {
				return err
			}
			all = append(all, p)
		}
		if *asJSON {
			return cli.PrintJSON(cmd.OutOrStdout(), all)
		}
		percent := func(v float64) any { return table.Rounded{Value: 100 * v, Decimals: 1} }
		t := &table.Table{Columns: []string{"radius", "pairs", "line, % met", "same, % met", "mean drop, % met", "line, mean error in points"}, Notes: certified.Notes(models, of)}
		for _, p := range all {
			t.Rows = append(t.Rows, []any{cli.Number(p.Radius), p.Pairs, percent(p.Line), percent(p.Same), percent(p.MeanDrop), table.Rounded{Value: 100 * p.LineMAE, Decimals: 2}})
		}
		return out.Write(cmd, t)
	}
	return cmd
}
