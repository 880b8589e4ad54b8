// Package preflight is "certspec preflight".
package preflight

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs"

	"github.com/spf13/cobra"
)

// Result is the output of "preflight".
type Result struct {
	*preflight.Report
	Identity classifier.Identity `json:"identity"`       // of the model, as in the header of a ledger
	ONNX     *onnx.Details       `json:"onnx,omitempty"` // of an ONNX file: what was found, given or assumed
	Prepared cli.Prepared        `json:"prepared"`
	Integers *Integers           `json:"integers,omitempty"` // with --integers
}

// options holds the values of the flags.
type options struct {
	preflight.Options
	input      cli.InputOptions
	withBounds bool
	eps        []float64
	uncompared bool
	integers   bool
	json       *bool
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "preflight {MODEL | --exec COMMAND} --data NAME {--sigma S | --bounds} [flags]",
		Short: "Check a model before hours of certification",
		Long: `Check a model before hours of certification, on a hundred images.

It measures the accuracy without and with noise, and how long the run will take. It finds the commonest
mistakes: no training under noise; labels, channel order, scale or normalisation that do not fit; answers
that depend on the batch; outputs that are not finite.

With --budget it names the plan that certifies most in that time. The noise has a seed of its own,
so nothing that is chosen afterwards costs the certificates anything. The exit code is 1 where a
check has failed.

With --integers it also makes an integer network (certspec quantize --exact) from noise samples of the images,
certifies them by both on the same noise, and proposes it where the interval of its loss of mean radius ends
below 0.003.

With --bounds it checks the layers instead, before certspec ood bound: whether every operator can be bounded
(the first that cannot is named with its place in the file), what a bound costs, and whether bounds of growing
radius say anything, at eight images of --data or in uniform noise.`,
		Example: "  certspec preflight models/fmnist-cnn-s025 --data fashionmnist/test --skip 20 --sigma " +
			"0.25 --budget 8h\n" +
			"  certspec preflight net.onnx --data mnist/test --bounds",
		Args: cli.OneModel,
	}

	o.input.Flags(cmd)
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.IntVar(&o.Images, "images", 100, "number of images to look at, spread over the classes")
	})
	cli.Group(cmd, cli.Noise, func(f *cli.Flags) {
		f.SigmaFlag(&o.Run.Sigma)
		f.DurationVar(&o.Budget, "budget", 0, "time there is for the run, e.g. 8h")
		f.IntVar(&o.Run.MaxSamples, "n", stopping.DefaultMaxSamples,
			"maximum number of noise samples of an image in the run")
		f.RuleFlag(&o.Run.Rule, rs.Staged, rs.Fixed, rs.ISS)
		f.Float64Var(&o.Run.Alpha, "alpha", stopping.DefaultAlpha,
			"bound on the probability that the run's claim on an image is false")
		f.NoiseFlag(&o.Run.Noise)
		f.IntVar(&o.Run.Block, "block", stopping.DefaultBlock, "noise samples in one call of the model")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.BoolVar(&o.withBounds, "bounds", false,
			"look at the layers, the cost of bounds, and whether they say anything")
		f.Floats(&o.eps, "eps", []float64{0.001, 0.003, 0.01, 0.03, 0.1, 0.3}, "of --bounds: radii to try")
		f.Uncompared(&o.uncompared)
		f.BoolVar(&o.integers, "integers", false,
			"make an integer network of the images looked at, and compare its radii and rate")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "data", "sigma", "budget", "bounds")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	if o.withBounds {
		return o.bounds(cmd)
	}
	for _, name := range []string{"eps", "uncompared"} {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s goes with --bounds", name)
		}
	}
	if err := cli.Needed(cmd, "data", "sigma"); err != nil {
		return err
	}
	if err := cli.NotZero(cmd, "n", "alpha", "block", "images"); err != nil {
		return err
	}
	in, err := o.input.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	m, d := in.Model, in.Data
	if named, ok := m.(interface{ ClassNames() ([]string, error) }); ok {
		if o.ClassNames, err = named.ClassNames(); err != nil {
			return err
		}
	}
	o.Run.Progress = cli.Progress()
	r, err := preflight.Run(cmd.Context(), m, d, o.Options)
	if err != nil {
		return cli.Usage(err)
	}
	info, err := m.Info()
	if err != nil {
		return err
	}
	looked := Result{Report: r, Identity: info.Identity}
	if looked.Prepared, err = cli.HowPrepared(cmd.Context(), d, info.Shape); err != nil {
		return err
	}
	if o.integers && r.Count(preflight.Failure) == 0 {
		if looked.Integers, err = o.compareIntegers(cmd.Context(), m, d); err != nil {
			return err
		}
	}
	if file, ok := m.(interface {
		File() (*onnx.Details, error)
	}); ok {
		if looked.ONNX, err = file.File(); err != nil {
			return err
		}
	}
	if *o.json {
		err = cli.PrintJSON(cmd.OutOrStdout(), looked)
	} else {
		err = looked.print(cmd.OutOrStdout())
	}
	if err != nil {
		return err
	}
	if failed := r.Count(preflight.Failure); failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(r.Checks))
	}
	return nil
}

