package spectral

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	guarantee "github.com/certspec/certspec/cmd/certspec/spectral/heatmap"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/rs/heatmap"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/spectral"
)

// heatMapOptions holds the values of the flags of "spectral heatmap".
type heatMapOptions struct {
	heatmap.Options
	input       cli.InputOptions
	window      int
	frequencies []int
	out         []string
	tsv         string
	pictures    []string
	low, high   float64
	json        *bool

	in     string // of the metrics of guarantee
	ball   float64
	method feedforward.Method

	uncompared bool
}

// guaranteed reports whether the metric is one of bounds.
func (o *heatMapOptions) guaranteed() bool {
	return slices.Contains(guarantee.Metrics, guarantee.Metric(o.Metric))
}

func heatMapCommand() *cobra.Command {
	var o heatMapOptions
	cmd := &cobra.Command{
		Use:   "heatmap {MODEL | --exec COMMAND} --data NAME {--sigma S --ledgers FOLDER | --metric error} [flags]",
		Short: "Draw a heat map of a model on images disturbed at one frequency",
		Long: `Draw how a model bears each frequency: a value for each frequency (u, v) of a grid, periods over the height and
the width.

At a frequency, a Fourier basis image is added to every image, with a random sign for each channel and the
norm --epsilon per channel, not clipped. The value is the average certified radius (acr), the certified
accuracy at a radius (certified), or the error of the model without noise (error). Half of the grid is
evaluated, and mirrored.

Probes are rounded to the grid of 8-bit images, in steps of 1/255, so that certificates hold in floating
point. With --noise gaussian, probes and noise are real, as in the paper.

Each frequency has a ledger in the folder --ledgers: an interrupted run goes on, and a second metric of
the same run costs nothing. With --metric error, the folder keeps the errors that are known in
errors.jsonl.

Two metrics are guarantees about the network without noise. bound is the mean of upper bounds on its
confidence (its largest softmax probability) over all inputs between the image with the probe added and
with it taken away, x + t·d with |t| ≤ ε√C for C channels, in exact arithmetic and in float32. gauc is
the area under the ROC curve that these bounds guarantee, against the network's own images in the file
--in (certspec ood bound with --eps 0); the images of --data are then foreign ones. With --ball E, the
inputs are the balls of radius E in every value around the probed images, clipped to the range of a
pixel. The folder keeps a file for each frequency, as certspec ood bound writes them.`,
		Example: "  certspec spectral heatmap notebooks/models/cifar10-resnet20-s025 --data cifar10/test " +
			"--skip 50 --sigma 0.25 --n 10000 --ledgers out/map -o acr.png\n" +
			"  certspec spectral heatmap --metric error --model notebooks/models/cifar10-resnet20-s025 --data " +
			"cifar10/test --skip 50 --frequencies 0,1,2,3,5,8,12,15\n" +
			"  certspec spectral heatmap --metric gauc --in out/in.ood --model notebooks/models/fmnist-good80 " +
			"--data noise:uniform,28x28x1,n=50 --epsilon 1 --window 14 --ledgers out/bounds -o gauc.png",
		Args: cli.OneModel,
	}

	probe := &o.Probe
	o.input.Flags(cmd)
	cli.RunFlags(cmd, &o.Run)
	cli.Group(cmd, cli.Noise, func(f *cli.Flags) {
		f.Floats(&o.Run.Radii, "radii", nil, "for the rule betting: radii to test")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		cli.Choice(f, &o.Metric, "metric", heatmap.ACR, "acr, certified, error, bound or gauc",
			append(slices.Clone(heatmap.Metrics), heatmap.Metric(guarantee.Bound), heatmap.Metric(guarantee.GAUC))...)
		cli.Choice(f, &o.method, "method", "",
			"of --metric bound and gauc: how pairs of logits are bounded, as in certspec ood bound (default crown)",
			feedforward.IBP, feedforward.CROWN, feedforward.FullCROWN)
		f.File(&o.in, "in", "of --metric gauc: file of certspec ood bound with the confidences on the network's own "+
			"images", "ood")
		f.Float64Var(&o.ball, "ball", 0,
			"of --metric bound and gauc: radius of balls around probed images, in the place of segments")
		f.Uncompared(&o.uncompared)
		f.Float64Var(&o.Radius, "radius", 0, "of --metric certified")
		f.IntVar(&o.window, "window", 15, "frequencies −n to n both ways")
		f.Ints(&o.frequencies, "frequencies", nil, "instead: these, and their negatives")
		f.Float64Var(&probe.Epsilon, "epsilon", spectral.DefaultEpsilon,
			"ℓ2 norm of a probe per channel, 1 = full range")
		f.Uint64Var(&probe.Seed, "probe-seed", 0, "seed of the signs of the probes")
		f.BoolVar(&probe.Shared, "shared-sign", false, "one sign for all channels")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Folder(&o.Folder, "ledgers",
			"folder of the ledgers, one for each frequency, which --metric acr and certified need; with --metric "+
				"error, of the errors (default: they are not kept)")
		f.Outs(&o.out, "file of the map: .csv (a line for each u), .tsv (a line u, v, value, images for each "+
			"frequency), or a picture, .svg, .pdf or .png; may be given several times",
			append([]string{".csv", ".tsv"}, cli.FigureForms...)...)
		f.Float64Var(&o.low, "low", 0, "value at the dark end of the picture")
		f.Float64Var(&o.high, "high", 0, "value at its bright end (default the largest one)")
	})
	cli.Records(cmd, "ledgers")
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "data", "sigma", "metric", "ledgers")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *heatMapOptions) run(cmd *cobra.Command) error {
	f := cmd.Flags()
	if err := cli.Needed(cmd, "data"); err != nil {
		return err
	}
	switch {
	case f.Changed("radius") && o.Metric != heatmap.Certified:
		return cli.Usagef("--radius with --metric %s: expected --metric certified", o.Metric)
	case f.Changed("frequencies") && f.Changed("window"):
		return cli.Usagef("--window and --frequencies: expected one of both")
	case o.window < 0:
		return cli.Usagef("--window %d: expected at least 0", o.window)
	case f.Changed("high") && !(o.high > o.low):
		return cli.Usagef("--low %v, --high %v: expected a lower one and a higher one", o.low, o.high)
	case !(o.Probe.Epsilon > 0):
		return cli.Usagef("--epsilon %v: expected more than 0", o.Probe.Epsilon)
	}
	if err := o.checkGuarantee(cmd); err != nil {
		return err
	}
	if err := errors.Join(cli.CheckRadii([]float64{o.Radius}), cli.CheckRadii(o.Run.Radii)); err != nil {
		return cli.Wrong(err)
	}
	if o.Metric != heatmap.Error && !o.guaranteed() {
		if err := cli.Needed(cmd, "sigma", "ledgers"); err != nil {
			return err
		}
		if err := cli.CheckRun(cmd); err != nil {
			return err
		}
		if _, err := o.Run.Plan(); err != nil {
			return cli.Usage(err)
		}
	}
	o.Frequencies = spectral.Window(o.window)
	if f.Changed("frequencies") {
		o.Frequencies = heatmap.Both(o.frequencies...)
	}
	out, err := o.files()
	if err != nil {
		return err
	}
	in, err := o.input.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	if _, err := in.Index(cmd.Context()); err != nil {
		return err
	}
	if o.guaranteed() {
		m, err := o.guarantee(cmd.Context(), in)
		if err != nil {
			return err
		}
		return o.show(cmd, m, m.Map, m.Images, m.Profile, out)
	}
	o.Progress = cli.Progress()
	m, err := heatmap.Run(cmd.Context(), in.Model, in.Data, o.Options)
	if err != nil {
		return cli.Usage(err)
	}
	return o.show(cmd, m, m.Map, m.Images, m.Profile, out)
}

