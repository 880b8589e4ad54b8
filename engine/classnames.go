package engine

import "github.com/certspec/certspec/onnxmodel"

// ClassNames is what the model calls its classes, or nil where it does not say. It loads an ONNX file.
func (m *Model) ClassNames() ([]string, error) {
	if m.card != nil {
		return m.card.Classes, nil
	}
	n, err := m.load()
	if err != nil {
		return nil, err
	}
	file, ok := n.(*onnxmodel.Model)
	if !ok {
		return nil, nil
	}
	details, err := file.Details()
	return details.ClassNames, err
}
