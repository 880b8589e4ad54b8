package method

import "github.com/certspec/certspec/gomlxmodels/loss"

// hcr is hierarchical consistency regularisation over views and noises (Sun et al. 2021); see
// loss.HCR.
type hcr struct {
	Views     int     `json:"views" usage:"the image itself and its augmented views"`
	Noises    int     `json:"noises" usage:"noise samples of a view"`
	Lambda    float64 `json:"lambda" usage:"weight of the divergence between views"`
	Eta       float64 `json:"eta" usage:"weight of the divergence between noises"`
	ReverseLG bool    `json:"reverse_lg" usage:"take the divergence between noises from the mean to the sample"`
}

func (hcr) Name() string   { return "hcr" }
func (m hcr) Needs() Needs { return Needs{Views: m.Views, Noises: m.Noises} }
func (m hcr) Check() error { return weights("lambda", m.Lambda, "eta", m.Eta) }

func (m hcr) Loss(b *Batch) []loss.Term {
	return loss.HCR(b.ByView(), b.Labels, m.Lambda, m.Eta, m.ReverseLG)
}
