package method

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/internal/gomlxmodels/outlierloss"
)

// mixed weighs, for every out-image, outlier exposure under attack against the bound of GOOD, where
// GOOD splits the images. With z'_j the result of ACET's attack within ε of z_j, v_j = max_kl
// U_kl(z_j, ε), and L(v) = log(1 + v²/2),
//
//	(1/N) Σ_i CE(x_i, y_i) + (κ/M) Σ_j [(1 − α)·L_uniform(z'_j) + α·L(v_j)].
//
// At α = 0 it is ACET. At α = 1 it is GOOD with all images, and nothing is attacked. MTL-IBP also adds a loss at a
// point that is found and one on a bound, to train classifiers against attacks (De Palma et al. 2024, arXiv
// 2305.13991).
type mixed struct {
	Alpha float64 `json:"alpha" usage:"weight of the bound, 0 to 1; the loss at attacked points has the rest"`
	outlierOptions
	ballOptions
	Steps int  `json:"steps" usage:"steps of the attack on out-images"`
	Clip  bool `json:"clip" usage:"bounds over the ball within [0, 1], as in evaluation; else over all of it"`
}

func (mixed) Name() string { return "mixed" }

func (m mixed) Needs() Needs {
	n := m.ballOptions.needs(m.outlierOptions.needs())
	set := &n.Sets[0]
	if m.Alpha == 1 {
		set.Later = true // images count by their bound alone
		return n
	}
	set.Attack = &loss.Ascent{Steps: m.Steps, Loss: outlierloss.Uniform}
	set.Epsilon, set.Clean = epsilonRamp, m.Alpha > 0
	return n
}

func (m mixed) Check() error {
	if !(m.Alpha >= 0 && m.Alpha <= 1) {
		return fmt.Errorf("alpha is %v; expected a number from 0 to 1", m.Alpha)
	}
	return acet{m.outlierOptions, m.ballOptions, m.Steps}.Check()
}

func (m mixed) Loss(b *Batch) []loss.Term {
	out, kappa := b.More[outSet], b.Number(kappaRamp)
	terms := []loss.Term{{Name: inLoss, Value: loss.CrossEntropy(b.Logits, b.Labels)}}
	add := func(name string, weight float64, values *Node) {
		terms = append(terms, loss.Term{Name: name, Value: Mul(kappa, MulScalar(ReduceAllMean(values), weight))})
	}
	if m.Alpha < 1 {
		add("uniform", 1-m.Alpha, outlierloss.Uniform(out.Logits))
	}
	if m.Alpha > 0 {
		images := out.Images
		if out.Clean != nil {
			images = out.Clean
		}
		widest := outlierloss.Widest(b.Differences(images, b.Number(epsilonRamp), m.Clip))
		add("bound", m.Alpha, outlierloss.UpperBound(widest))
	}
	return terms
}
