package method

import "github.com/certspec/certspec/gomlxmodels/loss"

// consistency adds the regulariser of Jeong and Shin 2020 over several noises; see
// loss.Consistency.
type consistency struct {
	Noises int     `json:"noises" usage:"noise samples of an image"`
	Lambda float64 `json:"lambda" usage:"weight of the divergence from the mean prediction"`
	Eta    float64 `json:"eta" usage:"weight of the mean prediction's entropy"`
}

func (consistency) Name() string   { return "consistency" }
func (m consistency) Needs() Needs { return Needs{Views: 1, Noises: m.Noises} }
func (m consistency) Check() error { return weights("lambda", m.Lambda, "eta", m.Eta) }

func (m consistency) Loss(b *Batch) []loss.Term {
	return loss.Consistency(b.ByCopy(), b.Labels, m.Lambda, m.Eta)
}
