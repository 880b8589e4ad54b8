// Package export writes trained networks in the formats of other programs.
package export

import (
	"encoding/json"
	"fmt"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
	"github.com/certspec/certspec/internal/onnxfile"
)

// Names in the files that ONNX writes.
const (
	inputName  = "image"  // float32 [batch, channels, height, width], in [0, 1]
	outputName = "logits" // float32 [batch, classes]

	CardKey  = "certspec_card"  // metadata: the card of the model file, in JSON
	InputKey = "certspec_input" // metadata: onnx.Card, in JSON
)

// ONNX writes a model as an ONNX file, for every program that reads that format; see Encode.
func ONNX(m *modelfile.Model, path string) error {
	data, err := Encode(m)
	if err != nil {
		return fmt.Errorf("export: %s: %w", path, err)
	}
	if err := atomicfile.Write(path, data); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// Encode gives the contents of an ONNX file; equal models give equal bytes.
//
// The graph takes batches of any size, of images in [0, 1] with channels first; the input
// layer is inside. Batch normalisation is folded into the convolution before it: with
// f = scale/√(variance + 1e-5), its kernel becomes kernel·f and its bias shift − mean·f.
// Layout and class names, and the card with recipe and digests, stand in the metadata.
// A network with weights that are NaN or infinite is refused, as runtimes differ on them.
func Encode(m *modelfile.Model) ([]byte, error) { return encode(m, false) }

// Denoiser writes the denoiser of a model alone, as an ONNX file whose output are images.
func Denoiser(m *modelfile.Model, path string) error {
	if m.Card.Architecture.Denoiser == 0 {
		return fmt.Errorf("export: %s: the model has no denoiser", path)
	}
	data, err := encode(m, true)
	if err != nil {
		return fmt.Errorf("export: %s: %w", path, err)
	}
	return atomicfile.Write(path, data)
}

func encode(m *modelfile.Model, denoiser bool) ([]byte, error) {
	if n := m.NotFinite(); n > 0 {
		return nil, fmt.Errorf("%d weights are NaN or infinite", n)
	}
	a := m.Card.Architecture
	input, err := json.Marshal(struct {
		Layout     string   `json:"layout"`
		ClassNames []string `json:"class_names"`
	}{"NCHW", m.Card.Classes})
	if err != nil {
		return nil, err
	}
	card, err := json.Marshal(m.Card)
	if err != nil {
		return nil, err
	}
	b := newBuilder(m)
	b.network(a)
	if denoiser {
		b.graph.Keep(onnxfile.Value{Name: netparts.Denoised})
	}
	dim := func(sides ...int) []onnxfile.Dim {
		dims := []onnxfile.Dim{{Name: "batch"}}
		for _, s := range sides {
			dims = append(dims, onnxfile.Dim{Size: int64(s)})
		}
		return dims
	}
	b.graph.Name = a.Name
	b.graph.Inputs = []onnxfile.Value{{Name: inputName, Type: onnxfile.Float32, Dims: dim(a.Shape.Channels,
		a.Shape.Height, a.Shape.Width)}}
	if denoiser {
		b.graph.Outputs = []onnxfile.Value{{Name: netparts.Denoised, Type: onnxfile.Float32,
			Dims: b.graph.Inputs[0].Dims}}
	} else {
		b.graph.Outputs = []onnxfile.Value{{Name: outputName, Type: onnxfile.Float32, Dims: dim(a.Classes)}}
	}
	return onnxfile.Encode(&onnxfile.Model{
		IRVersion: onnxfile.IRVersion,
		Producer:  "certspec", ProducerVersion: m.Card.Program,
		Opsets:   []onnxfile.OperatorSet{{Version: onnxfile.Opset}},
		Graph:    b.graph,
		Metadata: []onnxfile.Property{{Key: InputKey, Value: string(input)}, {Key: CardKey, Value: string(card)}},
	}), nil
}

// network builds the graph out of the layers of the network.
func (b *builder) network(a nets.Architecture) {
	layers := a.Layers()
	users := make([]int, len(layers))
	for _, l := range layers {
		for _, in := range l.Inputs {
			users[in]++
		}
	}
	names := make([]string, len(layers)) // of what the layers give
	for i, l := range layers {
		var x string
		if len(l.Inputs) > 0 {
			x = names[l.Inputs[0]]
		}
		switch l.Kind {
		case netparts.Images:
			if x = inputName; a.Denoiser == 0 {
				x = b.normalized(a, x)
			}
		case netparts.Normalize:
			x = b.normalized(a, x)
		case netparts.Unfold:
			x = b.node("DepthToSpace", l.Name, []string{x}, onnxfile.IntAttribute("blocksize", 2))
		case netparts.Conv:
			// The normalisation of what nobody else takes is folded into the convolution.
			if norm := i + 1; users[i] == 1 && layers[norm].Kind == netparts.Norm && layers[norm].Inputs[0] == i {
				factors, biases := b.factors(layers[norm].Name)
				x = b.folded(l, x, factors, biases)
			} else {
				x = b.folded(l, x, ones(l.Shape.Channels), make([]float64, l.Shape.Channels))
			}
		case netparts.Norm:
			if in := l.Inputs[0]; in != i-1 || users[in] != 1 || layers[in].Kind != netparts.Conv {
				x = b.affine(l, x)
			}
		case netparts.ReLU:
			x = b.node("Relu", x+"/relu", []string{x})
		case netparts.Add:
			x = b.node("Add", l.Name, []string{x, names[l.Inputs[1]]})
		case netparts.MaxPool:
			x = b.maximum(l, x, layers[l.Inputs[0]].Shape)
		case netparts.MeanPool:
			x = b.node("GlobalAveragePool", l.Name, []string{x})
			x = b.flatten(x)
		case netparts.Dense:
			in := layers[l.Inputs[0]]
			if !in.Flat {
				x = b.flatten(x)
			}
			x = b.dense(l, x, in.Shape.Height*in.Shape.Width)
		case netparts.Halve:
			x = b.node("AveragePool", l.Name, []string{x}, ints("kernel_shape", 2, 2), ints("strides", 2, 2))
		case netparts.Mixture:
			x = b.mixture(l.Name, b.flatten(x), layers[l.Inputs[0]].Shape)
		case netparts.Join:
			x = b.join(l.Name, x, names[l.Inputs[1]], l.Shape.Channels, a.Shift)
		default:
			panic("export: no form of a layer " + string(l.Kind))
		}
		names[i] = x
	}
	// The last node gives the logits.
	b.graph.Nodes[len(b.graph.Nodes)-1].Outputs = []string{outputName}
}

func ones(n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = 1
	}
	return all
}
