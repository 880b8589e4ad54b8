package method

import (
	"github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/internal/gomlxmodels/outlierloss"
)

// ceda lowers the log-confidence max_k log p_k of out-images (Hein, Andriushchenko and Bitterwolf
// 2019, arXiv 1812.05720).
type ceda struct{ outlierOptions }

func (ceda) Name() string   { return "ceda" }
func (m ceda) Needs() Needs { return m.outlierOptions.needs() }
func (m ceda) Check() error { return m.outlierOptions.check() }

func (m ceda) Loss(b *Batch) []loss.Term {
	return m.terms(b, "confidence", func(out *More) *graph.Node { return outlierloss.LogConfidence(out.Logits) })
}
