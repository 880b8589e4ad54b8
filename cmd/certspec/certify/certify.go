// Package certify is "certspec certify".
package certify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
	"github.com/certspec/certspec/internal/rs/report"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/noise"
)

// Result is the output of "certify".
type Result struct {
	Ledger        string    `json:"ledger,omitempty"`
	Scores        string    `json:"scores,omitempty"`
	Model         string    `json:"model"`
	Engine        string    `json:"engine"`
	Data          string    `json:"data"`
	Resized       string    `json:"resized,omitempty"`
	Preprocessing string    `json:"preprocessing"`
	Sigma         float64   `json:"sigma"`
	Alpha         float64   `json:"alpha"`
	Noise         noise.Law `json:"noise"`
	Rule          rs.Rule   `json:"rule"`
	MaxSamples    int       `json:"max_samples"`
	Shard         string    `json:"shard,omitempty"`
	Seed          uint64    `json:"seed,string"`
	SeedChosen    bool      `json:"seed_chosen"`
	SeedNote      string    `json:"seed_note"`
	RadiusCap     float64   `json:"radius_cap"`
	cli.Metrics
	Misses int       `json:"misses"`
	Passes int       `json:"passes"`
	Bands  *rs.Bands `json:"bands,omitempty"`
}

// options holds the values of the flags.
type options struct {
	rs.Options
	input cli.InputOptions
	shard shardOptions
	until untilOptions
	radii []float64
	json  *bool
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "certify {MODEL | --exec COMMAND} --data NAME --sigma S --out LEDGER [flags]",
		Short: "Certify images by randomized smoothing",
		Long: `Certify images by randomized smoothing.

Each image gets the class that the model gives most often to noise samples of it, and an ℓ2 radius within which that
class cannot change. Such a certificate is false with probability at most alpha. Radii are in units of the full range
of a value.

With --keep-scores, the scores of the class are kept as well, from the same noise samples. certspec calib
certifies confidences from them, at any radius. With --keep-scores=top, the largest score of each noise
sample is kept instead: certspec ood smooth bounds from it how sure the smoothed network can become.
With --rule anytime, the ledger is closed whenever the run stops, by Ctrl-C too; a larger --budget goes on.
certspec sweep certifies under many corruptions.`,
		Example: "  certspec certify models/fmnist-cnn-s025 --data fashionmnist/test --skip 20 --sigma 0.25 " +
			"--n 10000 --out out/fmnist-s025.ledger\n" +
			"  certspec certify --exec \"python my_model.py\" --data cifar10/test --skip 20 --sigma 0.25 --n 10000 " +
			"--out out/mine.ledger\n" +
			"  certspec certify models/resnet20 --data cifar10/test --skip 20 --corrupt fog --severity 3 " +
			"--sigma 0.25 --out out/fog-3.ledger\n" +
			"  certspec certify models/fmnist-cnn-s025 --data fashionmnist/test --skip 20 --sigma 0.25 " +
			"--rule anytime --budget 5e6 --out out/any.ledger",
		Args: cli.OneModel,
	}

	o.input.CorruptFlags(cmd)
	cli.RunFlags(cmd, &o.Options)
	cli.Group(cmd, cli.Noise, func(f *cli.Flags) {
		f.Floats(&o.radii, "radii", nil,
			"radii of the printed certified accuracies (default steps of 0.25); of the rule betting, the radii that "+
				"are tested")
		o.until.flags(f)
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Out(&o.Ledger, "ledger, the file that records the run; without one nothing is kept")
		f.Var(keptScores{&o.Options}, "keep-scores",
			"keep the scores of the class too, for certspec calib: counts in so many cells (1 to 1000; 1000 where "+
				"none is named), in a file beside the ledger; top: the largest score of each noise sample instead, "+
				"for certspec ood smooth")
		f.Complete("keep-scores", func() []string { return []string{topScores, strconv.Itoa(ledger.MaxScoreCells)} })
		f.Lookup("keep-scores").NoOptDefVal = strconv.Itoa(ledger.MaxScoreCells)
		o.shard.flags(f)
	})
	cli.Records(cmd, "out")
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "data", "sigma", "n", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	if err := o.check(cmd); err != nil {
		return err
	}
	o.input.Images.Recorded = o.Ledger
	in, err := o.input.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	if o.Ledger == "" {
		cli.Say("no --out: the result is printed and not kept")
	}
	run, err := rs.Finished(cmd.Context(), in.Model, in.Data.List, o.Options)
	if err != nil {
		return cli.Usage(err)
	}
	first, shape, stopped := &preflight.First{}, pixel.Shape{}, error(nil)
	if run != nil {
		shape = run.Header.Model.Shape
		first.Preprocessing, err = preflight.Preprocessing(in.Model)
	} else if run, first, shape, stopped, err = o.certify(cmd, in); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	c := o.result(run, first)
	c.Resized = cli.Resized(in.Data, shape)
	warning, invalid := run.Outputs()
	if warning != "" {
		cli.Say("warning: %s", warning)
		c.Warnings = append(c.Warnings, warning)
	}
	if *o.json {
		err = cli.PrintJSON(cmd.OutOrStdout(), c)
	} else {
		err = c.print(cmd.OutOrStdout())
	}
	return errors.Join(err, invalid, stopped)
}

