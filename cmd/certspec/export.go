package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/gomlxmodels/export"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
)

func init() { verbs = append(verbs, exportCommand) }

func exportCommand() *cobra.Command {
	var model, onnx string
	cmd := &cobra.Command{
		Use:   "export --model PATH --onnx FILE",
		Short: "Write a trained network as an ONNX file",
		Long: `Write a trained network as an ONNX file, for every program that reads that format.

The graph takes batches of any size, of images in [0, 1] with channels first. The input
layer is inside, batch normalisation is folded into the convolutions, and the card with
recipe and digests stands in the file's metadata.`,
		Example: "  certspec export --model models/fmnist-cnn-s025 --onnx fmnist.onnx",
		Args:    noArgs,
	}
	cmd.Flags().StringVar(&model, "model", "", "path of the model file, with or without its ending")
	cmd.Flags().StringVar(&onnx, "onnx", "", "file to write")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case model == "":
			return usagef("--model is missing: the path of a trained network, e.g. --model models/fmnist-cnn-s025")
		case onnx == "":
			return usagef("--onnx is missing: the file to write, e.g. --onnx fmnist.onnx")
		}
		m, err := modelfile.Read(model)
		if err != nil {
			return err
		}
		if err := export.ONNX(m, onnx); err != nil {
			return err
		}
		a := m.Card.Architecture
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), map[string]any{"onnx": onnx, "architecture": a, "weights": m.Card.Weights})
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s for images of %v, %d classes\n", onnx, a.Name, a.Shape, a.Classes)
		return nil
	}
	return cmd
}
