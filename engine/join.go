package engine

import (
	"encoding/json"
	"fmt"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/rs/ledger"
)

// trainedKey is the metadata of a joined file: the sets that its parts learned from, ledger.Data in JSON.
const trainedKey = "certspec_trained"

// Join sets the discriminator of a network that prood trained, or a network with one output, beside
// any classifier, and writes both as one ONNX file; see onnx.Join. A nil shift is that of the
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
	joined, err := onnx.Join(sources[0], sources[1], netparts.DiscriminatorHead, *shift)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	if seen := append(classifier.Trained(), discriminator.Trained()...); len(seen) > 0 {
		text, err := json.Marshal(seen)
		if err != nil {
			return err
		}
		joined.Metadata = append(joined.Metadata, onnxfile.Property{Key: trainedKey, Value: string(text)})
	}
	return atomicfile.Write(path, onnxfile.Encode(joined))
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
	file, _, _, err := onnx.Graph(m.path, nil, m.onnx)
	if err != nil {
		return false // which those say that read the network
	}
	for _, p := range file.Metadata {
		if p.Key == key {
			return json.Unmarshal([]byte(p.Value), v) == nil
		}
	}
	return false
}
