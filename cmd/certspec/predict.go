package main

import (
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/noise"
	"github.com/certspec/certspec/rs/preflight"
)

func init() { verbs = append(verbs, predictCommand) }

// predicted is what "predict" prints per image.
type predicted struct {
	Image int `json:"image"`
	Label int `json:"label"` // -1: unknown
	rs.Prediction
	Warning string `json:"warning,omitempty"`
}

func predictCommand() *cobra.Command {
	var (
		o   rs.PredictOptions
		law string
		ids []int
	)
	cmd := &cobra.Command{
		Use:   "predict {--model PATH | --exec COMMAND} --data NAME --sigma S [flags]",
		Short: "Classify images by the smoothed classifier, or abstain",
		Long: `Classify images by the smoothed classifier: the class that the model gives most often to noisy
copies of an image, right with a probability of at least 1 − alpha, or an abstention. It proves no
radius; see certspec certify.`,
		Example: "  certspec predict --model models/fmnist-cnn-s025 --data fashionmnist/test --image 0,20 --sigma 0.25\n" +
			"  certspec predict --model models/fmnist-cnn-s025 --data folder:pictures --sigma 0.25",
		Args: noArgs,
	}
	f := cmd.Flags()
	openClassifier, openImages := modelFlags(cmd), dataFlags(cmd)
	f.IntSliceVar(&ids, "image", nil, "indices of the images in the data set (default all)")
	f.Float64Var(&o.Sigma, "sigma", 0, "standard deviation of the noise, 1 = full range")
	f.IntVar(&o.Samples, "n", 1000, "noisy copies of an image")
	f.Float64Var(&o.Alpha, "alpha", rs.DefaultAlpha, "bound on the probability that the class is wrong")
	f.StringVar(&law, "noise", "grid", "law of the noise: grid or gaussian")
	f.IntVar(&o.Block, "block", rs.DefaultBlock, "copies in one call of the model")
	f.Uint64Var(&o.Seed, "seed", 0, "of the noise (default derived from model, image and settings)")
	asJSON := jsonFlag(cmd)

	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := needed(cmd, "data", "sigma"); err != nil {
			return err
		}
		if err := notZero(cmd, "n", "alpha", "block"); err != nil {
			return err
		}
		o.Noise = noise.Law(law)
		d, err := openImages()
		if err != nil {
			return err
		}
		m, end, err := openClassifier()
		if err != nil {
			return err
		}
		defer end()
		images, err := d.Load(cmd.Context())
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			ids = images.IDs
		}
		if _, err := lookFirst(cmd.Context(), m, images, preflight.UseOfPrediction(o)); err != nil {
			return usageOf(err)
		}
		info, err := m.Info()
		if err != nil {
			return err
		}
		all, misses := []predicted{}, 0
		for _, id := range ids {
			i := images.Index(id)
			if i < 0 {
				return usagef("--image %d: not in %s", id, images.Name)
			}
			o.Image = id
			p, err := rs.Predict(cmd.Context(), m, images.Image(i), o)
			if err != nil {
				return usageOf(err)
			}
			warning, invalid := rs.Outputs(info.Name, p.Misses, o.Samples)
			if invalid != nil {
				warning = invalid.Error()
			}
			if warning != "" {
				say("warning: image %d: %s", id, warning)
			}
			misses += p.Misses
			all = append(all, predicted{id, images.Labels[i], p, warning})
		}
		out := cmd.OutOrStdout()
		_, invalid := rs.Outputs(info.Name, misses, len(all)*o.Samples)
		if *asJSON {
			return errors.Join(printJSON(out, all), invalid)
		}
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "image\tlabel\tclass\tvotes\tp-value")
		for _, p := range all {
			class, votes := "abstains", 0
			if p.Class != rs.Abstain {
				class, votes = className(images.Classes, p.Class), p.Counts[p.Class]
			}
			fmt.Fprintf(w, "%d\t%s\t%s\t%d of %d\t%.2g\n", p.Image, className(images.Classes, p.Label), class, votes, o.Samples, p.PValue)
		}
		return errors.Join(w.Flush(), invalid)
	}
	return cmd
}

// className is the name of a class of the data set, or its number where there is none.
func className(names []string, class int) string {
	switch {
	case class < 0:
		return "unknown"
	case class < len(names):
		return names[class]
	}
	return strconv.Itoa(class)
}
