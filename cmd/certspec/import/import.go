// Package importer is "certspec import".
package importer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/torch"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/rs"
)

// options holds the values of the flags.
type options struct {
	weights, table, out, data, size, engine string
	a                                       nets.Architecture
	sigma                                   float64
	shortcuts                               torch.Shortcuts
	json                                    *bool
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "import --weights FILE --net NAME --out PATH [flags]",
		Short: "Make a model file of weights in PyTorch's names",
		Long: `Make a model file of weights in PyTorch's names and layouts, from a safetensors or npz file. For a
checkpoint (.pth, .pt, .th, .pth.tar) it prints the line of Python that makes one.

It takes what certspec export writes, and the CIFAR residual networks of the common public repositories. Their
layers are named conv1, bn1, layer1.0.conv1, layer2.0.downsample.0 (or shortcut) and fc (or linear). The
"module.", "_orig_mod." and "1." of wrappers come off. Two of them are
  locuslab/smoothing               --input standardize
  akamaster/pytorch_resnet_cifar10 --input imagenet --shortcuts padded
Any other network can be certified from an ONNX file, without being imported.

The normalisation of the images is no weight: give it by --input. With --data the accuracy is
measured and written on the card.`,
		Example: "  certspec import --weights resnet20.safetensors --net resnet20 --input standardize --data " +
			"cifar10/test --out models/theirs",
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cli.NoArgs(cmd, args); err != nil {
				return cli.Usagef("%w; --weights names the file\n\n%s", err, cli.WaysIn(args[0]))
			}
			return nil
		},
	}

	cli.Group(cmd, cli.Model, func(f *cli.Flags) {
		f.File(&o.weights, "weights", "file of weights: .safetensors or .npz", "safetensors", "npz")
		f.Text(&o.table, "table", "take only the weights whose names begin with this and a dot, e.g. model_ema")
		f.Named(&o.a.Name, "net", "", "network: "+strings.Join(nets.Names(), ", "), nets.Names)
		cli.Choice(f, &o.a.Input, "input", "none",
			"input layer: none, center, standardize (both by CIFAR-10 statistics) or imagenet (standardized by "+
				"ImageNet's)", nets.Inputs()...)
		cli.Choice(f, &o.shortcuts, "shortcuts", torch.ConvolvedShortcuts,
			"of a residual network: convolved (option B, with weights) or padded (option A, as in "+
				"pytorch_resnet_cifar10)", torch.ConvolvedShortcuts, torch.PaddedShortcuts)
		f.Text(&o.size, "size", "height, width and channels of an image (default those of the images of --data, or "+
			"32x32x3)")
		f.Float64Var(&o.sigma, "sigma", 0,
			"standard deviation of the noise of its training, as its makers say, for the card")
		f.Engine(&o.engine)
	})
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.Data(&o.data, "data set for the accuracy and the class names on the card, e.g. cifar10/test")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.Out(&o.out, "path of the model file, without ending") })
	o.json = cli.JSON(cmd)
	cli.First(cmd, "weights", "net", "input", "data", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "weights", "net", "out"); err != nil {
		if o.weights != "" && o.a.Name == "" {
			return cli.Usagef("%w\n\n%s", err, cli.WaysIn(o.weights))
		}
		return err
	}
	if err := cli.Known(cmd, "net", nets.Names()); err != nil {
		return cli.Usagef("%w\n\n%s", err, cli.WaysIn(o.weights))
	}
	weights, out, data, a, sigma := o.weights, o.out, o.data, o.a, o.sigma
	if o.size == "" {
		o.size = "32x32x3"
	}
	if !(sigma >= 0) {
		return cli.Usagef("--sigma %v: expected 0 or more", sigma)
	}
	file, err := torch.Read(weights, o.table)
	if errors.Is(err, torch.ErrCheckpoint) {
		return cli.Usagef("%w.\n\n%s", err, cli.WaysIn(weights))
	}
	if err != nil {
		return err
	}
	if a.Classes, err = torch.Classes(file.Tensors); err != nil {
		return unknownNetwork(weights, err)
	}
	if a.Shape, err = cli.ParseShape("size", o.size); err != nil {
		return err
	}
	m := &modelfile.Model{Card: modelfile.Card{
		Source: &modelfile.Source{Origin: "imported", File: filepath.Base(weights), Digest: file.Digest,
			Table: o.table},
		Recipe:  modelfile.Unknown(sigma),
		Program: cli.Version(), Command: cli.CommandLine(os.Args[1:]),
	}}
	var images *imageset.Index
	if data != "" {
		d, err := dataset.Open(data)
		if err != nil {
			return cli.Wrong(err)
		}
		if images, err = d.Index(cmd.Context(), cli.Progress()); err != nil {
			return err
		}
		if len(images.Classes) != a.Classes {
			return fmt.Errorf("%s has %d classes, %s has %d", weights, a.Classes, images.Name, len(images.Classes))
		}
		a.Shape = images.Shape
		m.Card.Classes = images.Classes
	} else {
		for class := range a.Classes {
			m.Card.Classes = append(m.Card.Classes, strconv.Itoa(class))
		}
	}
	if err := a.Check(); err != nil {
		return cli.Wrong(err)
	}
	m.Card.Architecture = a
	if m.Weights, err = torch.ImportWeights(file.Tensors, a, o.shortcuts); err != nil {
		return unknownNetwork(weights, err)
	}
	if err := modelfile.Write(out, m); err != nil {
		return err
	}
	if images != nil {
		if err := measureAccuracy(cmd, out, o.engine, images, m); err != nil {
			return err
		}
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), m.Card)
	}
	cli.Fprintf(cmd.OutOrStdout(), "%s: %s for images of %v, %d classes, %s parameters\n", out, a.Name, a.Shape,
		a.Classes, printable.Count(m.Card.Parameters))
	if images != nil {
		cli.Fprintf(cmd.OutOrStdout(), "accuracy on %s %.2f %%, with noise σ = %g %.2f %%\n", images.Name,
			100*m.Card.Accuracy, sigma, 100*m.Card.NoisyTest)
	}
	return nil
}

// unknownNetwork says of weights that are of none of our networks how they come in all the same.
func unknownNetwork(weights string, err error) error {
	return fmt.Errorf("%s: %w.\n\n%s", weights, err, cli.WaysIn(weights))
}

// measureAccuracy fills in the card of the model that was written to path, and writes it again.
func measureAccuracy(cmd *cobra.Command, path, choice string, images *imageset.Index, m *modelfile.Model) error {
	opened, err := cli.OpenModel(path, engine.Backend(choice))
	if err != nil {
		return err
	}
	defer opened.Close()
	info, err := opened.Info()
	if err != nil {
		return err
	}
	card := &m.Card
	if card.Accuracy, err = rs.BaseAccuracy(cmd.Context(), opened, images, 0, 0); err != nil {
		return err
	}
	card.NoisyTest = card.Accuracy
	if card.Recipe.Noise() > 0 {
		if card.NoisyTest, err = rs.BaseAccuracy(cmd.Context(), opened, images, card.Recipe.Noise(), 0); err != nil {
			return cli.Usage(err)
		}
	}
	card.Test = modelfile.Data{Name: images.Name, Images: images.Len(), Digest: images.Digest}
	card.Backend = fmt.Sprintf("%s %s, %s", info.Identity.Engine, info.Identity.EngineVersion,
		info.Identity.InstructionSet)
	return modelfile.Write(path, m)
}
