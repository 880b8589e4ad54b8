package method

import (
	"github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/gomlxmodels/loss"
)

// CEDA lowers the log-confidence of out-images (Hein, Andriushchenko and Bitterwolf 2019, arXiv 1812.05720); see
// loss.LogConfidence.
type CEDA struct{ Outliers }

func (CEDA) Name() string   { return "ceda" }
func (m CEDA) Needs() Needs { return m.Outliers.needs() }
func (m CEDA) Check() error { return m.Outliers.check() }

func (m CEDA) Loss(b *Batch) []loss.Term {
	return m.terms(b, "confidence", func(out *More) *graph.Node { return loss.LogConfidence(out.Logits) })
}
