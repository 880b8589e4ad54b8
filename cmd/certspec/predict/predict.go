// Package predict is "certspec predict".
package predict

import (
	"errors"
	"fmt"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs"

	"github.com/spf13/cobra"
)

// Result is the line of an image that "predict" prints.
type Result struct {
	Image int `json:"image"`
	Label int `json:"label"` // -1: unknown
	rs.Prediction
	Warning string `json:"warning,omitempty"`
}

// options holds the values of the flags.
type options struct {
	rs.PredictOptions
	input cli.InputOptions
	ids   []int
	json  *bool
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "predict {MODEL | --exec COMMAND} --data NAME --sigma S [flags]",
		Short: "Classify images by the smoothed classifier, or abstain",
		Long: `Classify images by the smoothed classifier: the class that the model gives most often to noise
samples of an image, right with a probability of at least 1 − alpha, or an abstention. It proves no
radius; see certspec certify.`,
		Example: "  certspec predict models/fmnist-cnn-s025 --data fashionmnist/test --image 0,20 --sigma " +
			"0.25\n" +
			"  certspec predict models/fmnist-cnn-s025 --data folder:pictures --sigma 0.25",
		Args: cli.OneModel,
	}

	o.input.Flags(cmd)
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.Ints(&o.ids, "image", nil, "indices of the images in the data set (default all)")
	})
	cli.Group(cmd, cli.Noise, func(f *cli.Flags) {
		f.SigmaFlag(&o.Sigma)
		f.IntVar(&o.Samples, "n", 1000, "noise samples of an image")
		f.Float64Var(&o.Alpha, "alpha", stopping.DefaultAlpha, "bound on the probability that the class is wrong")
		f.NoiseFlag(&o.Noise)
		f.IntVar(&o.Block, "block", stopping.DefaultBlock, "noise samples in one call of the model")
		f.Uint64Var(&o.Seed, "seed", 0, "seed of the noise (default derived from model, image and settings)")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "data", "sigma", "n", "image")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "data", "sigma"); err != nil {
		return err
	}
	if err := cli.NotZero(cmd, "n", "alpha", "block"); err != nil {
		return err
	}
	in, err := o.input.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	some, err := in.Some(cmd.Context(), rs.Shard{})
	if err != nil {
		return err
	}
	images, err := in.Data.Index(cmd.Context(), nil)
	if err != nil {
		return err
	}
	if len(o.ids) == 0 {
		o.ids = images.IDs
	}
	if _, err := cli.LookFirst(cmd.Context(), in.Model, some, preflight.UseOfPrediction(o.PredictOptions)); err != nil {
		return err
	}
	info, err := in.Model.Info()
	if err != nil {
		return err
	}
	all, misses := []Result{}, 0
	for _, id := range o.ids {
		i := images.Images.Index(id)
		if i < 0 {
			return cli.Usagef("--image %d: not in %s", id, images.Name)
		}
		one, err := images.Read(cmd.Context(), i)
		if err != nil {
			return err
		}
		o.Image = id
		p, err := rs.Predict(cmd.Context(), in.Model, one.Image(0), o.PredictOptions)
		if err != nil {
			return cli.Usage(err)
		}
		warning, invalid := rs.Outputs(info.Name, p.Misses, o.Samples)
		if invalid != nil {
			warning = invalid.Error()
		}
		if warning != "" {
			cli.Say("warning: image %d: %s", id, warning)
		}
		misses += p.Misses
		all = append(all, Result{id, images.Labels[i], p, warning})
	}
	out := cmd.OutOrStdout()
	_, invalid := rs.Outputs(info.Name, misses, len(all)*o.Samples)
	if *o.json {
		return errors.Join(cli.PrintJSON(out, all), invalid)
	}
	w := cli.Columns(out)
	fmt.Fprintln(w, "image\tlabel\tclass\tvotes\tp-value")
	for _, p := range all {
		class, votes := "abstains", 0
		if p.Class != rs.Abstain {
			class, votes = cli.ClassName(images.Classes, p.Class), p.Counts[p.Class]
		}
		cli.Fprintf(w, "%d\t%s\t%s\t%d of %d\t%.2g\n", p.Image, cli.ClassName(images.Classes, p.Label), class, votes,
			o.Samples, p.PValue)
	}
	return errors.Join(w.Flush(), invalid)
}
