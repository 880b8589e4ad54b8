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

// draw draws what is fitted.
func (o *printOptions) draw(cmd *cobra.Command) error {
	if o.influence || *o.json {
		return cli.Usagef("--out %s is a picture: leave out --influence and --json", o.table.Out)
	}
	if !cmd.Flags().Changed("over") && !o.asked(cmd) {
		o.Over = lines.Nothing // the picture shows no interval of the bootstrap
	}
	r, err := o.fit(cmd)
	if err != nil {
		return err
	}
	return write(cmd, o.table.Out, lineplot.OfResult(r), lineplot.Caption(r))
}

// draw draws a figure of the paper.
func (o *tableOptions) draw(cmd *cobra.Command, models lines.Models) error {
	of := published[o.figure]
	grid, err := lineplot.OfGrouping(models, whatThereIs(of.by, models), of.best, o.clip)
	if err != nil {
		return err
	}
	return write(cmd, o.table.Out, grid, "Figure "+o.figure+": "+of.by.Title+
		", a panel for each shift and group, a line for each architecture")
}

// write draws panels, with a caption for those who do not see them.
func write(cmd *cobra.Command, path string, grid figure.Grid, caption string) error {
	width, height := grid.Size()
	data, err := cli.Drawing("out", path, caption, width, height, func(c draw.Canvas) { grid.Paint(c) })
	if err != nil {
		return err
	}
	return cli.WriteOut(cmd, path, data)
}
