package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/gomlxmodels/torch"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

func init() { verbs = append(verbs, importCommand) }

func importCommand() *cobra.Command {
	var (
		weights, out, data, size string
		a                        nets.Architecture
		sigma                    float64
		shortcuts                string
	)
	cmd := &cobra.Command{
		Use:   "import --weights FILE --net NAME --out PATH [flags]",
		Short: "Make a model file of weights in PyTorch's names",
		Long: `Make a model file of weights in PyTorch's names and layouts, from a safetensors or npz file, or
from a checkpoint (.pth, .pt, .th, .pth.tar), of which nothing is run: its weights are taken, also from
under state_dict, model_state_dict, net, model or weights.

It takes the CIFAR residual networks of the common public repositories (names as conv1, bn1,
layer1.0.conv1, layer2.0.downsample.0, fc; linear and shortcut for the last two; "module." and "1."
of wrappers are taken off), and what certspec export writes:
  locuslab/smoothing               --input standardize
  akamaster/pytorch_resnet_cifar10 --input imagenet --shortcuts padded
Any other network can be certified from an ONNX file, without being imported.

The normalisation of the images is no weight: give it by --input. With --data the accuracy is
measured and written on the card.`,
		Example: "  certspec import --weights resnet20.safetensors --net resnet20 --input standardize --data cifar10/test --out models/theirs",
		Args:    noArgs,
	}
	f := cmd.Flags()
	f.StringVar(&weights, "weights", "", "file of weights: .safetensors, .npz, or a checkpoint that torch.save wrote")
	f.StringVar(&a.Name, "net", "", "network: "+strings.Join(nets.Names(), ", "))
	f.StringVar(&out, "out", "", "path of the model file, without ending")
	f.StringVar(&a.Input, "input", nets.InputNone, "input layer: none, center, standardize (both by CIFAR-10 statistics) or imagenet (standardized by ImageNet's)")
	f.StringVar(&shortcuts, "shortcuts", string(torch.ConvolvedShortcuts), "of a residual network: convolved (option B, with weights) or padded (option A, as in pytorch_resnet_cifar10)")
	f.StringVar(&size, "size", "32x32x3", "height, width and channels of an image; with --data those of its images")
	f.StringVar(&data, "data", "", "data set for the accuracy and the class names on the card, e.g. cifar10/test")
	f.Float64Var(&sigma, "sigma", 0, "standard deviation of the noise of its training, as its makers say, for the card")
	choice := engineFlag(cmd)
	asJSON := jsonFlag(cmd)

	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := needed(cmd, "weights", "net", "out"); err != nil {
			return err
		}
		if !(sigma >= 0) {
			return usagef("--sigma %v: expected 0 or more", sigma)
		}
		tensors, digest, err := torch.Read(weights)
		if err != nil {
			return err
		}
		if a.Classes, err = torch.Classes(tensors); err != nil {
			return fmt.Errorf("%s: %w", weights, err)
		}
		if a.Shape, err = parseSize("size", size); err != nil {
			return err
		}
		m := &modelfile.Model{Card: modelfile.Card{
			Source:  &modelfile.Source{Origin: modelfile.Imported, File: filepath.Base(weights), Digest: digest},
			Recipe:  modelfile.Recipe{Sigma: sigma},
			Program: version(), Command: commandLine(os.Args[1:]),
		}}
		var images *dataset.Images
		if data != "" {
			d, err := dataset.Open(data)
			if err != nil {
				return usageError{err}
			}
			if images, err = d.Load(cmd.Context()); err != nil {
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
			return usageError{err}
		}
		m.Card.Architecture = a
		if m.Weights, err = torch.ImportWeights(tensors, a, torch.Shortcuts(shortcuts)); err != nil {
			return fmt.Errorf("%s: %w", weights, err)
		}
		if err := modelfile.Write(out, m); err != nil {
			return err
		}
		if images != nil {
			if err := measureAccuracy(cmd, out, *choice, images, m); err != nil {
				return err
			}
		}
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), m.Card)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s for images of %v, %d classes, %d parameters\n", out, a.Name, a.Shape, a.Classes, m.Card.Parameters)
		if images != nil {
			fmt.Fprintf(cmd.OutOrStdout(), "accuracy on %s %.2f %%, with noise σ = %g %.2f %%\n", images.Name, 100*m.Card.Accuracy, sigma, 100*m.Card.NoisyTest)
		}
		return nil
	}
	return cmd
}

// measureAccuracy fills in the card of the model that was written to path, and writes it again.
func measureAccuracy(cmd *cobra.Command, path, choice string, images *dataset.Images, m *modelfile.Model) error {
	opened, err := openModel(path, engine.Backend(choice))
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
	if card.Recipe.Sigma > 0 {
		if card.NoisyTest, err = rs.BaseAccuracy(cmd.Context(), opened, images, card.Recipe.Sigma, 0); err != nil {
			return usageOf(err)
		}
	}
	card.Test = modelfile.Data{Name: images.Name, Images: images.Len(), Digest: images.Digest}
	card.Backend = fmt.Sprintf("%s %s, %s", info.Identity.Engine, info.Identity.EngineVersion, info.Identity.InstructionSet)
	return modelfile.Write(path, m)
}

// parseSize reads height, width and channels, e.g. "32x32x3".
func parseSize(flag, text string) (pixel.Shape, error) {
	var s pixel.Shape
	if n, err := fmt.Sscanf(text+"\n", "%dx%dx%d\n", &s.Height, &s.Width, &s.Channels); n != 3 || err != nil || !s.Valid() {
		return s, usagef("--%s %s: expected height, width and channels, e.g. 32x32x3", flag, text)
	}
	return s, nil
}
