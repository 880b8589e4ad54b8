package method

import (
	"github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/gomlxmodels/loss"
)

// OE is outlier exposure: the predictions of out-images become uniform (Hendrycks, Mazeika and Dietterich 2019, arXiv
// 1812.04606); see loss.Uniform.
type OE struct{ Outliers }

func (OE) Name() string   { return "oe" }
func (m OE) Needs() Needs { return m.Outliers.needs() }
func (m OE) Check() error { return m.Outliers.check() }

func (m OE) Loss(b *Batch) []loss.Term {
	return m.terms(b, "uniform", func(out *More) *graph.Node { return loss.Uniform(out.Logits) })
}
