package feedforward

import (
	"errors"
	"testing"

	"github.com/certspec/certspec/internal/onnxfile"
)

// What only other outputs need is not read: a network that was trained with a second head is bounded by its first one. Of a node that the output
// needs, the operator is refused.
func TestOtherOutputsAreNotRead(t *testing.T) {
	dims := []onnxfile.Dim{{Name: "n"}, {Size: 2}}
	graph := onnxfile.Graph{
		Inputs:       []onnxfile.Value{{Name: "x", Type: onnxfile.Float32, Dims: dims}},
		Initializers: []onnxfile.Tensor{onnxfile.Float32Tensor("w", []float32{1, 2, 3, 4}, 2, 2)},
		Nodes: []onnxfile.Node{
			{Op: "Gelu", Inputs: []string{"x"}, Outputs: []string{"g"}},
			{Op: "MatMul", Inputs: []string{"x", "w"}, Outputs: []string{"y"}},
			{Op: "Erf", Inputs: []string{"y", ""}, Outputs: []string{"z"}},
		},
	}
	for output, op := range map[string]string{"y": "", "z": "Erf", "g": "Gelu"} {
		graph.Outputs = []onnxfile.Value{{Name: output, Type: onnxfile.Float32, Dims: dims}}
		n, err := FromONNX("net.onnx", &onnxfile.Model{IRVersion: onnxfile.IRVersion, Opsets: []onnxfile.OperatorSet{{Version: onnxfile.Opset}}, Graph: graph}, nil)
		var refused *OperatorError
		if op != "" {
			if !errors.As(err, &refused) || refused.Op != op {
				t.Errorf("%s: %v; expected an error on %s", output, err, op)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if y, err := n.Forward([]float64{1, 10}); err != nil || y[0] != 31 || y[1] != 42 {
			t.Errorf("%v, %v", y, err)
		}
	}
}
