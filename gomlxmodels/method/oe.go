package method

import (
	"github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/internal/gomlxmodels/outlierloss"
)

// oe is outlier exposure: the predictions of out-images become uniform, by the loss −(1/K) Σ_k log
// p_k (Hendrycks, Mazeika and Dietterich 2019, arXiv 1812.04606).
type oe struct{ outlierOptions }

func (oe) Name() string   { return "oe" }
func (m oe) Needs() Needs { return m.outlierOptions.needs() }
func (m oe) Check() error { return m.outlierOptions.check() }

func (m oe) Loss(b *Batch) []loss.Term {
	return m.terms(b, "uniform", func(out *More) *graph.Node { return outlierloss.Uniform(out.Logits) })
}
