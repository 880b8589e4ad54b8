package engine

import (
	"fmt"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/rs/ledger"
)

// Trained are the sets that the card says the model learned from, further ones of its method included: that of a
// model file, or what export and Join keep in an ONNX file; none of other files.
func (m *Model) Trained() (sets []ledger.Data) {
	if m.whole() {
		if n, err := m.load(); err == nil {
			for _, d := range n.(*integerNetwork).record.Trained {
				sets = append(sets, ledger.Data{Name: d.Name, Digest: d.Digest, Images: d.Images})
			}
		}
		return sets
	}
	card := m.exportedCard()
	if card == nil {
		return m.joinedFrom()
	}
	seen := []modelfile.Data{card.Train}
	for _, s := range card.Recipe.Sets {
		seen = append(seen, s.Data)
	}
	if card.Adaptation != nil {
		seen = append(seen, card.Adaptation.Data)
	}
	for _, d := range seen {
		sets = append(sets, ledger.Data{Name: d.Name, Digest: d.Digest, Images: d.Images})
	}
	return sets
}

// encoded is a model file as an ONNX file.
func (m *Model) encoded() ([]byte, error) {
	file, err := modelfile.Read(m.path)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	data, err := export.Encode(file)
	if err != nil {
		return nil, fmt.Errorf("engine: %s: %w", m.path, err)
	}
	return data, nil
}

// graph is the model as a graph of ONNX that may be changed, what its images are, and the digest of what computes
// in it.
func (m *Model) graph() (*onnxfile.Model, onnx.Card, string, error) {
	if err := m.notIntegers(); err != nil {
		return nil, onnx.Card{}, "", err
	}
	var data []byte
	if m.card != nil {
		var err error
		if data, err = m.encoded(); err != nil {
			return nil, onnx.Card{}, "", err
		}
	}
	whole, card, digest, err := onnx.Whole(m.path, data, m.onnx)
	if err != nil {
		return nil, card, "", fmt.Errorf("engine: %w", err)
	}
	g, err := onnxfile.Decode(whole)
	return g, card, digest, err
}
