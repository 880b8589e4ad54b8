package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/rs/ledger"
)

// NetworkOptions name a network that is read as layers in float64; no engine runs it.
type NetworkOptions struct {
	Path       string
	trained    []string
	uncompared bool

	cmd  *cobra.Command
	onnx onnxOptions
}

// Flags adds --model, and the flags that say how images enter an ONNX file.
func (o *NetworkOptions) Flags(cmd *cobra.Command) {
	Group(cmd, Model, func(f *Flags) { f.Model(&o.Path, "path of the model file, or of an ONNX file") })
	o.EntranceFlags(cmd)
}

// EntranceFlags adds the flags that say how images enter an ONNX file.
func (o *NetworkOptions) EntranceFlags(cmd *cobra.Command) {
	o.cmd = cmd
	Group(cmd, Model, func(f *Flags) {
		o.onnx.Threads = 1
		o.onnx.entranceFlags(f)
	})
}

// TrainedFlag adds --trained.
func (o *NetworkOptions) TrainedFlag(cmd *cobra.Command) {
	Group(cmd, Model, func(f *Flags) {
		f.Words(&o.trained, "trained", nil,
			"of an ONNX file: the data sets that it was trained on, which are refused as unseen images (a model "+
				"file says so itself)", DataNames)
	})
}

// UncomparedFlag adds --uncompared.
func (o *NetworkOptions) UncomparedFlag(cmd *cobra.Command) {
	Group(cmd, Model, func(f *Flags) { f.Uncompared(&o.uncompared) })
}

// Uncompared adds the flag --uncompared.
func (f *Flags) Uncompared(to *bool) {
	f.BoolVar(to, "uncompared", false, "do not compare the layers with ONNX Runtime first; "+
		"proofs then hold for the layers as they were read, and reports say so")
}

// OpenModel opens the model alone.
func (o *NetworkOptions) OpenModel() (*engine.Model, error) {
	if o.Path == "" {
		return nil, Usagef("--model is missing: %s", o.cmd.Flags().Lookup("model").Usage)
	}
	if isWeights(o.Path) {
		return nil, weightsAlone(o.Path)
	}
	none := ""
	options, err := o.onnx.read(o.cmd.Flags(), o.Path, &none)
	if err != nil {
		return nil, err
	}
	return engine.Open(o.Path, engine.ONNX(options), engine.Progress(Progress()))
}

// Open opens the model and its network, which is compared with ONNX Runtime unless --uncompared is set.
func (o *NetworkOptions) Open() (*engine.Model, *feedforward.Network, error) {
	m, err := o.OpenModel()
	if err != nil {
		return nil, nil, err
	}
	n, err := FeedForward(o.cmd.Context(), m, o.uncompared)
	if err != nil {
		m.Close()
		return nil, nil, err
	}
	return m, n, nil
}

// Network opens the model and its network as layers in float64, which no engine runs.
func (o *ModelOptions) Network(uncompared bool) (*engine.Model, *feedforward.Network, error) {
	n := NetworkOptions{Path: o.Path, uncompared: uncompared, cmd: o.cmd, onnx: o.onnx}
	return n.Open()
}

// FeedForward is the network of a model as layers.
func FeedForward(ctx context.Context, m *engine.Model, uncompared bool) (*feedforward.Network, error) {
	if uncompared {
		return m.Uncompared()
	}
	n, err := m.FeedForward(ctx)
	return n, GoOn(err)
}

// GoOn names --uncompared where ONNX Runtime is missing.
func GoOn(err error) error {
	if errors.Is(err, onnx.ErrNoLibrary) {
		return fmt.Errorf("%w; --uncompared goes on without it, and reports say so", err)
	}
	return err
}

// Trained are the sets that a network was trained on, by its card or by --trained.
func (o *NetworkOptions) Trained(m *engine.Model) []ledger.Data {
	sets := m.Trained()
	for _, name := range o.trained {
		sets = append(sets, ledger.Data{Name: name})
	}
	return sets
}

// Compared says with what the layers were compared.
func Compared(with string) string {
	switch with {
	case "":
		return "the file does not say whether they were compared with a runtime"
	case feedforward.NotCompared:
		return "not compared with a runtime: the results are those of the layers as they were read"
	case "integers":
		return "whole numbers, the same on every machine"
	}
	return "compared with " + with + ", its optimiser on and off"
}
