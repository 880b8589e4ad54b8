package backend

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/pixel"
)

// runOpenVINO compares a network of random weights on OpenVINO with the Go backend. Errors: it does not run, or is
// further off than rounding allows.
func (o *checkOptions) runOpenVINO(cmd *cobra.Command) error {
	dir, err := os.MkdirTemp("", "certspec-check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	arch := nets.Architecture{Name: "small-cnn", Shape: pixel.Shape{Height: 28, Width: 28, Channels: 1}, Classes: 10}
	net := &modelfile.Model{Card: modelfile.Card{Architecture: arch, Classes: make([]string, arch.Classes)}}
	for _, t := range arch.Tensors() {
		net.Weights = append(net.Weights, modelfile.Tensor{Name: t.Name, Shape: t.Shape, Values: t.Initialize(1)})
	}
	path := filepath.Join(dir, arch.Name)
	if err := modelfile.Write(path, net); err != nil {
		return err
	}
	const n = 16
	batch := classifier.Batch{N: n, Grid: make([]int16, n*arch.Shape.Len())}
	for i := range batch.Grid {
		batch.Grid[i] = int16(i * 7919 % (pixel.Steps + 1))
	}
	var logits [2][]float32
	var id classifier.Identity
	for i, choice := range []string{"go", o.engine} {
		m, err := engine.Open(path, engine.Backend(choice))
		if err != nil {
			return err
		}
		defer m.Close()
		result := classifier.Result{Classes: make([]int32, n), Logits: make([]float32, n*arch.Classes)}
		if err := m.Classify(cmd.Context(), batch, &result); err != nil {
			return err
		}
		info, err := m.Info()
		if err != nil {
			return err
		}
		logits[i], id = result.Logits, info.Identity
	}
	difference, most := 0.0, float64(max(slices.Max(logits[0]), -slices.Min(logits[0])))
	for i, want := range logits[0] {
		difference = max(difference, math.Abs(float64(logits[1][i]-want))/most)
	}
	allowed := 1e-5
	if o.engine != engine.OpenVINO && o.engine != engine.OpenVINO+",precision=f32" {
		allowed = 0.05 // eight bits, layer by layer
	}
	if !(difference <= allowed) {
		return fmt.Errorf("%s computes a network wrongly: it differs from Go by %.2g of the greatest logit; rounding "+
			"explains %.2g", o.engine, difference, allowed)
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), struct {
			classifier.Identity
			Difference float64 `json:"difference"`
			Allowed    float64 `json:"allowed"`
		}{id, difference, allowed})
	}
	cli.Fprintf(cmd.OutOrStdout(), "%s %s, %d threads, %s: greatest difference from Go %.1e of the greatest logit "+
		"(rounding explains %.0e)\n", id.Engine, id.EngineVersion, id.Threads, id.InstructionSet, difference, allowed)
	return nil
}
