package ood

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/onnx"
)

// joinOptions are what the flags of "ood join" ask.
type joinOptions struct {
	network       cli.NetworkOptions
	discriminator string
	shift         float64
	out           string
	json          *bool
}

// joinedFile is what "ood join --json" prints.
type joinedFile struct {
	File    string `json:"file"`
	Network string `json:"network,omitempty"` // its digest, as ood bound records it
	Classes int    `json:"classes,omitempty"`
	Reason  string `json:"reason,omitempty"` // why ood bound cannot read it
}

func join() *cobra.Command {
	var o joinOptions
	cmd := &cobra.Command{
		Use:   "join MODEL --discriminator FILE --out FILE.onnx",
		Short: "Join a discriminator and your classifier into one ONNX file whose bounds hold",
		Long: `Set a discriminator h beside a classifier f, as ProoD does (Meinke, Bitterwolf and Hein 2022), and write
both as one ONNX file, whose logits have the probabilities π·softmax(f) + (1 − π)/K, π = 1/(1 + exp(−h −
Δ)). A bound on h within a ball bounds the confidence there by π + (1 − π)/K, however deep the
classifier is; where h is large, the classifier answers as before.

The discriminator is that of a model which certspec train --method prood made, or any ONNX file with one
output, large where an image is like the classifier's own. Both take images of one shape. What is known
of the images of the classifier's file (--mean, --layout, … or its card) becomes part of the new file,
which takes values in [0, 1] and needs no card. --shift is Δ: more of it costs less accuracy, and
guarantees less.`,
		Example: "  certspec ood join net.onnx --mean 0.49,0.48,0.45 --std 0.25,0.24,0.26 --discriminator " +
			"models/prood --shift 3 --out joined.onnx\n" +
			"  certspec ood bound joined.onnx --data svhn/test --eps 0.01 --out out/svhn.ood",
		Args: cli.OneModel,
	}
	o.network.Flags(cmd)
	cli.Group(cmd, cli.Model, func(f *cli.Flags) {
		f.File(&o.discriminator, "discriminator",
			"path of a model file that prood trained, or of an ONNX file with one output", "onnx", "json",
			"safetensors")
		f.Float64Var(&o.shift, "shift", 0, "Δ; where it is not given, that of the discriminator's own model")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.Out(&o.out, "ONNX file to write") })
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "discriminator", "shift", "out", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *joinOptions) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "model", "discriminator", "out"); err != nil {
		return err
	}
	if !strings.HasSuffix(strings.ToLower(o.out), ".onnx") {
		return cli.Usagef("--out %s: expected a name that ends in .onnx", o.out)
	}
	var shift *float64
	if cmd.Flags().Changed("shift") {
		shift = &o.shift
	}
	m, err := o.network.OpenModel()
	if err != nil {
		return err
	}
	defer m.Close()
	h, err := engine.Open(o.discriminator)
	if err != nil {
		return err
	}
	defer h.Close()
	if err := engine.Join(m, h, shift, o.out); err != nil {
		return err
	}
	result := joinedFile{File: o.out}
	written, err := engine.Open(o.out)
	if err != nil {
		return err
	}
	defer written.Close()
	n, err := written.FeedForward(cmd.Context())
	if errors.Is(err, onnx.ErrNoLibrary) {
		n, err = written.Uncompared()
	}
	if err != nil {
		result.Reason = err.Error()
	} else {
		result.Network, result.Classes = n.Digest(), n.Outputs()
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), result)
	}
	if result.Reason != "" {
		_, err = cli.Fprintf(cmd.OutOrStdout(), "%s: written; certspec ood bound cannot read it: %s\n", o.out,
			result.Reason)
		return err
	}
	_, err = cli.Fprintf(cmd.OutOrStdout(), "%s: %d classes, the network %s\n", o.out, result.Classes, result.Network)
	return err
}
