package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/gomlxmodels/adapt"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
)

func init() { verbs = append(verbs, adaptCommand) }

func adaptCommand() *cobra.Command {
	var o adapt.Options
	cmd := &cobra.Command{
		Use:   "adapt --model PATH --method {bn|tent} --data NAME --out PATH [flags]",
		Short: "Adapt a trained network to other images, without their labels",
		Long: `Adapt a trained network to images that look unlike those it was trained on, without their labels: by new statistics of batch
normalisation (bn), or by TENT (tent), which also moves its scales and shifts so as to lower the entropy of the predictions. The images are seen
with noise. The adapted network is a model file of its own, a fixed function that can be certified; its card names the adaptation.`,
		Example: "  certspec adapt --model models/resnet20 --method tent --data cifar10/test --corrupt fog --severity 3 --out models/resnet20-fog",
		Args:    noArgs,
	}
	f := cmd.Flags()
	model := f.String("model", "", "path of the model file")
	out := f.String("out", "", "path of the adapted model file, without ending")
	openImages := corruptedFlags(cmd, dataFlags(cmd))
	f.StringVar(&o.Method, "method", "", "bn or tent")
	f.Float64Var(&o.Sigma, "sigma", 0, "standard deviation of the noise (default that of the training)")
	f.IntVar(&o.Images, "images", 0, "images drawn from the data (default 500, or all)")
	f.IntVar(&o.Steps, "steps", 10, "batches")
	f.IntVar(&o.BatchSize, "batch", 0, "images in a step (default 128, or all)")
	f.Float64Var(&o.Rate, "rate", 1e-3, "learning rate of tent")
	momentum := f.Float64("momentum", 0.9, "momentum of tent")
	f.Uint64Var(&o.Seed, "seed", 0, "of images, batches and noise")
	f.StringVar(&o.Backend, "engine", "", "what runs the network: auto, xla, xla:cpu, xla:cuda, xla:/path/of/plugin.so or go; see certspec backend")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := needed(cmd, "model", "method", "data", "out"); err != nil {
			return err
		}
		if o.Method != adapt.BN && o.Method != adapt.TENT {
			return usagef("--method %q: expected %s or %s", o.Method, adapt.BN, adapt.TENT)
		}
		if err := notZero(cmd, "images", "steps", "batch", "rate"); err != nil {
			return err
		}
		if o.Method == adapt.BN && (f.Changed("rate") || f.Changed("momentum")) {
			return usagef("--rate and --momentum are those of tent; bn trains nothing")
		}
		if modelfile.Exists(*out) {
			return fmt.Errorf("there is a model at --out %s already", *out)
		}
		d, err := openImages()
		if err != nil {
			return err
		}
		m, err := modelfile.Read(*model)
		if err != nil {
			return err
		}
		if !f.Changed("sigma") {
			o.Sigma = m.Card.Recipe.Sigma
		}
		o.Momentum = orNone(*momentum)
		images, err := d.Load(cmd.Context())
		if err != nil {
			return err
		}
		adapted, err := adapt.Run(cmd.Context(), m, images, o)
		if err != nil {
			return err
		}
		adapted.Card.Program, adapted.Card.Command = version(), commandLine(os.Args[1:])
		if err := modelfile.Write(*out, adapted); err != nil {
			return err
		}
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), adapted.Card)
		}
		a := adapted.Card.Adaptation
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s adapted by %s to %d images of %s, %d steps, σ = %g: %s\n", *model, a.Method, a.Images, a.Data.Name, a.Steps, a.Sigma, *out)
		return err
	}
	return cmd
}