// certify looks the model over and certifies. The rule anytime has a run where it is stopped, too.
func (o *options) certify(cmd *cobra.Command, in *cli.Input) (run *rs.Run, first *preflight.First, shape pixel.Shape,
	stopped, err error) {
	loaded, err := in.Some(cmd.Context(), o.Shard)
	if err != nil {
		return nil, nil, shape, nil, err
	}
	first, err = cli.LookOnce(cmd.Context(), in.Model, loaded, preflight.UseOf(o.Options), o.shard.look)
	if err != nil {
		return nil, nil, shape, nil, err
	}
	o.Progress = cli.Progress()
	run, stopped = rs.Certify(first.Witness.With(cmd.Context()), in.Model, in.Data, o.Options)
	if stopped != nil && !(o.Rule == rs.Anytime && errors.Is(stopped, context.Canceled) && run != nil && run.Complete()) {
		return nil, nil, shape, nil, cli.Usage(stopped)
	}
	return run, first, loaded.Shape, stopped, nil
}

// check refuses flags that do not go together, and reads those that have a form of their own.
func (o *options) check(cmd *cobra.Command) (err error) {
	if err := cli.Needed(cmd, "data", "sigma"); err != nil {
		return err
	}
	if err := cli.CheckRun(cmd); err != nil {
		return err
	}
	if o.Shard, err = o.shard.read(cmd.Flags()); err != nil {
		return err
	}
	if o.Until, err = o.until.read(cmd.Flags(), o.Rule); err != nil {
		return err
	}
	if o.Rule == rs.Anytime && !cmd.Flags().Changed("n") {
		o.MaxSamples = 0
	}
	if err := cli.CheckRadii(o.radii); err != nil {
		return err
	}
	if o.Rule == rs.Betting {
		o.Radii = o.radii
	}
	if err := cli.NotZero(cmd, "keep-scores"); err != nil {
		return err
	}
	if o.Scores != 0 && o.Ledger == "" {
		return cli.Usagef("--keep-scores without --out: they are kept in a file beside it")
	}
	if _, err := o.Plan(); err != nil {
		return cli.Usage(err)
	}
	if err := o.CheckScores(); err != nil {
		return cli.Usage(err)
	}
	if o.Shard != (rs.Shard{}) && o.Ledger == "" {
		return cli.Usagef("--shard without --out: a part of a run is of use where it can be merged")
	}
	if o.Shard != (rs.Shard{}) && o.input.Model.Engine == cli.Fastest {
		return cli.Usagef("--engine %s with --shard: all shards need one engine; certspec plan --engine %s says "+
			"which it is", cli.Fastest, cli.Fastest)
	}
	return nil
}

