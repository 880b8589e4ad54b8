package engine

import "github.com/certspec/certspec/engine/onnx"

// ClassNames are the model's names of its classes, nil where it has none. It loads an ONNX file.
func (m *Model) ClassNames() ([]string, error) {
	if m.card != nil {
		return m.card.Classes, nil
	}
	if m.whole() {
		n, err := m.load()
		if err != nil {
			return nil, err
		}
		return n.(*integerNetwork).record.Classes, nil
	}
	details, err := m.File()
	if details == nil {
		return nil, err
	}
	return details.ClassNames, nil
}

// onnxFile is an ONNX file on an engine.
type onnxFile interface{ Details() (onnx.Details, error) }

// File describes an ONNX file: what was found, assumed, or taken from options and card; nil for another
// model. It loads the file.
func (m *Model) File() (*onnx.Details, error) {
	if m.card != nil {
		return nil, nil
	}
	n, err := m.load()
	if err != nil {
		return nil, err
	}
	file, ok := n.(onnxFile)
	if !ok {
		return nil, nil
	}
	details, err := file.Details()
	if err != nil {
		return nil, err
	}
	return &details, nil
}
