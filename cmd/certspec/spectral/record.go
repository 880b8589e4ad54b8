package spectral

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/internal/evaluate"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/pixel"
)

// recordOptions holds the values of the flags of "spectral record".
type recordOptions struct {
	evaluate.RecordOptions
	input         cli.InputOptions
	words         []string
	severities    []int
	labels        []string
	normalization string
	gradients     string
	out           string
	json          *bool
}

func recordCommand() *cobra.Command {
	var o recordOptions
	cmd := &cobra.Command{
		Use:   "record {MODEL | --exec COMMAND} --data NAME --out FILE [flags]",
		Short: "Record all numbers of a model that may predict its accuracy under shift",
		Long: `Measure a model as RobustNets' models were (Fridovich-Keil et al. 2022): accuracy, with --corrupt under
corruptions, too; the norm of its Jacobian, with the shares of the gradient's energy at low, middle and
high frequencies; HFF and CD along amplitude, phase and pixel paths. One line of JSON with RobustNets'
field names, deviations, counts and settings, which "certspec lines table" and "fit --in" read; a line
of the same model is replaced. --model may be a folder of models.

The Jacobian is that of the logits at 400 images spread over the classes (the first 400 of a set sorted
by class would be one class), exact, with respect to normalised values. Gradients come from XLA for
models of certspec, from the ONNX graph read as layers for other files (slow: --jacobian-images 20), or
not at all (--gradients differences): then central differences along random directions are marked
approximate, and there are no shares. Until all is measured, FILE.MODEL.parts keeps what is.`,
		Example: "  certspec spectral record m.onnx --data cifar10-jpeg/test --out records.jsonl\n" +
			"  certspec spectral record notebooks/models/cifar10-resnet20-s025 --data cifar10-jpeg/test " +
			"--pairs 500 --pixel-pairs 10 --corrupt C --severity 1,3,5 --out records.jsonl",
		Args: cli.OneModel,
	}
	o.input.Flags(cmd)
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.Words(&o.words, "corrupt", nil, "accuracy under these corruptions, too: names, families or groups",
			cli.CorruptionWords)
		f.Ints(&o.severities, "severity", nil, "of --corrupt, 1 to 5 (default all)")
		f.Uint64Var(&o.Seed, "seed", 0, "of --corrupt, and of random directions")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Text(&o.Name, "name", "name of the model in the record (default its file's name)")
		f.Texts(&o.labels, "label", "label=value, as architecture=VGG16; may be given several times")
		f.Text(&o.Accuracy, "accuracy",
			"field of the accuracy without shift (default cifar10_acc for CIFAR-10, else id_acc)")
		f.IntVar(&o.Pairs, "pairs", 0,
			"pairs of images of amplitude and of phase paths (default 5000, or half of the images where that is fewer)")
		f.IntVar(&o.PixelPairs, "pixel-pairs", 0,
			"pairs of pixel paths, of each class and of each two classes (default 200, or what the smallest class has)")
		f.IntVar(&o.Fourier.Points, "points", 100, "points of an amplitude or phase path, both ends included")
		f.Float64Var(&o.Fourier.Window, "window", 0.2,
			"share w of the shorter side: frequencies |u|, |v| ≤ w·side take part")
		cli.Choice(f, &o.normalization, "normalization", "",
			"space of paths and gradients: none, cifar10 or imagenet (default cifar10 for 32×32 colour images, "+
				"imagenet for other colour images)", "none", "cifar10", "imagenet")
		cli.Choice(f, &o.gradients, "gradients", "auto", "auto, or differences: none are asked for", "auto",
			"differences")
		f.IntVar(&o.JacobianImages, "jacobian-images", 400, "images of the Jacobian, spread over the classes")
		f.IntVar(&o.Projections, "projections", 0,
			"random directions of an image in the place of all classes; 0: exact (of differences 32)")
		f.IntVar(&o.Batch, "batch", 100, "images in one call of the model")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.Out(&o.out, "file of records (.jsonl)", ".jsonl") })
	cli.Records(cmd, "out")
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "data", "pairs", "corrupt", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := cli.Needed(cmd, "data", "out"); err != nil {
			return err
		}
		var all []lines.Record
		err := o.input.Model.Each(o.Name, func(path string) error {
			one := o
			one.input.Model.Path = path
			record, err := one.run(cmd)
			all = append(all, record)
			return err
		})
		if err != nil {
			return err
		}
		if *o.json && len(all) == 1 {
			return cli.PrintJSON(cmd.OutOrStdout(), all[0])
		} else if *o.json {
			return cli.PrintJSON(cmd.OutOrStdout(), all)
		}
		for _, r := range all {
			if len(all) > 1 {
				fmt.Fprintln(cmd.OutOrStdout(), r.Model)
			}
			if err := printRecord(cmd, r); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

func (o *recordOptions) run(cmd *cobra.Command) (none lines.Record, _ error) {
	switch {
	case filepath.Ext(o.out) != ".jsonl":
		return none, cli.Usagef("--out %s: expected a name that ends in .jsonl", o.out)
	case o.Batch < 1 || o.JacobianImages < 1 || o.Pairs < 0 || o.PixelPairs < 0 || o.Projections < 0:
		return none, cli.Usagef("--batch, --jacobian-images: expected at least 1; --pairs, --pixel-pairs, " +
			"--projections: at least 0")
	case !(o.Fourier.Window > 0 && o.Fourier.Window <= 0.5) || o.Fourier.Points < 4:
		return none, cli.Usagef("--window %v, --points %d: expected more than 0 and at most 0.5, and at least 4",
			o.Fourier.Window, o.Fourier.Points)
	}
	labels, err := cli.Labels(o.labels)
	if err != nil {
		return none, err
	}
	o.Labels = map[string]string{}
	for _, l := range labels {
		o.Labels[l[0]] = l[1]
	}
	if o.Cells, err = cli.Cells(o.words, o.severities, corrupt.Setting{}); err != nil {
		return none, err
	}
	in, err := o.input.Open()
	if err != nil {
		return none, err
	}
	defer in.Close()
	images, err := in.Index(cmd.Context())
	if err != nil {
		return none, err
	}
	o.defaults(images.Shape, images.Name)
	if o.gradients == "auto" {
		end, err := o.findGradients(cmd.Context(), in.Model)
		if err != nil {
			return none, err
		}
		defer end()
	}
	named := o.out + "." + strings.NewReplacer("/", "-", `\\`, "-").Replace(o.Name)
	o.Parts, o.Progress = strings.TrimSuffix(named, ".")+".parts", cli.Progress()
	record, err := evaluate.Record(cmd.Context(), in.Model, in.Data, o.RecordOptions)
	if err != nil {
		return none, err
	}
	if err := lines.PutRecord(o.out, record); err != nil {
		return none, err
	}
	if err := o.Forget(); err != nil {
		return none, err
	}
	return record, nil
}

// defaults fills in what depends on the images.
func (o *recordOptions) defaults(shape pixel.Shape, data string) {
	if o.normalization == "" {
		o.normalization = "none"
		if shape.Channels == 3 {
			o.normalization = "imagenet"
			if shape.Height == 32 && shape.Width == 32 {
				o.normalization = "cifar10"
			}
		}
	}
	o.Fourier.Normalization = pathNormalizations[o.normalization]
	if o.Accuracy == "" && strings.HasPrefix(data, "cifar10") && !strings.HasPrefix(data, "cifar100") {
		o.Accuracy = "cifar10_acc"
	}
	if path := o.input.Model.Path; o.Name == "" && path != "" {
		o.Name = onnxfile.Stem(path)
	}
}

// findGradients asks the model for gradients, and says where they come from, or that there are none.
func (o *recordOptions) findGradients(ctx context.Context, model classifier.Classifier) (end func() error, err error) {
	none := func() error { return nil }
	m, ok := model.(*engine.Model)
	if !ok {
		cli.Say("gradients: a program has none; the Jacobian comes from central differences, approximately")
		return none, nil
	}
	gradients, how, end, err := m.Gradients(ctx)
	switch {
	case ctx.Err() != nil:
		return none, ctx.Err()
	case err != nil:
		cli.Say("gradients: none (%v); the Jacobian comes from central differences, approximately", err)
		return none, nil
	}
	cli.Say("gradients: %s", how)
	o.Gradients, o.GradientEngine = gradients, how
	return end, nil
}

func printRecord(cmd *cobra.Command, r lines.Record) error {
	w := cli.Figures(cmd.OutOrStdout())
	fmt.Fprintln(w, "number\tvalue\tdeviation\tof\t")
	for _, field := range slices.Sorted(maps.Keys(r.Percent)) {
		cli.Fprintf(w, "%s\t%.2f %%\t\t%d\t\n", field, r.Percent[field], r.Images[field])
	}
	for _, field := range slices.Sorted(maps.Keys(r.Numbers)) {
		deviation := ""
		if d, ok := r.Deviations[field]; ok {
			deviation = fmt.Sprintf("%.4f", d)
		}
		cli.Fprintf(w, "%s\t%.4f\t%s\t%d\t\n", field, r.Numbers[field], deviation, r.Counts[field])
	}
	return w.Flush()
}
