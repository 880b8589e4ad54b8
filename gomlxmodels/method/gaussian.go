package method

import "github.com/certspec/certspec/gomlxmodels/loss"

// gaussian minimises the cross-entropy of one noisy view (Cohen et al. 2019, arXiv 1902.02918).
type gaussian struct {
	Share Share `json:"share" usage:"which images of a batch get noise: all, half_exact or half_replace"`
}

func (gaussian) Name() string   { return "gaussian" }
func (m gaussian) Needs() Needs { return Needs{Views: 1, Noises: 1, Share: m.Share} }

func (gaussian) Loss(b *Batch) []loss.Term {
	return []loss.Term{{Name: "cross-entropy", Value: loss.CrossEntropy(b.Logits, b.Labels)}}
}
