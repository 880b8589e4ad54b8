package lines

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/lines/certified"
)

// fitOptions are what the flags of "lines fit" and "lines influence" ask.
type fitOptions struct {
	source
	lines.Options
	baseline    string
	logs        string
	radii       []float64
	corruptions []string
	influence   bool
	json        *bool
}

func fitCommand() *cobra.Command {
	return newFit(&fitOptions{}, &cobra.Command{
		Use:   "fit --in FILE --x FIELD --y FIELD",
		Short: "The line of accuracy under shift, with intervals, and each model's effective robustness",
		Long: `Fit the line of one accuracy on another, in probit units, for each group of models, through the baseline's models; print
slope, intercept and R² with intervals, and with --json how far each model stands above its line. --logs reads published
certification logs instead, clean/MODEL.tsv and corrupted/MODEL/severity_S/CORRUPTION.tsv, and fits certified accuracies, a
line a radius and one through all.`,
		Example: `  certspec lines fit --in acc.csv --x clean --y fog --by architecture --baseline group=standard --json
  certspec lines fit --logs $CERTSPEC_DATA/certify-logs-shift --x clean --y corrupted --radius 0,0.25,0.5,0.75 --json`,
		Args: cli.NoArgs,
	})
}

func influenceCommand() *cobra.Command {
	return newFit(&fitOptions{influence: true}, &cobra.Command{
		Use:   "influence --in FILE --x FIELD --y FIELD",
		Short: "What each model does to its line: leverage, Cook's distance, and its place above the line",
		Long: `Fit the line as "lines fit" does, and print each model with its place above the line, its leverage and Cook's
distance.`,
		Example: "  certspec lines influence --in metric_and_OOD_var_dict.json --x cifar10_acc --y contrast --by architecture --over nothing",
		Args:    cli.NoArgs,
	})
}

func newFit(o *fitOptions, cmd *cobra.Command) *cobra.Command {
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		o.source.flags(f)
		f.Folder(&o.logs, "logs", "folder of published certification logs, in the place of --in")
		f.Text(&o.X, "x", "accuracy on the x axis; with --logs a name for it")
		f.Text(&o.Y, "y", "accuracy on the y axis; with --logs a name for it")
		f.Text(&o.By, "by", "label whose values get a line each")
		f.Text(&o.baseline, "baseline", "models that lines go through, as label=value")
		f.Words(&o.corruptions, "corruptions", nil, "with --logs, corruptions to pool", cli.Corruptions)
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Floats(&o.radii, "radius", []float64{0}, "with --logs, radii of certified accuracies")
		f.Float64Var(&o.Clip.Share, "clip", 0, "accuracies are moved into [clip, 1 - clip]; 0: half an image")
		cli.Choice(f, &o.Over, "over", "", "what intervals take for random: nothing, images, models or both", lines.Nothing, lines.Images, lines.Nets, lines.Both)
		f.IntVar(&o.Bootstrap.Resamples, "resamples", 2000, "resamples of the bootstrap")
		f.Float64Var(&o.Bootstrap.Confidence, "confidence", 0.95, "probability with which an interval holds the truth")
		f.Uint64Var(&o.Bootstrap.Seed, "seed", 0, "of the bootstrap")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "in", "x", "y", "by", "baseline")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

// images of CIFAR-10's test set: logs of its corruptions number the severities through.
const period = 10_000

func (o *fitOptions) run(cmd *cobra.Command) error {
	result, err := o.fit(cmd)
	if err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), result)
	}
	if o.influence {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), result.Above())
	} else {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), result.Rendered())
	}
	return err
}

func (o *fitOptions) fit(cmd *cobra.Command) (*lines.Result, error) {
	if (o.in == "") == (o.logs == "") {
		return nil, cli.Usagef("%s wants --in or --logs, one of the two", cmd.CommandPath())
	}
	if o.logs != "" {
		for _, flag := range []string{"by", "baseline", "leave-out"} {
			if cmd.Flags().Changed(flag) {
				return nil, cli.Usagef("--%s goes with --in", flag)
			}
		}
		models, err := certified.ReadLogs(o.logs)
		if err != nil {
			return nil, err
		}
		points, err := certified.Points(models, o.radii, o.corruptions, period)
		if err != nil {
			return nil, err
		}
		return lines.FitPoints(cmd.Context(), points, o.Options)
	}
	for _, flag := range []string{"radius", "corruptions"} {
		if cmd.Flags().Changed(flag) {
			return nil, cli.Usagef("--%s goes with --logs", flag)
		}
	}
	if o.baseline != "" {
		var err error
		if o.Baseline, err = lines.ParseSelection(o.baseline); err != nil {
			return nil, cli.Usagef("--baseline %s: expected label=value, such as group=standard", o.baseline)
		}
	}
	models, err := o.read()
	if err != nil {
		return nil, err
	}
	return lines.Fit(cmd.Context(), models, o.Options)
}
