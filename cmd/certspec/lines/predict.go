package lines

import (
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/cmd/certspec/lines/leaveout"
	"github.com/certspec/certspec/lines/certified"
	"github.com/certspec/certspec/table"
)

// predict says how well the line of the other models predicts each model.
func (o *printOptions) predict(cmd *cobra.Command) error {
	if !o.asked(cmd) || cmd.Flags().Changed("in") {
		return cli.Usagef("--leave-one-out: expected certificates, from --logs, --experiment or --ledgers")
	}
	for _, name := range []string{"x", "y", "by", "baseline", "clip", "over", "resamples", "confidence", "seed",
		"leave-out"} {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s with --leave-one-out: the line is that of all other models, at each radius and "+
				"corruption", name)
		}
	}
	if !cmd.Flags().Changed("radius") {
		o.radii = []float64{0.5}
	}
	if !(o.within > 0 && o.within < 1) {
		return cli.Usagef("--within %v: expected more than 0 and less than 1", o.within)
	}
	models, of, err := o.load()
	if err != nil {
		return err
	}
	all := []leaveout.Prediction{}
	for _, r := range o.radii {
		at := of
		at.Radii = []float64{r}
		p, err := leaveout.LeaveOneOut(models, at, o.within)
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), all)
	}
	percent := func(v float64) any { return table.Rounded{Value: 100 * v, Decimals: 1} }
	t := &table.Table{Columns: []string{"radius", "pairs", "line, % met", "same, % met", "mean drop, % met",
		"line, mean error in points"}, Notes: certified.Notes(models, of)}
	for _, p := range all {
		t.Rows = append(t.Rows, []any{cli.Number(p.Radius), p.Pairs, percent(p.Line), percent(p.Same),
			percent(p.MeanDrop), table.Rounded{Value: 100 * p.LineMAE, Decimals: 2}})
	}
	return o.table.Write(cmd, t)
}
