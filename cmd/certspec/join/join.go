// Package join is "certspec join".
package join

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/onnx"
)

// options holds the values of the flags.
type options struct {
	network                       cli.NetworkOptions
	before, beside, schedule, out string
	denoiser                      onnx.Denoiser
	shift                         float64
	json                          *bool
}

type joined struct {
	File    string  `json:"file"`
	Sigma   float64 `json:"sigma,omitempty"`   // of a denoiser
	Network string  `json:"network,omitempty"` // its digest, as ood bound records it
	Classes int     `json:"classes,omitempty"`
	Reason  string  `json:"reason,omitempty"` // why ood bound cannot read it
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "join MODEL {--denoiser FILE | --discriminator FILE} --out FILE.onnx",
		Short: "Join a classifier with a denoiser or a discriminator into one ONNX file",
		Long: `Write a classifier and a second network as one ONNX file, with one identity. What is known of the
classifier's images (--mean, --std, … or its card) becomes part of the file, which needs no card.

--denoiser stands before the classifier, so that a network that was never trained with noise can be certified.
The file records the σ, and certspec certify warns at another one. With --diffusion the denoiser is a diffusion
model: the schedule gives the scale of the image and the step.

--discriminator stands beside it, as in ProoD (Meinke, Bitterwolf and Hein 2022): h is large where an image is
like the classifier's own. The probabilities are π·softmax(f) + (1 − π)/K with π = 1/(1 + exp(−h − Δ)), and
certspec ood bound then bounds the confidence, however deep the classifier is. --shift is Δ: more of it costs
less accuracy, and guarantees less.`,
		Example: "  certspec join resnet20.onnx --denoiser models/denoised.onnx --mean 0.485,0.456,0.406 --std " +
			"0.229,0.224,0.225 --out joined.onnx\n" +
			"  certspec join net.onnx --denoiser unet.onnx --diffusion linear --sigma 0.25 --out joined.onnx\n" +
			"  certspec join net.onnx --discriminator models/prood --shift 3 --out joined.onnx",
		Args: cli.OneModel,
	}
	o.network.Flags(cmd)
	cli.Group(cmd, cli.Model, func(f *cli.Flags) {
		f.File(&o.before, "denoiser", "path of a model file, or of an ONNX file, that gives images", "onnx", "json",
			"safetensors")
		f.File(&o.beside, "discriminator", "path of a model file that prood trained, or of an ONNX file with one output",
			"onnx", "json", "safetensors")
		f.Float64Var(&o.shift, "shift", 0, "Δ of the discriminator (default its training's)")
	})
	cli.Group(cmd, cli.Noise, func(f *cli.Flags) {
		f.Float64Var(&o.denoiser.Sigma, "sigma", 0,
			"standard deviation of the denoiser's noise, 1 = full range (default its training's)")
		cli.Choice(f, &o.schedule, "diffusion", "none", "schedule of a diffusion model: none, linear or cosine", "none",
			"linear", "cosine")
		f.IntVar(&o.denoiser.Steps, "steps", 1000, "steps of the schedule")
		cli.Choice(f, &o.denoiser.Predicts, "predicts", "epsilon", "output of a diffusion model: epsilon (the noise), "+
			"sample (the image) or v", "epsilon", "sample", "v")
		f.BoolVar(&o.denoiser.Rescaled, "rescaled-steps", false, "a diffusion model gets 1000·t/steps, not t")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.Out(&o.out, "ONNX file to write", ".onnx") })
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "denoiser", "discriminator", "out", "sigma")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "model", "out"); err != nil {
		return err
	}
	other, foreign := "shift", "discriminator"
	if o.beside != "" {
		other, foreign = "sigma,diffusion,steps,predicts,rescaled-steps", "denoiser"
	}
	for name := range strings.SplitSeq(other, ",") {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s goes with --%s", name, foreign)
		}
	}
	switch {
	case (o.before == "") == (o.beside == ""):
		return cli.Usagef("expected --denoiser FILE or --discriminator FILE, one of them")
	case !strings.HasSuffix(strings.ToLower(o.out), ".onnx"):
		return cli.Usagef("--out %s: expected a name that ends in .onnx", o.out)
	}
	f, err := o.network.OpenModel()
	if err != nil {
		return err
	}
	defer f.Close()
	second, err := engine.Open(o.before + o.beside)
	if err != nil {
		return err
	}
	defer second.Close()
	if o.before != "" {
		if o.schedule != "none" {
			o.denoiser.Schedule = o.schedule
		}
		err = engine.JoinDenoiser(second, f, o.denoiser, o.out)
	} else {
		var shift *float64
		if cmd.Flags().Changed("shift") {
			shift = &o.shift
		}
		err = engine.Join(f, second, shift, o.out)
	}
	if err != nil {
		return err
	}
	result, err := o.written(cmd)
	if err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), result)
	}
	text := "%s: %d classes, the network %s\n"
	of := []any{o.out, result.Classes, result.Network}
	switch {
	case o.before != "":
		text, of = "%s: a denoiser for σ = %g before %s\n", []any{o.out, result.Sigma, o.network.Path}
	case result.Reason != "":
		text, of = "%s: written; certspec ood bound cannot read it: %s\n", []any{o.out, result.Reason}
	}
	_, err = cli.Fprintf(cmd.OutOrStdout(), text, of...)
	return err
}

// written says what the new file is.
func (o *options) written(cmd *cobra.Command) (joined, error) {
	result := joined{File: o.out}
	m, err := engine.Open(o.out)
	if err != nil {
		return result, err
	}
	defer m.Close()
	if o.before != "" {
		result.Sigma = m.DenoiserSigma()
		return result, nil
	}
	n, err := m.FeedForward(cmd.Context())
	if errors.Is(err, onnx.ErrNoLibrary) {
		n, err = m.Uncompared()
	}
	if err != nil {
		result.Reason = err.Error()
		return result, nil
	}
	result.Network, result.Classes = n.Digest(), n.Outputs()
	return result, nil
}
