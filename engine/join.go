package engine

import (
	"encoding/json"
	"fmt"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
	"github.com/certspec/certspec/rs/ledger"
)

// trainedKey is the metadata of a joined file: the sets that its parts learned from, ledger.Data in JSON.
const trainedKey = "certspec_trained"

// Join sets the discriminator of a network that prood trained, or a network with one output, beside
// any classifier, and writes both as one ONNX file; see onnx.Join. A nil shift stands for the shift of the
// discriminator's own posterior, or 0.
func Join(classifier, discriminator *Model, shift *float64, path string) error {
	var sources [2]onnx.Source
	for i, m := range []*Model{classifier, discriminator} {
		var err error
		if sources[i], err = m.source(); err != nil {
			return err
		}
	}
	if shift == nil {
		shift = new(float64)
		if card := discriminator.exportedCard(); card != nil {
			*shift = card.Architecture.Shift
		}
	}
	seen, err := trainedOf(classifier, discriminator)
	if err != nil {
		return err
	}
	if err := onnx.Join(sources[0], sources[1], netparts.DiscriminatorHead, *shift, seen, path); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	return nil
}

// trainedOf is the metadata of a joined file.
func trainedOf(parts ...*Model) (map[string]string, error) {
	var seen []ledger.Data
	for _, m := range parts {
		seen = append(seen, m.Trained()...)
	}
	if len(seen) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(seen)
	return map[string]string{trainedKey: string(text)}, err
}

// exportedCard is the card of a model file, or that in an ONNX file which export wrote; else nil.
func (m *Model) exportedCard() *modelfile.Card {
	if m.card != nil {
		return m.card
	}
	var card modelfile.Card
	if !m.property(export.CardKey, &card) {
		return nil
	}
	return &card
}

// joinedFrom are the sets that the parts of a joined file learned from.
func (m *Model) joinedFrom() (sets []ledger.Data) {
	m.property(trainedKey, &sets)
	return sets
}

// property reads a property of an ONNX file's metadata, in JSON, where it is there.
func (m *Model) property(key string, v any) bool {
	if m.card != nil || m.whole() {
		return false
	}
	found, err := onnx.Metadata(m.path, m.onnx)
	if err != nil {
		return false // which those say that read the network
	}
	text, ok := found[key]
	return ok && json.Unmarshal([]byte(text), v) == nil
}