// guarantee makes a map of bounds.
func (o *heatMapOptions) guarantee(ctx context.Context, in *cli.Input) (*guarantee.Result, error) {
	model, ok := in.Model.(*engine.Model)
	if !ok {
		return nil, cli.Usagef("--metric %s with --exec: bounds need the layers of a network; name a model or ONNX "+
			"file with --model", o.Metric)
	}
	n, err := cli.FeedForward(ctx, model, o.uncompared)
	if err != nil {
		return nil, err
	}
	options := guarantee.Options{Metric: guarantee.Metric(o.Metric), Frequencies: o.Frequencies, Probe: o.Probe,
		Ball: o.ball, Method: o.method, Folder: o.Folder,
		Run: ood.Options{Name: filepath.Base(o.input.Model.Path), Trained: model.Trained(), Program: cli.Version(),
			Progress: cli.Progress()}}
	if o.in != "" {
		if options.In, err = ood.Read(o.in); err != nil {
			return nil, err
		}
	}
	return guarantee.Run(ctx, n, in.Data, options)
}

// show writes the files and prints the result, of which the map and profile are parts.
func (o *heatMapOptions) show(cmd *cobra.Command, result any, m *spectral.Map, images int, profile []spectral.Ring,
	out string) error {
	if !cmd.Flags().Changed("high") {
		o.high = slices.Max(m.Values)
	}
	if err := o.write(cmd, m, images, out); err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), result)
	}
	w := cli.Figures(cmd.OutOrStdout())
	cli.Fprintf(w, "frequency\tbins\t%s\t\n", o.Metric)
	for _, r := range profile {
		cli.Fprintf(w, "%d\t%d\t%.4f\t\n", r.Frequency, r.Bins, r.Mean)
	}
	return w.Flush()
}

