package calib

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

// recalibrateOptions holds the values of the flags of "calib recalibrate".
type recalibrateOptions struct {
	sampleOptions
	method         calib.Method
	objective      calib.Objective
	fit, use, save string
	population     bool
	delta          float64
	json           *bool
}

func recalibrateCommand() *cobra.Command {
	var o recalibrateOptions
	cmd := &cobra.Command{
		Use:   "recalibrate {--in FILE | --ledger FILE} [--fit FILE] [flags]",
		Short: "Fit a map of the confidences on some samples, and certify its calibration on others",
		Long: `Fit a non-decreasing map g of the confidences, and judge it on samples that it was not fitted on.

As g does not fall, [g(l), g(u)] is a certified interval of g's confidence wherever [l, u] was one. It is
fitted at each radius on the file of --fit, another ledger or CSV file. Without --fit, samples at even places
(0, 2, …) fit, and the others judge. The objective certified-brier fits to the worst confidences inside the
intervals.

Beside both stand a constant confidence, the accuracy of the samples that fitted g, and the resolution. A
calibration that is no better than the constant's says nothing.

A ledger also gives what holds for all judged images at once; with --population also for images drawn like
them, which is refused where g was fitted on judged images, or on images that are equal to judged ones:
the data sets are read to find these, and the halves keep equal images together.`,
		Example: "  certspec calib recalibrate --ledger out/fmnist.ledger --radii 0.1 --method platt --objective " +
			"certified-brier\n" +
			"  certspec calib recalibrate --in test.csv --fit validation.csv --method isotonic --objective nll " +
			"--save map.json\n" +
			"  certspec calib recalibrate --in other.csv --map map.json",
		Args: cli.NoArgs,
	}

	o.sampleOptions.flags(cmd)
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.File(&o.fit, "fit", "ledger or CSV file of the samples to fit on (default every second one of those that "+
			"are named)", "ledger", "csv")
		f.File(&o.use, "map", "file of --save: apply its maps, fit nothing", "json")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		cli.Choice(f, &o.method, "method", calib.Platt, "form of the map: platt, temperature, beta or isotonic",
			calib.Platt, calib.Temperature, calib.Beta, calib.Isotonic)
		cli.Choice(f, &o.objective, "objective", calib.CertifiedBrierLoss,
			"objective of the fit: certified-brier, the largest Brier score inside the intervals, or nll",
			calib.CertifiedBrierLoss, calib.NLL)
		f.Float64Var(&o.delta, "delta", 0.001,
			"with a ledger: the claims on all judged images at once hold with probability 1-delta, those on their "+
				"population with 1-2·delta")
		f.BoolVar(&o.population, "population", false,
			"with a ledger: a claim for the population, too; reads the images, so that no equal ones are fitted on "+
				"and judged")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Written(&o.save, "save", "JSON file to write the maps to, with what they were fitted on", ".json")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "ledger", "in", "fit", "method", "objective")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *recalibrateOptions) run(cmd *cobra.Command) error {
	f := cmd.Flags()
	if !(o.delta > 0 && o.delta < 1) {
		return cli.Usagef("--delta %v: expected a number between 0 and 1", o.delta)
	}
	if o.use != "" && (f.Changed("fit") || f.Changed("method") || f.Changed("objective") || o.save != "") {
		return cli.Usagef("--map applies maps that are fitted; it excludes --fit, --method, --objective and --save")
	}
	if o.population && o.ledger == "" {
		return cli.Usagef("--population wants a ledger: of a CSV file the images are not known")
	}
	if o.in == "-" && o.fit == "-" {
		return cli.Usagef("--in - and --fit -: expected one file at least, standard input can be read once")
	}
	sets, err := o.open(cmd)
	if err != nil {
		return err
	}
	parts, err := o.parts(cmd, sets)
	if err != nil {
		return err
	}
	if f.Changed("in") && sets[0].Lower == nil && !f.Changed("objective") {
		o.objective = calib.NLL // there are no intervals
	}
	var maps []recalibrated
	known := map[*sampleFile]fitPart{}
	for i, s := range sets {
		known[s] = parts[i]
	}
	err = eachSet(cmd, sets, *o.json, func(s *sampleFile) (answer, error) {
		r, err := o.judge(s, known[s])
		if err == nil {
			maps = append(maps, *r)
		}
		return r, err
	})
	if err != nil || o.save == "" {
		return err
	}
	text, err := json.MarshalIndent(maps, "", " ")
	if err != nil {
		return err
	}
	return cli.WriteOut(cmd, o.save, append(text, '\n'))
}
