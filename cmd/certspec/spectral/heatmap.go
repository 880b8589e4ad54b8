package spectral

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/vg"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/rs/heatmap"
	"github.com/certspec/certspec/spectral"
)

// heatMapOptions are what the flags of "spectral heatmap" ask.
type heatMapOptions struct {
	heatmap.Options
	input       cli.InputOptions
	window      int
	frequencies []int
	out         []string
	tsv, png    string
	low, high   float64
	json        *bool
}

func heatMapCommand() *cobra.Command {
	var o heatMapOptions
	cmd := &cobra.Command{
		Use:   "heatmap {--model PATH | --exec COMMAND} --data NAME [--sigma S --ledgers FOLDER] [flags]",
		Short: "What a model keeps when images are disturbed at one frequency",
		Long: `The average certified radius (acr), the certified accuracy at a radius (certified) or the error of the model without noise (error), over images to
which a Fourier basis image of one frequency was added, with a random sign for each channel and the norm --epsilon per channel, not clipped: a
value for each frequency (u, v) of a grid, periods over the height and the width. Half of the grid is evaluated, and mirrored.

Probes are rounded to the grid of 8-bit images, in steps of 1/255, so that certificates hold in floating point. With --noise gaussian, probes and noise are
real, as in the paper.

Each frequency has a ledger in the folder --ledgers: an interrupted run goes on, and a second metric of the same run costs nothing. With --metric error, the
folder keeps the errors that are known in errors.jsonl.`,
		Example: "  certspec spectral heatmap --model notebooks/models/cifar10-resnet20-s025 --data cifar10/test --skip 50 --sigma 0.25 --n 10000 --ledgers out/map --png acr.png\n" +
			"  certspec spectral heatmap --metric error --model notebooks/models/cifar10-resnet20-s025 --data cifar10/test --skip 50 --frequencies 0,1,2,3,5,8,12,15",
		Args: cli.NoArgs,
	}

	probe := &o.Probe
	o.input.Flags(cmd)
	cli.RunFlags(cmd, &o.Run)
	cli.Group(cmd, cli.Noise, func(f *cli.Flags) {
		f.Floats(&o.Run.Radii, "radii", nil, "of the rule betting: the radii that are tested")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		cli.Choice(f, &o.Metric, "metric", heatmap.ACR, "acr, certified or error", heatmap.Metrics...)
		f.Float64Var(&o.Radius, "radius", 0, "of --metric certified")
		f.IntVar(&o.window, "window", 15, "frequencies −n to n both ways")
		f.Ints(&o.frequencies, "frequencies", nil, "instead: these, and their negatives")
		f.Float64Var(&probe.Epsilon, "epsilon", spectral.DefaultEpsilon, "ℓ2 norm of a probe per channel, 1 = full range")
		f.Uint64Var(&probe.Seed, "probe-seed", 0, "of the signs of the probes")
		f.BoolVar(&probe.Shared, "shared-sign", false, "one sign for all channels")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Folder(&o.Folder, "ledgers", "folder of the ledgers, one for each frequency; with --metric error, of the errors (default: they are not kept)")
		f.Outs(&o.out, "file of the map: .csv (a line for each u), .tsv (a line u, v, value, images for each frequency) or .png (a picture); may be given several times")
		f.Written(&o.tsv, "tsv", "file with a line u, v, value, images for each frequency")
		f.Written(&o.png, "png", "picture of the map")
		f.Float64Var(&o.low, "low", 0, "value at the blue end of the picture")
		f.Float64Var(&o.high, "high", 0, "value at its red end (default the largest one)")
	})
	cli.Hide(cmd, "tsv", "png")
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
	if err := errors.Join(cli.CheckRadii([]float64{o.Radius}), cli.CheckRadii(o.Run.Radii)); err != nil {
		return cli.Wrong(err)
	}
	if o.Metric != heatmap.Error {
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
	if _, err := in.Load(cmd.Context()); err != nil {
		return err
	}
	o.Progress = cli.Progress()
	m, err := heatmap.Run(cmd.Context(), in.Model, in.Data, o.Options)
	if err != nil {
		return cli.Usage(err)
	}
	if !f.Changed("high") {
		o.high = slices.Max(m.Values)
	}
	if err := write(cmd, m, out, o.tsv, o.png, o.low, o.high); err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), m)
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "frequency\tbins\t%s\t\n", m.Metric)
	for _, r := range m.Profile {
		fmt.Fprintf(w, "%d\t%d\t%.4f\t\n", r.Frequency, r.Bins, r.Mean)
	}
	return w.Flush()
}

// files tells the files of --out apart, and gives the CSV file.
func (o *heatMapOptions) files() (csv string, err error) {
	for _, path := range o.out {
		to := map[string]*string{".tsv": &o.tsv, ".png": &o.png}[strings.ToLower(filepath.Ext(path))]
		if to == nil {
			to = &csv
		}
		if *to != "" {
			return "", cli.Usagef("--out %s: there is %s already; expected one file of each kind", path, *to)
		}
		*to = path
	}
	return csv, nil
}

// write writes the files that are asked for.
func write(cmd *cobra.Command, m *heatmap.Result, out, tsv, picture string, low, high float64) error {
	if out != "" {
		var text bytes.Buffer
		if err := m.WriteCSV(&text); err != nil {
			return err
		}
		if err := cli.WriteOut(cmd, out, text.Bytes()); err != nil {
			return err
		}
	}
	if tsv != "" {
		var text bytes.Buffer
		if err := m.WriteTSV(&text, string(m.Metric), m.Images); err != nil {
			return err
		}
		if err := cli.WriteOut(cmd, tsv, text.Bytes()); err != nil {
			return err
		}
	}
	if picture == "" {
		return nil
	}
	const side = 4.5 * vg.Inch
	drawn := figure.HeatMap{Title: string(m.Metric), X: "v", Y: "u", Columns: m.V, Rows: m.U, Values: m.Values, Low: low, High: high}
	data, err := figure.PNG(side+0.75*vg.Inch, side, drawn.Paint)
	if err != nil {
		return err
	}
	return cli.WriteOut(cmd, picture, data)
}
