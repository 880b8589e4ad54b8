package onnxfile

import (
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of a model that say who wrote it, and when and why: no result depends on them.
const (
	producerName    protowire.Number = 2
	producerVersion protowire.Number = 3
	domain          protowire.Number = 4
	modelVersion    protowire.Number = 5
	docString       protowire.Number = 6
	metadataProps   protowire.Number = 14
)

// WriteComputing writes the fields of an ONNX file that a result may depend on, as they stand in the file: all but the
// producer, the model's own domain and version, the description and the metadata. Within the graph, descriptions count.
func WriteComputing(w io.Writer, data []byte) error {
	return fields(data, func(f field) error {
		switch f.number {
		case producerName, producerVersion, domain, modelVersion, docString, metadataProps:
			return nil
		}
		_, err := w.Write(f.whole)
		return err
	})
}
