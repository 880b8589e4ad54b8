package method

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
	"github.com/certspec/certspec/internal/gomlxmodels/outlierloss"
)

// prood trains a classifier and, beside it, a discriminator h whose output is provably low around
// out-images (Meinke, Bitterwolf and Hein 2022, arXiv 2106.04260); see nets.ProoD. With h̄ the
// upper bound of h within ε, σ the logistic function, and p the joint posterior,
//
//	(1/N) Σ_i [CE(p(x_i), y_i) − log σ(h(x_i))] + (κ/M) Σ_j [L_uniform(p(z_j)) − log σ(−h̄(z_j, ε))].
//
// p has h + shift in place of h, in training and afterwards; the paper takes 3 on CIFAR-10, 1 on CIFAR-100 and 4 on
// ImageNet. While κ is 0 the discriminator learns from own images alone. That may kill its last ReLUs for good, so that
// it stays a constant. No gradient goes from p to h: the discriminator learns as if it were alone, and the classifier
// given it, in one run for their two.
type prood struct {
	outlierOptions
	ballOptions
	Clip  bool    `json:"clip" usage:"bounds over the ball within [0, 1], as in evaluation; else over all of it"`
	Shift float64 `json:"shift,omitempty" usage:"added to the discriminator; more costs less accuracy and guarantees less"`
}

func (prood) Name() string { return "prood" }

func (m prood) Needs() Needs {
	n := m.ballOptions.needs(m.outlierOptions.needs())
	n.Posterior, n.Shift = nets.ProoD, m.Shift
	return n
}

func (m prood) Check() error {
	if !(m.Shift >= netparts.LeastLogP && m.Shift <= -netparts.LeastLogP) {
		return fmt.Errorf("shift is %v; expected a number from %d to %d", m.Shift, netparts.LeastLogP, -netparts.LeastLogP)
	}
	if err := m.ballOptions.check(); err != nil {
		return err
	}
	return m.outlierOptions.check()
}

func (m prood) Loss(b *Batch) []loss.Term {
	out := b.More[outSet]
	_, in := b.Intervals(netparts.DiscriminatorHead, b.Rows, nil, false)
	_, above := b.Intervals(netparts.DiscriminatorHead, out.Images, b.Number(epsilonRamp), m.Clip)
	terms := m.terms(b, "uniform", func(out *More) *Node { return outlierloss.Uniform(out.Logits) })
	return append(terms,
		loss.Term{Name: "in", Value: ReduceAllMean(Softplus(Neg(in)))},
		loss.Term{Name: "bound", Value: Mul(b.Number(kappaRamp), ReduceAllMean(Softplus(above)))})
}
