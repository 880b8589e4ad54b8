package engine

import (
	"cmp"
	"fmt"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
)

// JoinDenoiser sets a denoiser before a classifier, and writes both as one ONNX file; see onnx.JoinDenoiser. The
// denoiser is that of a model which denoise trained, or an ONNX file; a σ of 0 is that of its training.
//
// Errors: a denoiser that does not say its σ, or of another σ; those of onnx.JoinDenoiser.
func JoinDenoiser(denoiser, classifier *Model, d onnx.Denoiser, path string) error {
	var err error
	if d.Source, err = denoiser.source(); err != nil {
		return err
	}
	f, err := classifier.source()
	if err != nil {
		return err
	}
	made := denoiser.DenoiserSigma()
	d.Sigma = cmp.Or(d.Sigma, made)
	switch {
	case d.Sigma == 0:
		return fmt.Errorf("engine: %s does not say for which noise it was made: give its σ", d.Path)
	case made != 0 && made != d.Sigma:
		return fmt.Errorf("engine: %s was made for noise of σ = %g, not %g", d.Path, made, d.Sigma)
	}
	seen, err := trainedOf(classifier, denoiser)
	if err != nil {
		return err
	}
	if err := onnx.JoinDenoiser(d, f, netparts.Denoised, seen, path); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	return nil
}

// DenoiserSigma is the σ of the noise that the model's denoiser was made for; 0 where it has none.
func (m *Model) DenoiserSigma() (sigma float64) {
	if card := m.exportedCard(); card != nil && card.Architecture.Denoiser > 0 {
		return card.Recipe.Noise()
	}
	m.property(onnx.DenoiserKey, &sigma)
	return sigma
}

// source is the model as an ONNX file.
func (m *Model) source() (onnx.Source, error) {
	if err := m.notIntegers(); err != nil {
		return onnx.Source{}, err
	}
	if m.card == nil {
		return onnx.Source{Path: m.path, Options: m.onnx}, nil
	}
	data, err := m.encoded()
	return onnx.Source{Path: m.name(), Contents: data}, err
}
