package method

import "github.com/certspec/certspec/gomlxmodels/loss"

// jsd adds the divergence of AugMix between the image and its augmented views; see loss.JSD.
type jsd struct {
	Views  int     `json:"views" usage:"the image itself and its augmented views"`
	Weight float64 `json:"weight" usage:"of the divergence"`
	Share  Share   `json:"share" usage:"which rows of a batch get noise: all, half_exact or half_replace"`
}

func (jsd) Name() string   { return "jsd" }
func (m jsd) Needs() Needs { return Needs{Views: m.Views, Noises: 1, Share: m.Share} }
func (m jsd) Check() error { return weights("weight", m.Weight) }

func (m jsd) Loss(b *Batch) []loss.Term { return loss.JSD(b.ByCopy(), b.Labels, m.Weight) }
