package method

import "github.com/certspec/certspec/gomlxmodels/loss"

// plain minimises the cross-entropy of the images as they are, except for the recipe's σ: the
// network without other images.
type plain struct{}

func (plain) Name() string { return "plain" }
func (plain) Needs() Needs { return Needs{Views: 1, Noises: 1} }

func (plain) Loss(b *Batch) []loss.Term {
	return []loss.Term{{Name: inLoss, Value: loss.CrossEntropy(b.Logits, b.Labels)}}
}
