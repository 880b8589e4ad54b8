package engine

import (
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
)

// Export writes a trained model as an ONNX file, for every program that reads that format. Equal models give equal
// bytes.
func Export(m *modelfile.Model, path string) error { return export.ONNX(m, path) }
