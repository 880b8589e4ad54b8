// Package quantize is "certspec quantize".
package quantize

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/internal/feedforward/quantize"
	"github.com/certspec/certspec/internal/intnet"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/rs/noise"
)

type options struct {
	network   cli.NetworkOptions
	images    cli.ImageOptions
	sigma     float64
	calibrate int
	seed      uint64
	out       string
	exact     bool
	json      *bool
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "quantize MODEL --data SET --sigma S [--exact] --out q.onnx",
		Short: "Write a network in 8-bit integers: as ONNX, or exact, the same on every machine",
		Long: `Quantise a network: weights of convolutions and dense layers become int8, with a scale for each output
channel, and what goes between layers uint8, with a scale and a zero point. Their ranges are the least
and the largest value on one noise sample of each of --calibrate images, at the sigma that will be
certified; that noise is in no certification. MODEL is a model file or an ONNX file.

The ONNX file has QuantizeLinear and DequantizeLinear around layers, which ONNX Runtime and others turn
into integer layers. Conv, Gemm, Add and pooling become integer, batch normalisation and ReLU go into
the layer before; all else stays in float32 and is named. A certificate of the file is one of the
quantised network, and its identity in the ledger says so.

With --exact every step is integer arithmetic, in certspec's own file (.intnet): one function, with equal
answers on every machine, and the fastest one here. Each layer needs a form in integers: Conv, Gemm, batch
normalisation behind them, ReLU, Add, Concat and pools; others are refused by name. Ranges are those with the
least mean squared error. A run that was stopped goes on where it was.`,
		Example: "  certspec quantize notebooks/models/cifar10-resnet20-s025 --data cifar10-jpeg/train --sigma 0.25 " +
			"--out q.onnx\n" +
			"  certspec quantize notebooks/models/cifar10-resnet20-s025 --data cifar10-jpeg/train --sigma 0.25 " +
			"--exact --out q.intnet\n" +
			"  certspec certify --model q.onnx --data cifar10-jpeg/test --sigma 0.25 --out q.ledger",
		Args: cli.OneModel,
	}
	o.network.Flags(cmd)
	o.images.Flags(cmd)
	cli.Group(cmd, cli.Noise, func(f *cli.Flags) {
		f.SigmaFlag(&o.sigma)
		f.IntVar(&o.calibrate, "calibrate", 128,
			"images whose noise samples give the ranges, spread over the classes; all, where there are fewer")
		f.Uint64Var(&o.seed, "seed", 1, "seed of their noise")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Out(&o.out, "file to write: .onnx, or .intnet with --exact", ".onnx", ".intnet")
		f.BoolVar(&o.exact, "exact", false,
			"integers alone, with equal answers on every machine; a file named .intnet is meant so")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "data", "sigma", "calibrate", "exact", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "data", "sigma", "out"); err != nil {
		return err
	}
	if o.exact = o.exact || intnet.IsName(o.out); o.exact {
		cli.Records(cmd)
	}
	switch {
	case o.calibrate < 1:
		return cli.Usagef("--calibrate %d: expected at least 1 image", o.calibrate)
	case o.exact && !intnet.IsName(o.out):
		return cli.Usagef("--out %s: expected a name that ends in .intnet, with --exact", o.out)
	case !o.exact && !strings.HasSuffix(strings.ToLower(o.out), ".onnx"):
		return cli.Usagef("--out %s: expected a name that ends in .onnx, or in .intnet for integers alone", o.out)
	}
	if _, err := noise.NewGrid(o.sigma); err != nil {
		return cli.Usage(err)
	}
	model, err := o.network.OpenModel()
	if err != nil {
		return err
	}
	defer model.Close()
	set, err := o.images.Open()
	if err != nil {
		return err
	}
	list, err := set.List(cmd.Context())
	if err != nil {
		return err
	}
	if list.Len() > o.calibrate {
		set = set.Subset(dataset.Count(o.calibrate))
	}
	images, err := set.Load(cmd.Context())
	if err != nil {
		return err
	}
	named := *images
	named.Name = o.images.Name // as the record has it, --calibrate aside
	if o.exact {
		return o.runExact(cmd, model, &named)
	}
	if err := model.Quantize(cmd.Context(), &named, o.sigma, o.seed, o.out); err != nil {
		return err
	}
	record, err := quantize.ReadRecord(o.out)
	if err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), record)
	}
	cli.Fprintf(cmd.OutOrStdout(), "%s: %d nodes on 8-bit integers, ranges of noise samples of %d images at sigma %g\n",
		o.out, record.Integer, record.Images, o.sigma)
	if len(record.Float32) > 0 {
		cli.Fprintf(cmd.OutOrStdout(), "in float32: %s\n", strings.Join(record.Float32, ", "))
	}
	return nil
}

func (o *options) runExact(cmd *cobra.Command, model *engine.Model, images *imageset.Images) error {
	if err := model.QuantizeExact(cmd.Context(), images, o.sigma, o.seed, o.out); err != nil {
		return err
	}
	made, err := quantize.Open(o.out)
	if err != nil {
		return err
	}
	record := &made.Record
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), record)
	}
	cli.Fprintf(cmd.OutOrStdout(),
		"%s: %d layers of integers, %.1f million multiply-adds, ranges of noise samples of %d "+
			"images at sigma %g\n", o.out, record.Layers, float64(record.Products)/1e6, record.Images, o.sigma)
	cli.Fprintf(cmd.OutOrStdout(), "another class than the network in real numbers on %s of %s further noise samples\n",
		printable.Count(record.OtherClass), printable.Count(record.Samples))
	return nil
}
