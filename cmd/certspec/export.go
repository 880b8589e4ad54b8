package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/gomlxmodels/export"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/gomlxmodels/torch"
)

func init() { verbs = append(verbs, exportCommand) }

func exportCommand() *cobra.Command {
	var model, onnx, safetensors, npz string
	cmd := &cobra.Command{
		Use:   "export --model PATH [--onnx FILE] [--safetensors FILE] [--npz FILE]",
		Short: "Write a trained network for other programs: ONNX, safetensors, npz",
		Long: `Write a trained network as an ONNX file, for every program that reads that format, or its
weights alone in PyTorch's names and layouts, as a safetensors or npz file.

The ONNX graph takes batches of any size, of images in [0, 1] with channels first. The input
layer is inside, batch normalisation is folded into the convolutions, and the card with
recipe and digests stands in the file's metadata.

Weights have the names of the common public CIFAR residual networks (conv1, layer1.0.conv1,
layer2.0.downsample.0, fc). The input layer has no weights: it is to be put before the network.`,
		Example: "  certspec export --model models/fmnist-cnn-s025 --onnx fmnist.onnx\n" +
			"  certspec export --model models/cifar10-resnet20-s025 --safetensors resnet20.safetensors",
		Args: noArgs,
	}
	cmd.Flags().StringVar(&model, "model", "", "path of the model file, with or without its ending")
	cmd.Flags().StringVar(&onnx, "onnx", "", "ONNX file to write")
	cmd.Flags().StringVar(&safetensors, "safetensors", "", "safetensors file to write")
	cmd.Flags().StringVar(&npz, "npz", "", "npz file to write")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if model == "" {
			return usagef("--model is missing: the path of a trained network, e.g. --model models/fmnist-cnn-s025")
		}
		if onnx == "" && safetensors == "" && npz == "" {
			return usagef("no file to write is named: expected --onnx, --safetensors or --npz, e.g. --onnx fmnist.onnx")
		}
		for flag, path := range map[string]string{torch.Safetensors: safetensors, torch.NPZ: npz} {
			if path != "" && !torch.HasEnding(path, flag) {
				return usagef("--%s %s: expected a name that ends in %s", flag[1:], path, flag)
			}
		}
		m, err := modelfile.Read(model)
		if err != nil {
			return err
		}
		a := m.Card.Architecture
		written := map[string]any{"architecture": a, "weights": m.Card.Weights}
		if onnx != "" {
			if err := export.ONNX(m, onnx); err != nil {
				return err
			}
			written["onnx"] = onnx
		}
		for flag, path := range map[string]string{torch.Safetensors: safetensors, torch.NPZ: npz} {
			if path == "" {
				continue
			}
			metadata := map[string]string{"net": a.Name, "input": a.Input, "source": m.Card.Weights}
			if err := torch.Write(path, torch.ExportWeights(m), metadata); err != nil {
				return err
			}
			written[flag[1:]] = path
		}
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), written)
		}
		for _, path := range []string{onnx, safetensors, npz} {
			if path != "" {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s for images of %v, %d classes\n", path, a.Name, a.Shape, a.Classes)
			}
		}
		if a.Input != "" && a.Input != nets.InputNone && (safetensors != "" || npz != "") {
			mean, deviation := a.Normalization()
			say("the weights leave out the input layer %s: mean %v, deviation %v", a.Input, mean, deviation)
		}
		return nil
	}
	return cmd
}
