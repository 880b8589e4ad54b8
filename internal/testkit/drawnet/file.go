package drawnet

import (
	"encoding/json"
	"fmt"

	"github.com/certspec/certspec/internal/onnxfile"
)

const boxKey = "box"

// Encode writes the network with its box as a file, which Decode reads.
func (n *Network) Encode() ([]byte, error) {
	box, err := json.Marshal([2][]float64{n.Lower, n.Upper})
	if err != nil {
		return nil, err
	}
	m := *n.Model
	m.Metadata = []onnxfile.Property{{Key: boxKey, Value: string(box)}}
	return onnxfile.Encode(&m), nil
}

// Decode reads a network that Encode wrote.
func Decode(data []byte) (*Network, error) {
	model, err := onnxfile.Decode(data)
	if err != nil {
		return nil, err
	}
	if len(model.Graph.Inputs) == 0 || len(model.Graph.Outputs) != 1 || len(model.Metadata) != 1 {
		return nil, fmt.Errorf("not a drawn network: %d inputs, %d outputs, %d properties",
			len(model.Graph.Inputs), len(model.Graph.Outputs), len(model.Metadata))
	}
	in := model.Graph.Inputs[0]
	n := &Network{Model: model, Type: in.Type, OpenBatch: in.Dims[0].Size == 0, Output: []int{1}}
	for _, d := range in.Dims[1:] {
		n.Input = append(n.Input, int(d.Size))
	}
	for _, d := range model.Graph.Outputs[0].Dims[min(1, len(model.Graph.Outputs[0].Dims)):] {
		n.Output = append(n.Output, int(d.Size))
	}
	var box [2][]float64
	if err := json.Unmarshal([]byte(model.Metadata[0].Value), &box); err != nil {
		return nil, err
	}
	n.Lower, n.Upper = box[0], box[1]
	if size := product(n.Input); len(n.Lower) != size || len(n.Upper) != size {
		return nil, fmt.Errorf("a box of %d and %d values for an input of %d", len(n.Lower), len(n.Upper), size)
	}
	return n, nil
}
