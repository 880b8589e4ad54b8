package method

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/internal/gomlxmodels/outlierloss"
)

// acet is outlier exposure on out-images that were disturbed within ε to be far from uniform (Hein,
// Andriushchenko and Bitterwolf 2019; Bitterwolf et al. 2020, equation 11). Steps of 2ε/(steps + 1)
// go along the sign of the gradient of OE's loss, from the image. The point of the highest loss
// counts, the last one included.
type acet struct {
	outlierOptions
	ballOptions
	Steps int `json:"steps" usage:"steps of the attack on out-images"`
}

func (acet) Name() string { return "acet" }

func (m acet) Needs() Needs {
	n := m.ballOptions.needs(m.outlierOptions.needs())
	n.Sets[0].Attack = &loss.Ascent{Steps: m.Steps, Loss: outlierloss.Uniform}
	n.Sets[0].Epsilon = epsilonRamp
	return n
}

func (m acet) Check() error {
	if m.Steps < 1 {
		return fmt.Errorf("%d steps; expected at least 1", m.Steps)
	}
	if err := m.ballOptions.check(); err != nil {
		return err
	}
	return m.outlierOptions.check()
}

func (m acet) Loss(b *Batch) []loss.Term {
	return m.terms(b, "uniform", func(out *More) *graph.Node { return outlierloss.Uniform(out.Logits) })
}
