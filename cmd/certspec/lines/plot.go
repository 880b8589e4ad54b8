package lines

import (
	"github.com/spf13/cobra"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/internal/lines/lineplot"
	"github.com/certspec/certspec/lines"
)

// published are figures of Fridovich-Keil et al. 2022 by number: what they group by, and whether
// the x axis is the best predictor.
var published = map[string]struct {
	by   lines.Grouping
	best bool
}{
	"2": {lines.ByPruning, false}, "3": {lines.ByAugmentation, false}, "8": {lines.ByPruning.Appendix(), false},
	"9":  {lines.ByAugmentation.Appendix(), false},
	"10": {lines.ByPruning, true}, "11": {lines.ByAugmentation, true},
}

// plotOptions are what the flags of "lines plot" ask.
type plotOptions struct {
	fitOptions
	figure string
	out    string
}

func plotCommand() *cobra.Command {
	var o plotOptions
	cmd := &cobra.Command{
		Use: "plot {--in FILE | --logs FOLDER | --experiment FOLDER | --ledgers FOLDER…} {--x FIELD --y FIELD | " +
			"--figure 2} --out FILE",
		Short: "Draw models and their lines on probit axes",
		Long: `Draw what "lines fit" fits: accuracies on probit axes with exact 95 % intervals, a colour and a line for
each group, opaque by its R². --figure draws a figure of Fridovich-Keil et al. 2022 of such models
instead: 2 and 3 (accuracy under shift by pruning and by augmentation), 8 and 9 (the same for the
corruptions of the appendix), 10 and 11 (against the number that predicts best).`,
		Example: `  certspec lines plot --in acc.csv --x clean --y fog --by architecture --out line.svg
  certspec lines plot --in $CERTSPEC_DATA/robustnets/metric_and_OOD_var_dict.json --figure 2 --out figure2.svg`,
	}
	o.flags(cmd)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		cli.Choice(f, &o.figure, "figure", "", "of Fridovich-Keil et al. 2022, in the place of --x, --y and --by", "2",
			"3", "8", "9", "10", "11")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.Out(&o.out, "file to write: .svg, .png or .pdf") })
	cli.First(cmd, "in", "x", "y", "by", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *plotOptions) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "out"); err != nil {
		return err
	}
	grid, caption, err := o.grid(cmd, o.figure)
	if err != nil {
		return err
	}
	width, height := grid.Size()
	data, err := cli.Drawing("out", o.out, caption, width, height, func(c draw.Canvas) { grid.Paint(c) })
	if err != nil {
		return err
	}
	return cli.WriteOut(cmd, o.out, data)
}

// grid are the panels, with a caption for those who do not see them.
func (o *fitOptions) grid(cmd *cobra.Command, number string) (grid figure.Grid, caption string, err error) {
	if number == "" {
		if !cmd.Flags().Changed("over") && !o.asked(cmd) {
			o.Over = lines.Nothing // the picture shows no interval of the bootstrap
		}
		r, err := o.fit(cmd)
		if err != nil {
			return grid, "", err
		}
		return lineplot.OfResult(r), r.Caption(), nil
	}
	for _, flag := range append([]string{"x", "y", "by", "baseline"}, sources...) {
		if cmd.Flags().Changed(flag) {
			return grid, "", cli.Usagef("--%s with --figure, which says itself what is on its axes and takes --in",
				flag)
		}
	}
	if err := cli.Needed(cmd, "in"); err != nil {
		return grid, "", err
	}
	models, err := o.read()
	if err != nil {
		return grid, "", err
	}
	of := published[number]
	grid, err = lineplot.OfGrouping(models, whatThereIs(of.by, models), of.best, o.Clip)
	return grid, "Figure " + number + ": " + of.by.Title +
		", a panel for each shift and group, a line for each architecture", err
}
