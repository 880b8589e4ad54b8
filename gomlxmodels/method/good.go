package method

import (
	"fmt"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/internal/gomlxmodels/outlierloss"
)

// good makes the confidence in whole balls around out-images provably low (Bitterwolf, Meinke and
// Hein 2020, arXiv 2007.08473, equation 10). With v_j = max_kl U_kl(x_j, ε) the widest bound of an
// out-image, m = ⌊M·quantile/100⌋, and L(v) = log(1 + v²/2),
//
//	(1/N) Σ_i CE(x_i, y_i) + (κ/M) Σ_{m smallest v_j} L(v_j) + (κ/M) Σ_{others} L(max_k f_k(x_j) − min_k f_k(x_j)).
//
// The images with the largest bounds, which are perhaps like those of the classes, count by their logits alone. Of
// equal bounds the first ones are the smaller. The order is that at the ε of the epoch.
type good struct {
	Quantile int `json:"quantile" usage:"percent of the out-images whose bound is in the loss, those with the smallest"`
	outlierOptions
	ballOptions
	Clip bool `json:"clip" usage:"bounds over the ball within [0, 1], as in evaluation; else over all of it"`
}

func (good) Name() string { return "good" }

func (m good) Needs() Needs {
	n := m.ballOptions.needs(m.outlierOptions.needs())
	n.Sets[0].Later = true // most images count by their bound alone
	return n
}

func (m good) Check() error {
	if m.Quantile < 0 || m.Quantile > 100 {
		return fmt.Errorf("quantile is %d; expected a percentage, 0 to 100", m.Quantile)
	}
	if err := m.ballOptions.check(); err != nil {
		return err
	}
	return m.outlierOptions.check()
}

func (m good) Loss(b *Batch) []loss.Term {
	out := b.More[outSet]
	images := out.Images.Shape().Dimensions[0]
	certified := images * m.Quantile / 100
	kappa := b.Number(kappaRamp)
	terms := []loss.Term{{Name: inLoss, Value: loss.CrossEntropy(b.Logits, b.Labels)}}
	order := Iota(kappa.Graph(), shapes.Make(kappa.DType(), images), 0)
	if certified > 0 {
		v := outlierloss.Widest(b.Differences(out.Images, b.Number(epsilonRamp), m.Clip))
		terms = append(terms, loss.Term{Name: "bound", Value: Mul(kappa, outlierloss.Share(outlierloss.UpperBound(v),
			outlierloss.Smallest(v, certified)))})
		order = v
	}
	if certified < images {
		logits := out.Logits
		if logits == nil {
			logits = b.Forward(outlierloss.Others(out.Images, order, certified))
		} else {
			logits = outlierloss.Others(logits, order, certified)
		}
		point := MulScalar(ReduceAllSum(outlierloss.UpperBound(outlierloss.Span(logits))), 1/float64(images))
		terms = append(terms, loss.Term{Name: "point", Value: Mul(kappa, point)})
	}
	return terms
}
