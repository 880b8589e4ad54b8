// Package adapt is "certspec adapt".
package adapt

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/adapt"
)

// options holds the values of the flags.
type options struct {
	adapt.Options
	model, out string
	images     cli.ImageOptions
	corrupt    cli.CorruptOptions
	momentum   float64
	json       *bool
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "adapt MODEL --method {bn|tent} --data NAME --out PATH [flags]",
		Short: "Adapt a trained network to other images, without their labels",
		Long: `Adapt a trained network to images that look unlike those it was trained on, without their labels.

bn takes new statistics of batch normalisation. tent (TENT) also moves its scales and shifts, to lower the
entropy of the predictions. The images are seen with noise. The adapted network is a model file of its own, a
fixed function that can be certified. Its card names the adaptation.`,
		Example: "  certspec adapt models/resnet20 --method tent --data cifar10/test --corrupt fog " +
			"--severity 3 --out models/resnet20-fog",
		Args: cli.OneModel,
	}
	cli.Group(cmd, cli.Model, func(f *cli.Flags) {
		f.Model(&o.model, "path of the model file")
		f.TrainingEngine(&o.Backend, "engine", "engine that runs the network")
	})
	o.images.Flags(cmd)
	o.corrupt.Flags(cmd)
	cli.Group(cmd, cli.Training, func(f *cli.Flags) {
		cli.Choice(f, &o.Method, "method", "", "bn or tent", adapt.BN, adapt.TENT)
		f.Float64Var(&o.Sigma, "sigma", 0, "standard deviation of the noise (default the one of the training)")
		f.IntVar(&o.Images, "images", 0, "images drawn from the data (default 500, or all)")
		f.IntVar(&o.Steps, "steps", 10, "batches")
		f.IntVar(&o.BatchSize, "batch", 0, "images in a step (default 128, or all)")
		f.Float64Var(&o.Rate, "rate", 1e-3, "learning rate of tent")
		f.Float64Var(&o.momentum, "momentum", 0.9, "momentum of tent")
		f.Uint64Var(&o.Seed, "seed", 0, "seed of images, batches and noise")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.Out(&o.out, "path of the adapted model file, without ending") })
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "method", "data", "corrupt", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "model", "method", "data", "out"); err != nil {
		return err
	}
	if err := cli.NotZero(cmd, "images", "steps", "batch", "rate"); err != nil {
		return err
	}
	if o.Method == adapt.BN && (cmd.Flags().Changed("rate") || cmd.Flags().Changed("momentum")) {
		return cli.Usagef("--rate and --momentum are those of tent; bn trains nothing")
	}
	if modelfile.Exists(o.out) {
		return fmt.Errorf("there is a model at --out %s already", o.out)
	}
	d, err := o.open()
	if err != nil {
		return err
	}
	m, err := modelfile.Read(o.model)
	if err != nil {
		return err
	}
	if !cmd.Flags().Changed("sigma") {
		o.Sigma = m.Card.Recipe.Noise()
	}
	o.Momentum = cli.OrNone(o.momentum)
	images, err := d.Index(cmd.Context(), cli.Progress())
	if err != nil {
		return err
	}
	adapted, err := adapt.Run(cmd.Context(), m, images, o.Options)
	if err != nil {
		return err
	}
	adapted.Card.Program, adapted.Card.Command = cli.Version(), cli.CommandLine(os.Args[1:])
	if err := modelfile.Write(o.out, adapted); err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), adapted.Card)
	}
	a := adapted.Card.Adaptation
	_, err = cli.Fprintf(cmd.OutOrStdout(), "%s adapted by %s to %d images of %s, %d steps, σ = %g: %s\n", o.model,
		a.Method, a.Images, a.Data.Name, a.Steps, a.Sigma, o.out)
	return err
}

// open opens the images, corrupted where that is asked for.
func (o *options) open() (*dataset.Dataset, error) {
	images, err := o.images.Open()
	if err != nil {
		return nil, err
	}
	return o.corrupt.Open(images)
}
