// Package exporter is "certspec export".
package exporter

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/feedforward/quantize"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
	"github.com/certspec/certspec/internal/gomlxmodels/torch"
	"github.com/certspec/certspec/internal/intnet"
)

// options holds the values of the flags.
type options struct {
	model, onnx, safetensors, npz string
	denoiser                      bool
	out                           []string
	json                          *bool
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "export MODEL --out FILE",
		Short: "Write a trained network for other programs: ONNX, safetensors, npz",
		Long: `Write a trained network as an ONNX file, for every program that reads that format, or its
weights alone in PyTorch's names and layouts, as a safetensors or npz file.

The ONNX graph takes batches of any size, of images in [0, 1] with channels first. The input
layer is inside, batch normalisation is folded into the convolutions, and the card with
recipe and digests stands in the file's metadata.

Weights have the names of the common public CIFAR residual networks (conv1, layer1.0.conv1,
layer2.0.downsample.0, fc). The input layer has no weights: it is to be put before the network.

An integer network (.intnet) becomes ONNX of integer operators with unsigned weights: the same classes in
every runtime, with its optimiser and without.`,
		Example: "  certspec export models/fmnist-cnn-s025 --out fmnist.onnx\n" +
			"  certspec export models/cifar10-resnet20-s025 --out resnet20.safetensors",
		Args: cli.OneModel,
	}

	cli.Group(cmd, cli.Model, func(f *cli.Flags) {
		f.Model(&o.model, "path of the model file, with or without its ending")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Outs(&o.out, "file to write: .onnx, .safetensors or .npz; may be given several times",
			".onnx", ".safetensors", ".npz")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.BoolVar(&o.denoiser, "denoiser", false, "the denoiser alone, as ONNX, for certspec join")
	})
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	if err := o.byEnding(); err != nil {
		return err
	}
	model, onnx, safetensors, npz := o.model, o.onnx, o.safetensors, o.npz
	if model == "" {
		return cli.Usagef("--model is missing: the path of a trained network, e.g. --model models/fmnist-cnn-s025")
	}
	if onnx == "" && safetensors == "" && npz == "" {
		return cli.Usagef("no file to write is named: expected --out with a name that ends in .onnx, .safetensors " +
			"or .npz, e.g. --out fmnist.onnx")
	}
	if intnet.IsName(model) {
		return o.integers(cmd)
	}
	m, err := modelfile.Read(model)
	if err != nil {
		return err
	}
	a := m.Card.Architecture
	written := map[string]any{"architecture": a, "weights": m.Card.Weights}
	if onnx != "" {
		write := export.ONNX
		if o.denoiser {
			write = export.Denoiser
		}
		if err := write(m, onnx); err != nil {
			return err
		}
		written["onnx"] = onnx
	}
	for flag, path := range map[string]string{torch.Safetensors: safetensors, torch.NPZ: npz} {
		if path == "" {
			continue
		}
		metadata := map[string]string{"net": a.Name, "input": string(a.Input), "source": m.Card.Weights}
		if err := torch.Write(path, torch.ExportWeights(m), metadata); err != nil {
			return err
		}
		written[flag[1:]] = path
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), written)
	}
	for _, path := range []string{onnx, safetensors, npz} {
		if path != "" {
			cli.Fprintf(cmd.OutOrStdout(), "%s: %s for images of %v, %d classes\n", path, a.Name, a.Shape, a.Classes)
		}
	}
	if a.Input != "" && a.Input != "none" && (safetensors != "" || npz != "") {
		mean, deviation := a.Normalization()
		cli.Say("the weights leave out the input layer %s: mean %v, deviation %v", a.Input, mean, deviation)
	}
	return nil
}

// integers writes an integer network as ONNX.
func (o *options) integers(cmd *cobra.Command) error {
	if o.onnx == "" || o.safetensors != "" || o.npz != "" || o.denoiser {
		return cli.Usagef("%s is an integer network: expected --out with a name that ends in .onnx alone", o.model)
	}
	n, _, err := intnet.Read(o.model)
	if err != nil {
		return err
	}
	file, err := quantize.ONNX(n)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(o.onnx, file); err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), map[string]any{"weights": n.Identity(), "onnx": o.onnx})
	}
	_, err = cli.Fprintf(cmd.OutOrStdout(), "%s: %d layers of integers, %d classes\n", o.onnx, len(n.Layers), n.Classes())
	return err
}

// byEnding tells the files of --out apart.
func (o *options) byEnding() error {
	for _, path := range o.out {
		to := map[string]*string{".onnx": &o.onnx, torch.Safetensors: &o.safetensors,
			torch.NPZ: &o.npz}[strings.ToLower(filepath.Ext(path))]
		switch {
		case to == nil:
			return cli.Usagef("--out %s: expected a name that ends in .onnx, %s or %s", path, torch.Safetensors,
				torch.NPZ)
		case *to != "":
			return cli.Usagef("--out %s: there is %s already; expected one file of each kind", path, *to)
		}
		*to = path
	}
	return nil
}
