package method

import (
	"errors"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/gomlxmodels/loss"
)

// denoise trains a denoiser D in front of a network f that stays as it is (Salman et al. 2020, arXiv 2003.01908). With
// noisy images x + δ of n values,
//
//	squares·mean ‖D(x + δ) − x‖²/n + labels·CE(f(D(x + δ)), y).
//
// Begin with labels = 0, and go on from that model with both terms. Labels alone destroy the denoiser.
type denoise struct {
	Channels int     `json:"channels" usage:"channels of the denoiser at full size; twice and four times as many below"`
	Labels   float64 `json:"labels" usage:"weight of the cross-entropy of the network behind; 0 to begin with"`
	Squares  float64 `json:"squares" usage:"weight of the mean squared error of the denoised images"`
}

func (denoise) Name() string { return "denoise" }

func (m denoise) Needs() Needs {
	return Needs{Views: 1, Noises: 1, Denoiser: m.Channels, Blind: m.Labels == 0}
}

// Check refuses a denoiser without channels or without a loss.
func (m denoise) Check() error {
	if m.Channels < 1 || m.Squares == 0 {
		return errors.New("channels and squares must be more than 0: without the squared error, labels destroy the " +
			"denoiser")
	}
	return weights("labels", m.Labels, "squares", m.Squares)
}

func (m denoise) Loss(b *Batch) []loss.Term {
	apart := Sub(b.Denoised, b.Clean)
	terms := []loss.Term{{Name: "squares", Value: MulScalar(ReduceAllMean(Mul(apart, apart)), m.Squares)}}
	if m.Labels > 0 {
		terms = append(terms, loss.Term{Name: "labels", Value: MulScalar(loss.CrossEntropy(b.Logits, b.Labels),
			m.Labels)})
	}
	return terms
}
