// Package join is "certspec join".
package join

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/onnx"
)

// options are what the flags ask.
type options struct {
	network  cli.NetworkOptions
	denoiser onnx.Denoiser
	schedule string
	out      string
	json     *bool
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "join DENOISER CLASSIFIER --out FILE.onnx",
		Short: "Set a denoiser before a classifier, as one model that can be certified",
		Long: `Set a denoiser before a classifier, and write both as one ONNX file with one identity.
What is known of the classifier's images (--mean, --std, … or its card) is applied behind the denoiser.
The file records its σ, and certspec certify warns at another one.
With --diffusion, the denoiser is a diffusion model: the schedule gives the scale of the image and the step.`,
		Example: "  certspec join models/denoised.onnx resnet20.onnx --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225 " +
			"--out joined.onnx\n" +
			"  certspec join unet.onnx net.onnx --diffusion linear --steps 1000 --predicts epsilon --sigma 0.25 --out " +
			"joined.onnx",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.Usagef("%s wants a denoiser and a classifier, got %d", cmd.CommandPath(), len(args))
			}
			return nil
		},
	}
	o.network.EntranceFlags(cmd)
	cli.Group(cmd, cli.Noise, func(f *cli.Flags) {
		f.Float64Var(&o.denoiser.Sigma, "sigma", 0,
			"standard deviation of the denoiser's noise, 1 = full range (default that of its training)")
		cli.Choice(f, &o.schedule, "diffusion", "none", "schedule of a diffusion model: none, linear or cosine", "none",
			"linear", "cosine")
		f.IntVar(&o.denoiser.Steps, "steps", 1000, "steps of the schedule")
		cli.Choice(f, &o.denoiser.Predicts, "predicts", "epsilon", "what a diffusion model gives: epsilon (the noise), "+
			"sample (the image) or v", "epsilon", "sample", "v")
		f.BoolVar(&o.denoiser.Rescaled, "rescaled-steps", false, "a diffusion model gets 1000·t/steps, not t")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.Out(&o.out, "ONNX file to write") })
	o.json = cli.JSON(cmd)
	cli.First(cmd, "out", "sigma", "mean", "std", "diffusion")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	return cmd
}

func (o *options) run(cmd *cobra.Command, args []string) error {
	if err := cli.Needed(cmd, "out"); err != nil {
		return err
	}
	if !strings.HasSuffix(strings.ToLower(o.out), ".onnx") {
		return cli.Usagef("--out %s: expected a name that ends in .onnx", o.out)
	}
	if o.schedule != "none" {
		o.denoiser.Schedule = o.schedule
	}
	d, err := engine.Open(args[0])
	if err != nil {
		return err
	}
	defer d.Close()
	o.network.Path = args[1]
	f, err := o.network.OpenModel()
	if err != nil {
		return err
	}
	defer f.Close()
	if err := engine.JoinDenoiser(d, f, o.denoiser, o.out); err != nil {
		return err
	}
	joined, err := engine.Open(o.out)
	if err != nil {
		return err
	}
	defer joined.Close()
	result := struct {
		File  string  `json:"file"`
		Sigma float64 `json:"sigma"`
	}{o.out, joined.DenoiserSigma()}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), result)
	}
	_, err = cli.Fprintf(cmd.OutOrStdout(), "%s: a denoiser for σ = %g before %s\n", o.out, result.Sigma, args[1])
	return err
}
