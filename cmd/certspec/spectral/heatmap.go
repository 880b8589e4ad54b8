package spectral

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/noise"
	"github.com/certspec/certspec/spectral"
	"github.com/certspec/certspec/spectral/fourier"
)

// mapped is what "spectral heatmap" prints.
type mapped struct {
	Metric  string          `json:"metric"`
	Radius  float64         `json:"radius,omitempty"`
	Model   string          `json:"model"`
	Data    string          `json:"data"`
	Images  int             `json:"images"`
	Epsilon float64         `json:"epsilon"`
	Norm    float64         `json:"norm"` // largest ℓ2 norm of a probe over all channels, after rounding to the grid where it is
	Profile []spectral.Ring `json:"profile"`
	*spectral.Map
}

// heatMapOptions are what the flags of "spectral heatmap" ask.
type heatMapOptions struct {
	rs.Options
	input       cli.InputOptions
	probe       spectral.ProbeOptions
	m           mapped
	window      int
	frequencies []int
	folder      string
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

	m, probe := &o.m, &o.probe
	o.input.Flags(cmd)
	cli.RunFlags(cmd, &o.Options)
	cli.Group(cmd, cli.Noise, func(f *cli.Flags) {
		f.Floats(&o.Radii, "radii", nil, "of the rule betting: the radii that are tested")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		cli.Choice(f, &m.Metric, "metric", "acr", "acr, certified or error", "acr", "certified", "error")
		f.Float64Var(&m.Radius, "radius", 0, "of --metric certified")
		f.IntVar(&o.window, "window", 15, "frequencies −n to n both ways")
		f.Ints(&o.frequencies, "frequencies", nil, "instead: these, and their negatives")
		f.Float64Var(&probe.Epsilon, "epsilon", spectral.DefaultEpsilon, "ℓ2 norm of a probe per channel, 1 = full range")
		f.Uint64Var(&probe.Seed, "probe-seed", 0, "of the signs of the probes")
		f.BoolVar(&probe.Shared, "shared-sign", false, "one sign for all channels")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Folder(&o.folder, "ledgers", "folder of the ledgers, one for each frequency; with --metric error, of the errors (default: they are not kept)")
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
	f, m, probe := cmd.Flags(), &o.m, &o.probe
	certify := m.Metric != "error"
	if err := cli.Needed(cmd, "data"); err != nil {
		return err
	}
	switch {
	case f.Changed("radius") && m.Metric != "certified":
		return cli.Usagef("--radius with --metric %s: expected --metric certified", m.Metric)
	case f.Changed("frequencies") && f.Changed("window"):
		return cli.Usagef("--window and --frequencies: expected one of both")
	case o.window < 0:
		return cli.Usagef("--window %d: expected at least 0", o.window)
	case f.Changed("high") && !(o.high > o.low):
		return cli.Usagef("--low %v, --high %v: expected a lower one and a higher one", o.low, o.high)
	case !(probe.Epsilon > 0):
		return cli.Usagef("--epsilon %v: expected more than 0", probe.Epsilon)
	}
	if err := errors.Join(cli.CheckRadii([]float64{m.Radius}), cli.CheckRadii(o.Radii)); err != nil {
		return cli.Wrong(err)
	}
	if certify {
		if err := cli.Needed(cmd, "sigma", "ledgers"); err != nil {
			return err
		}
		if err := cli.CheckRun(cmd); err != nil {
			return err
		}
		if _, err := o.Plan(); err != nil {
			return cli.Usage(err)
		}
	}
	probe.Real = certify && o.Noise == noise.LawGaussian
	list := spectral.Window(o.window)
	if f.Changed("frequencies") {
		list = bothSigns(o.frequencies)
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
	images, model := in.Data, in.Model
	loaded, err := in.Load(cmd.Context())
	if err != nil {
		return err
	}
	info, err := model.Info()
	if err != nil {
		return err
	}
	half, err := fourier.NewHalf(loaded.Shape.Height, loaded.Shape.Width)
	if err != nil {
		return err
	}
	if o.folder != "" {
		if err := os.MkdirAll(o.folder, 0o777); err != nil {
			return err
		}
	}
	var kept *errorsFile
	if !certify && o.folder != "" {
		heads, err := headsOf(model, info, loaded, *probe)
		if err != nil {
			return err
		}
		if kept, err = openErrors(o.folder, heads); err != nil {
			return err
		}
		defer kept.Close()
	}
	m.Model, m.Data, m.Images, m.Epsilon = info.Name, loaded.Name, loaded.Len(), probe.Epsilon
	total, at, bar := len(spectral.Representatives(half, list, list)), 0, cli.Progress()
	o.Progress = func(s progress.State) {
		s.Task = fmt.Sprintf("%d of %d: %s", at, total, s.Task)
		bar(s)
	}
	m.Map, err = spectral.HeatMap(cmd.Context(), half, list, list, func(ctx context.Context, q spectral.Frequency) (float64, error) {
		at++
		p, err := spectral.NewProbe(loaded.Shape, q, probe.Epsilon)
		if err != nil {
			return 0, err
		}
		if probe.Real {
			m.Norm = probe.Epsilon * math.Sqrt(float64(loaded.Shape.Channels))
		} else {
			m.Norm = max(m.Norm, p.Norm())
		}
		run := o.Options
		run.Ledger = filepath.Join(o.folder, fmt.Sprintf("u%+dv%+d.ledger", q.U, q.V))
		find := func() (float64, error) { return m.evaluate(ctx, model, spectral.Probed(images, q, *probe), run) }
		if kept != nil {
			return kept.of(q, find)
		}
		return find()
	})
	if err != nil {
		return cli.Usage(err)
	}
	m.Profile = m.Map.Profile()
	if !f.Changed("high") {
		o.high = slices.Max(m.Values)
	}
	if err := m.write(cmd, out, o.tsv, o.png, o.low, o.high); err != nil {
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

// evaluate finds the value at one frequency.
func (m *mapped) evaluate(ctx context.Context, model classifier.Classifier, probed *dataset.Dataset, o rs.Options) (float64, error) {
	if m.Metric == "error" {
		images, err := probed.Load(ctx)
		if err != nil {
			return 0, err
		}
		accuracy, err := rs.BaseAccuracy(ctx, model, images, 0, 0)
		return 1 - accuracy, err
	}
	run, err := rs.Certify(ctx, model, probed, o)
	if err != nil {
		return 0, err
	}
	acr := run.ACR()
	switch {
	case acr.Images == 0:
		return 0, fmt.Errorf("data %s has no labels", m.Data)
	case m.Metric == "acr":
		return acr.Value, nil
	}
	return run.CertifiedAccuracy(m.Radius)[0].Value, nil
}

// bothSigns lists frequencies and their negatives, each once, ascending.
func bothSigns(list []int) []int {
	for _, f := range list {
		list = append(list, -f)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// write writes the files that are asked for.
func (m *mapped) write(cmd *cobra.Command, out, tsv, picture string, low, high float64) error {
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
		var text strings.Builder
		fmt.Fprintf(&text, "i\tj\t%s\tn_images\n", m.Metric)
		for i, u := range m.U {
			for j, v := range m.V {
				fmt.Fprintf(&text, "%d\t%d\t%s\t%d\n", u, v, strconv.FormatFloat(m.Values[i*len(m.V)+j], 'g', -1, 64), m.Images)
			}
		}
		if err := cli.WriteOut(cmd, tsv, []byte(text.String())); err != nil {
			return err
		}
	}
	if picture == "" {
		return nil
	}
	const side = 4.5 * vg.Inch
	c := vgimg.NewWith(vgimg.UseWH(side+0.75*vg.Inch, side), vgimg.UseDPI(192), vgimg.UseBackgroundColor(color.White))
	figure.HeatMap{Title: m.Metric, X: "v", Y: "u", Columns: m.V, Rows: m.U, Values: m.Values, Low: low, High: high}.Paint(draw.New(c))
	var b bytes.Buffer
	if err := png.Encode(&b, c.Image()); err != nil {
		return err
	}
	return cli.WriteOut(cmd, picture, b.Bytes())
}