func (r *Result) print(out io.Writer) error {
	w := cli.Columns(out)
	cli.Fprintf(w, "model\t%s on %s\n", r.Model, r.Identity.Engine)
	cli.Fprintf(w, "identity\t%s\n", r.Identity.Weights)
	if r.ONNX != nil {
		cli.Fprintf(w, "file\t%s\n", r.ONNX)
	}
	cli.Fprintf(w, "preprocessing\t%s\n", r.Preprocessing)
	cli.Fprintf(w, "data\t%s, %d images looked at\n", r.Data, r.Images)
	if r.Prepared.Radii != "" {
		cli.Fprintf(w, "resized\t%s\n", r.Prepared.Radii)
	}
	for _, folder := range slices.Sorted(maps.Keys(r.Prepared.Folders)) {
		label := r.Prepared.Folders[folder]
		cli.Fprintf(w, "folder\t%s is class %d, %s\n", folder, label, r.ClassNames[label])
	}
	var names []string
	for label, name := range r.ClassNames {
		names = append(names, fmt.Sprintf("%d %s", label, name))
	}
	if len(names) > 20 {
		names = append(names[:20], "…")
	}
	cli.Fprintf(w, "labels\t%s\n", strings.Join(names, ", "))
	if r.CleanAccuracy != nil {
		cli.Fprintf(w, "accuracy\t%.1f %%; of noise samples at σ = %g, %d per image, %.1f %%\n", 100**r.CleanAccuracy,
			r.Sigma, r.Samples, 100**r.NoisyAccuracy)
	} else {
		cli.Fprintf(w, "agreement\t%.1f %% of noise samples at σ = %g, %d per image\n", 100*r.Agreement, r.Sigma,
			r.Samples)
	}
	cli.Fprintf(w, "rate\t%.0f noise samples/s\n", r.Rate)
	cli.Fprintf(w, "memory\t%.0f MB of noise samples at once, beside the model\n", math.Ceil(float64(r.Memory)/1e6))
	if r.Integers != nil {
		r.Integers.print(w)
	}
	cli.Fprintf(w, "\n")
	if err := w.Flush(); err != nil {
		return err
	}
	for _, c := range r.Checks {
		cli.Fprintf(w, "%s\t%s\t%s\n", c.Verdict, c.Name, c.Found)
		if c.Advice != "" {
			cli.Fprintf(w, "\t\t→ %s\n", c.Advice)
		}
	}
	cli.Fprintf(w, "\n")
	if err := w.Flush(); err != nil {
		return err
	}
	if len(r.Plans) == 0 {
		return nil
	}
	fmt.Fprintln(w, "rule\tn\tlargest radius\texpected mean radius\texpected time\t")
	for i, p := range r.Plans {
		var marks []string
		if i == 0 {
			marks = append(marks, "asked for")
		}
		if p.Fits != nil && !*p.Fits {
			marks = append(marks, "over the budget")
		}
		cli.Fprintf(w, "%s\t%d\t%.4f\t%.3f\t%s\t%s\n", p.Rule, p.MaxSamples, p.RadiusCap, p.MeanRadius, p.Duration(),
			strings.Join(marks, ", "))
	}
	return w.Flush()
}
