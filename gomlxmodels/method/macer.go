package method

import (
	"fmt"

	"github.com/certspec/certspec/gomlxmodels/loss"
)

// macer maximises the certified radius (Zhai et al. 2020); see loss.MACER.
type macer struct {
	Noises int     `json:"noises" usage:"noise samples of an image"`
	Lambda float64 `json:"lambda" usage:"weight of the radius"`
	Gamma  float64 `json:"gamma" usage:"radius over σ beyond which an image counts no more"`
	Beta   float64 `json:"beta" usage:"inverse temperature of the softmax in the radius"`
}

func (macer) Name() string   { return "macer" }
func (m macer) Needs() Needs { return Needs{Views: 1, Noises: m.Noises} }

func (m macer) Check() error {
	if m.Beta == 0 {
		return fmt.Errorf("beta is 0; expected more")
	}
	return weights("lambda", m.Lambda, "gamma", m.Gamma, "beta", m.Beta)
}

func (m macer) Loss(b *Batch) []loss.Term {
	return loss.MACER(b.ByCopy(), b.Labels, b.Sigma, m.Lambda, m.Gamma, m.Beta)
}
