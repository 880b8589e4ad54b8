package lines

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/lines"
)

// fitOptions are what the flags of "lines fit" and its like ask.
type fitOptions struct {
	source
	certificates
	lines.Options
	baseline string
	json     *bool
}

func fitCommand() *cobra.Command {
	o := &fitOptions{}
	cmd := &cobra.Command{
		Use:   "fit {--in FILE | --logs FOLDER | --experiment FOLDER | --ledgers FOLDER…} --x FIELD --y FIELD",
		Short: "The line of accuracy under shift, with intervals, and each model's effective robustness",
		Long: `Fit the line of one accuracy on another, in probit units, for each group of models, through the baseline's models; print
slope, intercept and R² with intervals, and with --json how far each model stands above its line.

Certified accuracies come from published logs (--logs: clean/MODEL.tsv and corrupted/MODEL/severity_S/CORRUPTION.tsv), folders
of experiments, or folders of ledgers, one of each model: a line a radius, and one through all radii. --y then names
corruptions, as C, Low or fog; of logs it is a name alone. Models must have equal σ, α and rule, and a radius above their cap is
refused. Intervals pair the axes by image, and draw models with all their radii. --by model gives each model a line of its own,
through its radii.`,
		Example: `  certspec lines fit --in acc.csv --x clean --y fog --by architecture --baseline group=standard --json
  certspec lines fit --experiment notebooks/results/experiments/A --x clean --y C --radius 0.25
  certspec lines fit --logs $CERTSPEC_DATA/certify-logs-shift --x clean --y corrupted --radius 0,0.25,0.5,0.75 --baseline model!=cat-rs --json`,
	}
	o.flags(cmd)
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return o.print(cmd, (*lines.Result).Rendered)
	}
	return cmd
}

func influenceCommand() *cobra.Command {
	o := &fitOptions{}
	cmd := &cobra.Command{
		Use:   "influence {--in FILE | --logs FOLDER | --experiment FOLDER | --ledgers FOLDER…} --x FIELD --y FIELD",
		Short: "What each model does to its line: leverage, Cook's distance, and its place above the line",
		Long: `Fit the line as "lines fit" does, and print each model with its place above the line, its leverage and Cook's
distance.`,
		Example: "  certspec lines influence --in metric_and_OOD_var_dict.json --x cifar10_acc --y contrast --by architecture --over nothing",
	}
	o.flags(cmd)
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return o.print(cmd, (*lines.Result).Above)
	}
	return cmd
}

// print fits and prints what show makes of the result, or with --json the whole of it.
func (o *fitOptions) print(cmd *cobra.Command, show func(*lines.Result) *table.Table) error {
	result, err := o.fit(cmd)
	if err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), result)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), show(result))
	return err
}

func (o *fitOptions) flags(cmd *cobra.Command) {
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		o.source.flags(f)
		o.certificates.flags(f)
		f.Text(&o.X, "x", "accuracy on the x axis; of certificates a name for it")
		f.Text(&o.Y, "y", "accuracy on the y axis; of certificates corruptions, or a name")
		f.Text(&o.By, "by", "label whose values get a line each; of certificates model or radius")
		f.Text(&o.baseline, "baseline", "models that lines go through, as label=value or label!=value; the label model is the name")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		o.certificates.settings(f)
		f.Float64Var(&o.Clip.Share, "clip", 0, "accuracies are moved into [clip, 1 - clip]; 0: half an image")
		cli.Choice(f, &o.Over, "over", "", "what intervals take for random: nothing, images, models or both", lines.Nothing, lines.Images, lines.Nets, lines.Both)
		f.IntVar(&o.Bootstrap.Resamples, "resamples", 2000, "resamples of the bootstrap")
		f.Float64Var(&o.Bootstrap.Confidence, "confidence", 0.95, "probability with which an interval holds the truth")
		f.Uint64Var(&o.Bootstrap.Seed, "seed", 0, "of the bootstrap")
	})
	cmd.Args = o.more
	cli.First(cmd, "in", "x", "y", "by", "baseline")
}

func (o *fitOptions) fit(cmd *cobra.Command) (*lines.Result, error) {
	certificates, given := o.asked(cmd), 0
	for _, flag := range append([]string{"in"}, sources...) {
		if cmd.Flags().Changed(flag) {
			given++
		}
	}
	if given != 1 {
		return nil, cli.Usagef("%s wants --in, --logs, --experiment or --ledgers, one of these", cmd.CommandPath())
	}
	if o.baseline != "" {
		var err error
		if o.Baseline, err = lines.ParseSelection(o.baseline); err != nil {
			return nil, cli.Usagef("--baseline %s: expected label=value, such as group=standard, or label!=value", o.baseline)
		}
	}
	if certificates {
		points, notes, err := o.points()
		if err != nil {
			return nil, err
		}
		o.SameImages = true
		result, err := lines.FitPoints(cmd.Context(), points, o.Options)
		if err != nil {
			return nil, err
		}
		result.Notes = append(result.Notes, notes...)
		return result, nil
	}
	for _, flag := range alone {
		if cmd.Flags().Changed(flag) {
			return nil, cli.Usagef("--%s goes with --logs, --experiment and --ledgers", flag)
		}
	}
	models, err := o.read()
	if err != nil {
		return nil, err
	}
	return lines.Fit(cmd.Context(), models, o.Options)
}
