package onnx

import (
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/onnxfile"
)

// A network that gives images has no logits, and is not taken for one of as many classes as pixels.
func TestFeedForwardWantsLogits(t *testing.T) {
	g := onnxfile.Graph{Name: "image to image"}
	dims := []onnxfile.Dim{{Name: "n"}, {Size: 1}, {Size: 4}, {Size: 5}}
	addNode(&g, "Relu", "y", []string{"x"})
	g.Inputs = []onnxfile.Value{{Name: "x", Type: onnxfile.Float32, Dims: dims}}
	g.Outputs = []onnxfile.Value{{Name: "y", Type: onnxfile.Float32, Dims: dims}}
	data := onnxfile.Encode(&onnxfile.Model{IRVersion: onnxfile.IRVersion, Opsets: []onnxfile.OperatorSet{{Version: onnxfile.Opset}}, Graph: g})
	if _, err := FeedForwardBytes("net.onnx", data, Options{}); err == nil || !strings.Contains(err.Error(), `output "y" is float32[n, 1, 4, 5]; expected one value per class`) {
		t.Error(err)
	}
}
