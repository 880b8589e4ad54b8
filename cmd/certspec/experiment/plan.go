package experiment

import (
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/experiment/plan"
)

// planOptions holds the values of the flags of "experiment plan".
type planOptions struct {
	plan.Options
	places         places
	pilot, against string
	table          cli.TableOptions
	json           *bool
}

func planCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "plan TABLE --tier TIER --pilot FOLDER [flags]",
		Short: "Compute the minimum detectable difference of each tier, from a pilot",
		Long: `Say before a run which difference between two rows it can see.

A pilot is a folder of the same table at any tier. Its results give the deviation of paired differences by
image, by cell and by seed. From these follow the smallest difference that the tier's images, cells and
seeds show, beside the published one, and how many images or seeds that one would take. Nothing is run.`,
		Example: "  certspec experiment plan sun2021/table2 --tier evidence --pilot notebooks/results/experiments/A\n" +
			"  certspec experiment plan sun2021/table2 --tier evidence --pilot notebooks/results/experiments/A --against " +
			"Gaussian+JSD --rows sun2021/c10/g-jsd,sun2021/c10/fm-hcr",
	}

	cli.Group(cmd, cli.Data, o.places.flag)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Tier(&o.Tier, "that is planned")
		f.Folder(&o.pilot, "pilot", "folder of an experiment with results of the table")
		f.Text(&o.against, "against", "title or recipe of the row that the others are compared with (default the one "+
			"of the table)")
		f.Words(&o.Rows, "rows", nil, "only these rows: recipes (default all that the pilot has)", nil)
		f.Add(&o.Add)
	})
	o.table.Flags(cmd)
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	return cmd
}

func (o *planOptions) run(cmd *cobra.Command, args []string) (err error) {
	if len(args) != 1 {
		return cli.Usagef("%s wants one table; certspec experiment list tables shows them", cmd.CommandPath())
	}
	if err := cli.Needed(cmd, "tier", "pilot"); err != nil {
		return err
	}
	o.Table = args[0]
	if o.Places, err = o.places.read(); err != nil {
		return err
	}
	plan, err := plan.Power(cmd.Context(), o.Options, o.pilot, o.against)
	if err != nil {
		return cli.ExperimentUsage(err)
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), plan)
	}
	return o.table.Write(cmd, plan.Shown())
}