// checkGuarantee refuses flags of metrics that are not asked for.
func (o *heatMapOptions) checkGuarantee(cmd *cobra.Command) error {
	f := cmd.Flags()
	for _, name := range []string{"in", "ball", "method", "uncompared"} {
		if f.Changed(name) && !o.guaranteed() {
			return cli.Usagef("--%s with --metric %s: expected --metric bound or gauc", name, o.Metric)
		}
	}
	switch {
	case o.guaranteed() && f.Changed("sigma"):
		return cli.Usagef("--sigma with --metric %s: it is of the network without noise", o.Metric)
	case (guarantee.Metric(o.Metric) == guarantee.GAUC) != (o.in != ""):
		return cli.Usagef("--in with --metric %s: gauc needs the file of the network's own images, and nothing "+
			"else does", o.Metric)
	case !(o.ball >= 0 && o.ball <= 1):
		return cli.Usagef("--ball %v: expected a number from 0 to 1, in units of the full range of a value", o.ball)
	}
	return nil
}

// files tells the files of --out apart, and gives the CSV file.
func (o *heatMapOptions) files() (csv string, err error) {
	for _, path := range o.out {
		to := &csv
		switch {
		case cli.IsDrawing(path):
			o.pictures = append(o.pictures, path)
			continue
		case strings.EqualFold(filepath.Ext(path), ".tsv"):
			to = &o.tsv
		}
		if *to != "" {
			return "", cli.Usagef("--out %s: there is %s already; expected one file of each kind", path, *to)
		}
		*to = path
	}
	return csv, nil
}

// write writes the files that are asked for.
func (o *heatMapOptions) write(cmd *cobra.Command, m *spectral.Map, images int, out string) error {
	if out != "" {
		var text bytes.Buffer
		if err := m.WriteCSV(&text); err != nil {
			return err
		}
		if err := cli.WriteOut(cmd, out, text.Bytes()); err != nil {
			return err
		}
	}
	if o.tsv != "" {
		var text bytes.Buffer
		if err := m.WriteTSV(&text, string(o.Metric), images); err != nil {
			return err
		}
		if err := cli.WriteOut(cmd, o.tsv, text.Bytes()); err != nil {
			return err
		}
	}
	for _, path := range o.pictures {
		if err := drawMap(cmd, path, string(o.Metric), m, o.low, o.high); err != nil {
			return err
		}
	}
	return nil
}
