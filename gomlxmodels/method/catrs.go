package method

import (
	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/internal/gomlxmodels/perturb"
)

// catRS is confidence-aware training (Jeong, Kim and Shin 2023). If the network is unsure of an
// image under noise, it learns from the easiest noise samples alone; if it is sure, also from the
// worst noise near those drawn. See loss.CATRS and attack.Noises. ŷ, what is known of an image, are
// the soft labels of the run if it has some, else the label; the authors take the votes of 10,000
// noise samples of a network trained by Gaussian. The noise samples of the step say how sure the
// network is. The authors' option for ImageNet, which asks ŷ, is not here.
type catRS struct {
	Noises  int     `json:"noises" usage:"noise samples of an image"`
	Epsilon float64 `json:"epsilon" usage:"Euclidean budget of the attack on each noise sample, 1 = full range of a value"`
	Steps   int     `json:"steps" usage:"steps of the attack"`
	Lambda  float64 `json:"lambda" usage:"weight of the worst noise"`
}

func (catRS) Name() string   { return "cat-rs" }
func (m catRS) Check() error { return weights("lambda", m.Lambda) }
func (m catRS) Needs() Needs {
	return Needs{Views: 1, Noises: m.Noises, Shaken: &attack.Noises{Epsilon: m.Epsilon, Steps: m.Steps}, Again: true,
		Soft: true, Draws: m.Noises}
}

func (m catRS) Loss(b *Batch) []loss.Term {
	attacked := b.Forward(perturb.Noisy(b.Clean, b.Gamma))
	return loss.CATRS(b.ByCopy(), b.byCopy(attacked), b.Labels, b.Soft, b.Draws, m.Lambda)
}
