package lines

import (
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/lines"
)

// fitOptions holds the values of the flags of "lines fit".
type fitOptions struct {
	source
	certificates
	lines.Options
	baseline string
	json     *bool
}

// printOptions holds the flags of "lines fit" on its output.
type printOptions struct {
	fitOptions
	influence, leaveOneOut bool
	within                 float64
	table                  cli.TableOptions
}

func fitCommand() *cobra.Command {
	o := &printOptions{}
	cmd := &cobra.Command{
		Use:   "fit {--in FILE | --logs FOLDER | --experiment FOLDER | --ledgers FOLDER…} --x FIELD --y FIELD",
		Short: "Fit the line of accuracy under shift, with intervals and effective robustness",
		Long: `Fit the line of one accuracy on another, in probit units, for each group of models.

It prints slope, intercept and R² with intervals, of the line through the baseline's models. --json also says how far
each model stands above its line. Where --out ends in .svg, .png or .pdf, it draws models and lines instead, on
probit axes with exact 95 % intervals, a line opaque by its R².

Certified accuracies come from published logs (--logs: clean/MODEL.tsv and
corrupted/MODEL/severity_S/CORRUPTION.tsv), folders of experiments, or folders of ledgers, one of each
model: a line a radius, and one through all radii. --y then names corruptions, as C, Low or fog; of logs
it is a name alone. Models must have equal σ, α and rule, and a radius above their cap is refused.
Intervals pair the axes by image, and draw models with all their radii. --by model gives each model a
line of its own, through its radii.

--influence prints each model instead, with its place above the line, its leverage and Cook's distance.
--leave-one-out, with certificates, predicts the certified accuracy of each model under each corruption from
that on clean images and the line through the other models. It counts how often the prediction is met within
a tolerance, and compares with two predictions without a line: the same as on clean images, and less by the
mean drop of the others.`,
		Example: `  certspec lines fit --in acc.csv --x clean --y fog --by architecture --baseline group=standard --json
  certspec lines fit --in acc.csv --x clean --y fog --by architecture --out line.svg
  certspec lines fit --experiment notebooks/results/experiments/A --x clean --y C --radius 0.25
  certspec lines fit --logs $CERTSPEC_DATA/certify-logs-shift --x clean --y corrupted --radius 0,0.5 --json
  certspec lines fit --in metric_and_OOD_var_dict.json --x cifar10_acc --y contrast --by architecture --influence
  certspec lines fit --logs $CERTSPEC_DATA/certify-logs-shift --radius 0.5,0.75 --leave-one-out`,
	}
	o.flags(cmd)
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.BoolVar(&o.influence, "influence", false,
			"print what each model does to its line: leverage, Cook's distance, its place above it")
		f.BoolVar(&o.leaveOneOut, "leave-one-out", false,
			"of certificates: how well the line of the other models predicts each model")
		f.Float64Var(&o.within, "within", 0.02, "of --leave-one-out: tolerance, in accuracy")
	})
	o.table.Drawn = cli.FigureForms
	o.table.Flags(cmd)
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *printOptions) run(cmd *cobra.Command) error {
	switch {
	case o.leaveOneOut && o.influence:
		return cli.Usagef("--influence with --leave-one-out: expected one of them")
	case o.leaveOneOut:
		return o.predict(cmd)
	case cmd.Flags().Changed("within"):
		return cli.Usagef("--within goes with --leave-one-out")
	case cli.IsDrawing(o.table.Out):
		return o.draw(cmd)
	}
	result, err := o.fit(cmd)
	if err != nil {
		return err
	}
	switch {
	case *o.json:
		return cli.PrintJSON(cmd.OutOrStdout(), result)
	case o.influence:
		return o.table.Write(cmd, result.Above())
	}
	return o.table.Write(cmd, result.Table())
}

func (o *fitOptions) flags(cmd *cobra.Command) {
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		o.source.flags(f)
		o.certificates.flags(f)
		f.Text(&o.X, "x", "accuracy on the x axis; of certificates a name for it")
		f.Text(&o.Y, "y", "accuracy on the y axis; of certificates corruptions, or a name")
		f.Text(&o.By, "by", "label whose values get a line each; of certificates model or radius")
		f.Text(&o.baseline, "baseline",
			"models that lines go through, as label=value or label!=value; the label model is the name")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		o.certificates.settings(f)
		f.Float64Var(&o.Clip.Share, "clip", 0, "accuracies are moved into [clip, 1 - clip]; 0: half an image")
		cli.Choice(f, &o.Over, "over", "", "what intervals take for random: nothing, images or both (default both)",
			lines.Nothing, lines.Images, lines.Both)
		f.IntVar(&o.Resamples, "resamples", 2000, "resamples of the bootstrap")
		f.Float64Var(&o.Confidence, "confidence", 0.95, "probability with which an interval holds the truth")
		f.Uint64Var(&o.Seed, "seed", 0, "seed of the bootstrap")
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
			return nil, cli.Usagef("--baseline %s: expected label=value, such as group=standard, or label!=value",
				o.baseline)
		}
	}
	if certificates {
		points, notes, err := o.points()
		if err != nil {
			return nil, err
		}
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
