// Package attack is "certspec attack".
package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/perturb"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/internal/rs/conformal"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/noise"

	"github.com/spf13/cobra"
)

// Result is the output of "attack".
type Result struct {
	Ledger   string                `json:"ledger"`
	Sigma    float64               `json:"sigma"`
	Steps    int                   `json:"steps"`
	Noises   int                   `json:"noises"`
	Rate     float64               `json:"rate"`
	Samples  int                   `json:"n"`
	Alpha    float64               `json:"alpha"`
	Seed     uint64                `json:"seed"`
	Radii    []perturb.UnderAttack `json:"radii"`
	Outcomes []perturb.Outcome     `json:"outcomes"`
}

// options holds the values of the flags.
type options struct {
	perturb.EmpiricalOptions
	model  cli.ModelOptions
	images cli.ImageOptions
	save   string
	json   *bool
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "attack LEDGER --model PATH --data NAME [flags]",
		Short: "Attack a smoothed network, and compare the accuracy that remains with the certified one",
		Long: `Attack the images of a ledger, and compare the accuracy that remains with the certified one.

Projected gradient steps in the Euclidean norm lower the smoothed confidence in the label. Gradients come from the
engine for a model file of certspec. For an ONNX file they come from its layers, in float64 on the processor, which
is slow. A program (--exec) gives them where its hello says so.

An image counts as broken where the smoothed classifier answers another class at the attacked image,
rounded to bytes, with confidence 1 − alpha; where it abstains there, the image is undecided, and is not
broken. The empirical accuracy, of the images that are not broken, is an upper bound on the robust
accuracy as far as this attack can tell; the certified accuracy is a lower bound.`,
		Example: "  certspec attack out/fmnist-s025.ledger --model models/fmnist-cnn-s025 --data fashionmnist/test " +
			"--radii 0.25,0.5",
		Args: cli.OneLedger,
	}

	o.model.Flags(cmd)
	o.images.Flags(cmd)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Floats(&o.Radii, "radii", []float64{.25, .5, .75}, "budgets of the attack")
		f.IntVar(&o.Steps, "steps", 20, "steps of the attack")
		f.IntVar(&o.Noises, "noises", 16, "noise samples of an image in the attack")
		f.Float64Var(&o.Rate, "rate", 1, "length of a step over 2·radius/steps")
		f.Uint64Var(&o.Seed, "seed", 0, "seed of the attack's noise")
	})
	cli.Group(cmd, cli.Noise, func(f *cli.Flags) {
		f.IntVar(&o.Predict.Samples, "n", 1000,
			"noise samples of an attacked image by which the smoothed classifier answers")
		f.Float64Var(&o.Predict.Alpha, "alpha", stopping.DefaultAlpha, "bound on the probability that its answer is wrong")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Written(&o.save, "save", "JSON file to write the attacked images to, by radius, for certspec calib sets",
			".json")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "data", "radii", "steps", "n")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	return cmd
}

func (o *options) run(cmd *cobra.Command, args []string) error {
	needed := []string{"model", "data"}
	if cmd.Flags().Changed("exec") || cmd.Flags().Changed("exec-fds") {
		needed = needed[1:]
	}
	if err := cli.Needed(cmd, needed...); err != nil {
		return err
	}
	if err := cli.NotZero(cmd, "n", "alpha", "steps", "noises", "rate"); err != nil {
		return err
	}
	if err := cli.CheckRadii(o.Radii); err != nil {
		return err
	}
	slices.Sort(o.Radii)
	run, err := rs.Open(args[0])
	if err != nil {
		return err
	}
	smoothed, end, err := o.model.Open()
	if err != nil {
		return err
	}
	defer end()
	h := run.Header
	if err := ofLedger(smoothed, o.model.Path, h.Model.Identity.Weights); err != nil {
		return err
	}
	o.images.Recorded = args[0]
	d, err := o.images.Open()
	if err != nil {
		return err
	}
	all, err := d.Index(cmd.Context(), cli.Progress())
	if err != nil {
		return err
	}
	images, rows, err := perturb.InLedger(run, all)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if err := sameImages(cmd.Context(), h.Data, all, images); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	law, _, _ := strings.Cut(string(h.Noise), "/")
	o.Predict.Noise, o.Predict.Sigma = noise.Law(law), h.Sigma
	o.Progress = cli.Progress()
	some, err := cli.Spread(cmd.Context(), images)
	if err != nil {
		return err
	}
	if _, err := cli.LookFirst(cmd.Context(), smoothed, some, preflight.UseOfPrediction(o.Predict)); err != nil {
		return err
	}
	saved := conformal.Attacked{Data: images.Name, Sigma: h.Sigma}
	if o.save != "" {
		o.Found = func(a perturb.Outcome, pixels []uint8) {
			saved.Images = append(saved.Images, conformal.AttackedImage{Image: a.Image, Label: a.Label,
				Radius: a.Radius, Norm: a.Norm, Class: a.Class, Pixels: slices.Clone(pixels)})
		}
	}
	outcomes, err := o.attack(cmd.Context(), smoothed, images)
	if err != nil {
		return cli.Usage(err)
	}
	result := Result{args[0], h.Sigma, o.Steps, o.Noises, o.Rate, o.Predict.Samples, o.Predict.Alpha, o.Seed,
		perturb.Summarize(o.Radii, rows, outcomes), outcomes}
	if o.save != "" {
		text, err := json.Marshal(saved)
		if err != nil {
			return err
		}
		if err := cli.WriteOut(cmd, o.save, append(text, '\n')); err != nil {
			return err
		}
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), result)
	}
	return result.print(cmd.OutOrStdout())
}

