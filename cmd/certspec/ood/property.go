package ood

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	vnnlib "github.com/certspec/certspec/cmd/certspec/ood/property"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/feedforward"
)

// propertyOptions holds the values of the flags.
type propertyOptions struct {
	model, property string
	vnnlib.Options
	uncompared bool
	json       *bool
}

func property() *cobra.Command {
	var o propertyOptions
	cmd := &cobra.Command{
		Use:   "property MODEL --property FILE",
		Short: "Decide a property in VNN-LIB's form: holds, violated or unknown",
		Long: `Decide a property of a network in an ONNX file. The property is a VNN-LIB file: boxes of inputs, and
conditions on outputs that no input of the box may meet. Both files may be packed by gzip. The verdict
is one of

  holds      proven by intervals, CROWN or splits, rounded outwards: in exact arithmetic and in float32
  violated   an input meets the conditions, in float64 and in ONNX Runtime; --json gives it as the witness
  unknown    neither was shown

The exit code is 0 for all three. Inputs and outputs are those of the graph, so that no card is needed:
conditions on the outputs of a last Softmax are on its probabilities. Before anything is decided, the
layers that are bounded are compared with ONNX Runtime at points of the boxes.`,
		Example: "  certspec ood property net.onnx --property p.vnnlib --json",
		Args:    cli.OneModel,
	}
	cli.Group(cmd, cli.Model, func(f *cli.Flags) {
		f.Model(&o.model, "ONNX file")
		f.Uncompared(&o.uncompared)
	})
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.File(&o.property, "property", "VNN-LIB file", "vnnlib")
		f.IntVar(&o.Steps, "steps", 100, "steps of the attack that looks for a witness")
		f.IntVar(&o.Restarts, "restarts", 3, "random starts of the attack")
		f.Uint64Var(&o.Seed, "seed", 0, "seed of the random starts")
	})
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *propertyOptions) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "model", "property"); err != nil {
		return err
	}
	if o.Steps < 1 || o.Restarts < 1 {
		return cli.Usagef("--steps %d and --restarts %d, want at least 1", o.Steps, o.Restarts)
	}
	p, err := vnnlib.Read(o.property)
	if err != nil {
		return err
	}
	g, err := engine.ReadGraph(o.model)
	if err != nil {
		return err
	}
	defer g.Close()
	g.Progress = cli.Progress()
	if !o.uncompared {
		if err := g.Compare(cmd.Context(), p.Boxes()...); err != nil {
			return cli.GoOn(err)
		}
		o.Options.Run = g.Run
	}
	began := time.Now()
	result, err := vnnlib.Decide(cmd.Context(), g.Network(), p, o.Options)
	if err != nil {
		return err
	}
	seconds := time.Since(began).Seconds()
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), struct {
			vnnlib.Result
			Seconds float64 `json:"seconds"`
		}{result, seconds})
	}
	if result.Compared == feedforward.NotCompared {
		cli.Say("%s", cli.Compared(result.Compared))
	}
	_, err = cli.Fprintf(cmd.OutOrStdout(), "%s (%s, %.3f s)\n", result.Verdict, result.Method, seconds)
	return err
}
