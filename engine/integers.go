package engine

import (
	"encoding/json"
	"fmt"

	"github.com/certspec/certspec/internal/classifier/integers"
	"github.com/certspec/certspec/internal/feedforward/quantize"
	"github.com/certspec/certspec/internal/intnet"
	"github.com/certspec/certspec/internal/printable"
)

// integerNetwork is a file of certspec quantize --exact.
type integerNetwork struct {
	*integers.Classifier
	record quantize.ExactRecord
}

// openIntegers reads the file at once: it has no other part.
func (m *Model) openIntegers() (network, error) {
	kernel := m.choice
	if isOpen(kernel) || kernel == integers.Engine {
		kernel = ""
	}
	net, note, err := intnet.Read(m.path)
	if err != nil {
		return nil, err
	}
	n := &integerNetwork{}
	if len(note) > 0 {
		if err := json.Unmarshal(note, &n.record); err != nil {
			return nil, fmt.Errorf("%s: the text behind the integers: %w", m.path, err)
		}
	}
	program, err := net.Program(kernel)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	n.Classifier = integers.Of(program, m.name())
	return n, nil
}

func (n *integerNetwork) Close() error { return nil }

// String says what is claimed of: the integers, and how far they are from their source.
func (n *integerNetwork) String() string {
	text := fmt.Sprintf("%s: integer network on kernel %s", n.Name(), n.Kernel())
	if r := &n.record; r.Samples > 0 {
		text += fmt.Sprintf("; another class than its source on %s of %s noise samples of %s at sigma %g",
			printable.Count(r.OtherClass), printable.Count(r.Samples), r.Data, r.Sigma)
	}
	return text
}

// notIntegers refuses an integer network where layers in real numbers are needed.
func (m *Model) notIntegers() error {
	if !m.whole() {
		return nil
	}
	return fmt.Errorf("engine: %s is an integer network, which has no layers in real numbers; name the model that it "+
		"was made of", m.path)
}