// ofLedger makes sure that a model has the weights of a ledger.
func ofLedger(m classifier.Classifier, path, weights string) error {
	if file, ok := m.(*engine.Model); ok && file.Card() != nil {
		card := file.Card()
		if !strings.Contains(weights, card.Weights) {
			return fmt.Errorf("--model %s has the weights %s, the ledger is of %s", path, card.Weights, weights)
		}
		return nil
	}
	info, err := m.Info()
	if err == nil && info.Identity.Weights != weights {
		err = fmt.Errorf("the model %s is %s, the ledger is of %s", info.Name, info.Identity.Weights, weights)
	}
	return err
}

// sameImages makes sure that a set has the images of a ledger on data. Where that is another selection of the
// set, its images are looked up by the ledger's name.
func sameImages(ctx context.Context, data ledger.Data, all, images *imageset.Index) error {
	if all.Digest == data.Digest {
		return nil
	}
	other := fmt.Errorf("it is of %s with the digest %s; --data %s has %s, and its images", data.Name, data.Digest,
		all.Name, all.Digest)
	d, err := dataset.OpenLike(data.Name, data.Name)
	if err != nil {
		return fmt.Errorf("%w cannot be compared: %w", other, err)
	}
	there, err := d.Index(ctx, cli.Progress())
	if err != nil {
		return fmt.Errorf("%w cannot be compared: %w", other, err)
	}
	if there.Digest != data.Digest {
		return fmt.Errorf("%w cannot be compared: %s has the digest %s now", other, there.Name, there.Digest)
	}
	for i, id := range images.IDs {
		one, err := images.Read(ctx, i)
		if err != nil {
			return err
		}
		at := there.Index(id)
		if at < 0 {
			return fmt.Errorf("%w are others: %s has no image %d", other, there.Name, id)
		}
		same, err := there.Read(ctx, at)
		if err != nil {
			return err
		}
		if !bytes.Equal(one.Pixels, same.Pixels) {
			return fmt.Errorf("%w are others: image %d differs", other, id)
		}
	}
	return nil
}

// attack takes gradients from the engine of a model file, from the layers of an ONNX file, or from a program.
func (o *options) attack(ctx context.Context, smoothed classifier.Classifier,
	images *imageset.Index) ([]perturb.Outcome, error) {
	if program, ok := smoothed.(perturb.Gradients); ok {
		return perturb.EmpiricalBy(ctx, program, smoothed, images, o.EmpiricalOptions)
	}
	m := smoothed.(*engine.Model)
	if m.Card() == nil {
		n, err := m.FeedForward(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w; a model file of certspec can be attacked, or an ONNX file that is read as "+
				"layers", err)
		}
		return perturb.EmpiricalBy(ctx, n, m, images, o.EmpiricalOptions)
	}
	file, err := modelfile.Read(o.model.Path)
	if err != nil {
		return nil, err
	}
	b, err := backend.OpenForTraining(gradientEngine(o.model.Engine))
	if err != nil {
		return nil, err
	}
	return perturb.Empirical(ctx, b, file, m, images, o.EmpiricalOptions)
}

// gradientEngine is the engine that computes gradients where the model runs on a choice: ONNX Runtime
// and OpenVINO cannot.
func gradientEngine(choice string) string {
	if choice == engine.ONNXRuntime || strings.HasPrefix(choice, engine.OpenVINO) {
		return ""
	}
	return choice
}

func (a Result) print(out io.Writer) error {
	w := cli.Columns(out)
	fmt.Fprintln(w, "radius\tcertified\tempirical\tbroken\tundecided\timages")
	for _, r := range a.Radii {
		cli.Fprintf(w, "%g\t%s %%\t%s %%\t%d\t%d\t%d\n", r.Radius, percent(r.Certified), percent(r.Empirical), r.Broken,
			r.Undecided, r.Images)
	}
	return w.Flush()
}

func percent(share float64) string { return fmt.Sprintf("%.2f", math.Round(1e4*share)/100) }
