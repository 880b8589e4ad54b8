package spectral

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/spectral"
)

// walked is the output of "spectral path".
type walked struct {
	Model         string       `json:"model"`
	Data          string       `json:"data"`
	Normalization string       `json:"normalization"`
	Points        int          `json:"points"` // of amplitude and phase paths
	Window        float64      `json:"window"`
	Mask          string       `json:"mask"`
	Wrap          string       `json:"wrap"`
	LastBin       string       `json:"last_bin"`
	Paths         []walkedKind `json:"paths"`
}

// walkedKind is the metrics along the paths of one kind.
type walkedKind struct {
	Kind string `json:"kind"` // amplitude, phase, pixel within, pixel between
	*spectral.PathMetrics
}

// pathNormalizations are what --normalization knows.
var pathNormalizations = map[string]spectral.Normalization{"none": {}, "cifar10": spectral.CIFAR10,
	"imagenet": spectral.ImageNet}

// pathOptions holds the values of the flags of "spectral path".
type pathOptions struct {
	spectral.FourierOptions
	measure spectral.PathOptions
	input   cli.InputOptions
	result  walked
	kinds   []string
	pairs   int
	json    *bool
}

func pathCommand() *cobra.Command {
	var o pathOptions
	cmd := &cobra.Command{
		Use:   "path {MODEL | --exec COMMAND} --data NAME [flags]",
		Short: "Measure a model along paths between images: high frequency fraction, consistent distance",
		Long: `Measure a model on the way from one image to another (Fridovich-Keil et al. 2022).

It prints the mean high frequency fraction (HFF) of the class probabilities and, where all paths are equally long,
the mean consistent distance (CD) of the class, with 95 % intervals, mean ± 1.96 s/√paths. On a path of 100 points
the amplitudes of low frequencies go straight from those of one image to those of the other (amplitude), or the
phases do (phase). Or the image goes there straight in steps of length 1 (pixel), within classes and between them.

Pairs are those of the released code: of CIFAR-10, 5,000 pairs of all 10,000 test images, and 200 pairs of each class
and of each two classes. Path images are not clipped. --normalization cifar10 makes paths in the space in which the
published numbers were found; the model gets images in [0, 1] in any case.`,
		Example: "  certspec spectral path notebooks/models/cifar10-resnet20-s025 --data cifar10/test " +
			"--normalization cifar10 --pairs 500\n" +
			"  certspec spectral path --kind pixel --model resnet18.onnx --data cifar10/test --json",
		Args: cli.OneModel,
	}

	out := &o.result
	o.input.Flags(cmd)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Words(&o.kinds, "kind", []string{"amplitude", "phase"}, "amplitude, phase, pixel",
			func() []string { return []string{"amplitude", "phase", "pixel"} })
		f.IntVar(&o.pairs, "pairs", 0,
			"pairs of images; for pixel, of each class and of each two classes (default 5000, for pixel 200, or "+
				"half of the images where that is fewer)")
		f.IntVar(&o.Points, "points", 100, "points of an amplitude or phase path, both ends included")
		f.Float64Var(&o.Window, "window", 0.2,
			"share w of the shorter side: frequencies |u|, |v| ≤ w·side take part; 0.5 is all of square images")
		cli.Choice(f, &out.Mask, "mask", "square", "square, or radial: √(u²+v²) ≤ w·side", "square", "radial")
		cli.Choice(f, &out.Wrap, "wrap", "none",
			"none: phases are blended as numbers in (−π, π], as published; shortest: they turn the shorter way", "none",
			"shortest")
		cli.Choice(f, &out.Normalization, "normalization", "none", "space of the paths: none, cifar10 or imagenet",
			"none", "cifar10", "imagenet")
		cli.Choice(f, &out.LastBin, "last-bin", "drop",
			"drop: the highest frequency does not count as high, as published; keep: it does", "drop", "keep")
		f.IntVar(&o.measure.Batch, "batch", 100, "images in one call of the model")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "data", "kind", "pairs", "normalization")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *pathOptions) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "data"); err != nil {
		return err
	}
	f, out := cmd.Flags(), &o.result
	switch {
	case len(o.kinds) == 0:
		return cli.Usagef("--kind: expected amplitude, phase or pixel")
	case f.Changed("pairs") && o.pairs < 1:
		return cli.Usagef("--pairs %d: expected at least 1", o.pairs)
	case o.measure.Batch < 1:
		return cli.Usagef("--batch %d: expected at least 1", o.measure.Batch)
	case !(o.Window > 0 && o.Window <= 0.5): // 0 would be the default
		return cli.Usagef("--window %v: expected more than 0 and at most 0.5", o.Window)
	case o.Points < 4:
		return cli.Usagef("--points %d: expected at least 4", o.Points)
	}
	var kinds []spectral.PathKind
	for _, text := range o.kinds {
		kind := spectral.PathKind(text)
		if !slices.Contains(spectral.PathKinds, kind) || slices.Contains(kinds, kind) {
			return cli.Usagef("--kind %s: expected amplitude, phase and pixel, each at most once", text)
		}
		kinds = append(kinds, kind)
	}
	o.Normalization, o.Radial, o.Shortest = pathNormalizations[out.Normalization], out.Mask == "radial",
		out.Wrap == "shortest"
	o.measure.Progress = cli.Progress()
	o.measure.KeepLast = out.LastBin == "keep"
	in, err := o.input.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	model := in.Model
	images, err := in.Index(cmd.Context())
	if err != nil {
		return err
	}
	info, err := model.Info()
	if err != nil {
		return err
	}
	out.Model, out.Data, out.Points, out.Window = info.Name, images.Name, o.Points, o.Window
	for _, kind := range kinds {
		sets, err := spectral.PathSets(kind, &images.Images, o.pairs, o.FourierOptions)
		if err != nil {
			return cli.Usage(err)
		}
		for _, s := range sets {
			m, err := s.Measure(cmd.Context(), model, images, o.measure)
			if err != nil {
				return cli.Usage(err)
			}
			out.Paths = append(out.Paths, walkedKind{s.Name, m})
		}
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), out)
	}
	w := cli.Figures(cmd.OutOrStdout())
	fmt.Fprintln(w, "paths\tnumber\tHFF\t95 % interval\tCD\t95 % interval\t")
	for _, k := range out.Paths {
		distance, interval := "", ""
		if k.CD != nil {
			distance, interval = fmt.Sprintf("%.2f", k.CD.Mean), intervalOf(k.CD, 2)
		}
		cli.Fprintf(w, "%s\t%d\t%.4f\t%s\t%s\t%s\t\n", k.Kind, k.PathMetrics.Paths, k.HFF.Mean, intervalOf(&k.HFF, 4),
			distance, interval)
		if k.Skipped+k.Missed > 0 {
			cli.Say("%s: %d pairs without a path of 4 points and %d paths with outputs that are not finite do not count",
				k.Kind, k.Skipped, k.Missed)
		}
	}
	return w.Flush()
}

func intervalOf(e *spectral.Estimate, decimals int) string {
	if e.Interval == nil {
		return ""
	}
	return fmt.Sprintf("%.*f to %.*f", decimals, e.Interval[0], decimals, e.Interval[1])
}