func (o *options) result(run *rs.Run, first *preflight.First) *Result {
	if len(o.radii) == 0 {
		most := run.RadiusCap()
		if largest := run.Largest(1); o.Rule == rs.Anytime && len(largest) > 0 {
			most = largest[0].Radius // its cap is far away
		}
		o.radii = quarters(most)
	}
	h := &run.Header
	c := &Result{
		Ledger: o.Ledger, Model: h.Model.Name, Engine: h.Model.Identity.Engine, Data: h.Data.Name,
		Sigma: h.Sigma, Alpha: h.Alpha, Noise: h.Noise, Rule: h.Rule.Name, MaxSamples: o.MaxSamples,
		Seed: h.Seed, SeedChosen: h.SeedChosen, SeedNote: report.SeedNote(*h), RadiusCap: run.RadiusCap(),
		Metrics: cli.Measure(run.Rows, o.radii, nil), Misses: run.Misses(), Passes: run.Passes(),
		Preprocessing: first.Preprocessing,
	}
	if h.Shard != nil {
		c.Shard = fmt.Sprintf("%d/%d by %s", h.Shard.Index, h.Shard.Count, h.Shard.By)
	}
	c.Warnings = append(c.Warnings, first.Warnings...)
	if bands, err := run.Bands(bandDelta, o.radii...); err == nil {
		c.Bands = &bands
	}
	if o.Scores > 0 {
		c.Scores = scorefile.Path(o.Ledger)
	}
	return c
}

// bandDelta is the probability with which the bands of the rule anytime may miss the truth.
const bandDelta = 0.05

func (c *Result) print(out io.Writer) error {
	w := cli.Columns(out)
	seed := "derived"
	if c.SeedChosen {
		seed = "chosen"
	}
	cli.Fprintf(w, "model\t%s on %s\n", c.Model, c.Engine)
	cli.Fprintf(w, "data\t%s, %d images\n", c.Data, c.Rows)
	if c.Resized != "" {
		cli.Fprintf(w, "resized\t%s\n", c.Resized)
	}
	cli.Fprintf(w, "preprocessing\t%s\n", c.Preprocessing)
	cli.Fprintf(w, "noise\tσ = %g, %s, seed %d (%s)\n", c.Sigma, c.Noise, c.Seed, seed)
	if c.Rule == rs.Anytime {
		cli.Fprintf(w, "rule\t%s, α = %g at all numbers of noise samples together; a larger budget goes on\n", c.Rule,
			c.Alpha)
	} else {
		cli.Fprintf(w, "rule\t%s, n ≤ %d, α = %g; no radius can exceed %.4f\n", c.Rule, c.MaxSamples, c.Alpha,
			c.RadiusCap)
	}
	if c.Shard != "" {
		cli.Fprintf(w, "shard\t%s; certspec merge joins it with the others\n", c.Shard)
	}
	cli.Fprintf(w, "noise samples\t%d, of which %d misses\n", c.Passes, c.Misses)
	if c.Ledger != "" {
		cli.Fprintf(w, "ledger\t%s\n", c.Ledger)
	}
	if c.Scores != "" {
		cli.Fprintf(w, "scores\t%s\n", c.Scores)
	}
	cli.Fprintf(w, "\nabstained\t%d\n", c.Abstained)
	if c.ACR != nil {
		cli.Fprintf(w, "average certified radius\t%.4f\n", *c.ACR)
	} else {
		fmt.Fprintln(w, "average certified radius\tno labels")
	}
	for _, a := range c.CertifiedAccuracy {
		cli.Fprintf(w, "certified accuracy at %g\t%.4f\n", a.Radius, a.Value)
	}
	if b := c.Bands; b != nil {
		cli.Fprintf(w, "true mean radius\t%.4f to %.4f on these %d images, radii cut at %.4g\n", b.Radius.Lower,
			b.Radius.Upper, b.Images, b.Cut)
		for _, a := range b.Accuracy {
			cli.Fprintf(w, "true accuracy at %g\t%.4f to %.4f\n", a.At, a.Lower, a.Upper)
		}
		cli.Fprintf(w, "\tall of them, whenever the run is stopped, with probability %g: at most %d of the %d "+
			"bounds ever fail;\n", b.Confidence, b.Failures, b.Images)
		cli.Fprintf(w, "\tfor the population of the images ± %.4f on an accuracy, with probability %.3g\n",
			b.Population, 2*b.Confidence-1)
	}
	if c.SeedChosen {
		cli.Fprintf(w, "seed\t%s\n", c.SeedNote)
	}
	for _, warning := range c.Warnings {
		cli.Fprintf(w, "note\t%s\n", warning)
	}
	return w.Flush()
}

// quarters are 0, 0.25, … up to the largest radius.
func quarters(most float64) []float64 {
	radii := []float64{0}
	for r := .25; r <= most && len(radii) < 20; r += .25 {
		radii = append(radii, r)
	}
	return radii
}
