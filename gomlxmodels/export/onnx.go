// Package export writes trained networks in the formats of other programs.
package export

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/onnxfile"
)

// Names in the files that ONNX writes.
const (
	InputName  = "image"  // float32 [batch, channels, height, width], in [0, 1]
	OutputName = "logits" // float32 [batch, classes]

	CardKey  = "certspec_card"  // metadata: the card of the model file, in JSON
	InputKey = "certspec_input" // metadata: onnxmodel.Card, in JSON
)

// ONNX writes a model as an ONNX file, for every program that reads that format; see Encode.
func ONNX(m *modelfile.Model, path string) error {
	data, err := Encode(m)
	if err != nil {
		return fmt.Errorf("export: %s: %w", path, err)
	}
	if err := modelfile.WriteFile(path, data); err != nil {
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
func Encode(m *modelfile.Model) ([]byte, error) {
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
	dim := func(sides ...int) []onnxfile.Dim {
		dims := []onnxfile.Dim{{Name: "batch"}}
		for _, s := range sides {
			dims = append(dims, onnxfile.Dim{Size: int64(s)})
		}
		return dims
	}
	b.graph.Name = a.Name
	b.graph.Inputs = []onnxfile.Value{{Name: InputName, Type: onnxfile.Float32, Dims: dim(a.Shape.Channels, a.Shape.Height, a.Shape.Width)}}
	b.graph.Outputs = []onnxfile.Value{{Name: OutputName, Type: onnxfile.Float32, Dims: dim(a.Classes)}}
	return onnxfile.Encode(&onnxfile.Model{
		IRVersion: onnxfile.IRVersion,
		Producer:  "certspec", ProducerVersion: m.Card.Program,
		Opsets:   []onnxfile.OperatorSet{{Version: onnxfile.Opset}},
		Graph:    b.graph,
		Metadata: []onnxfile.Property{{Key: InputKey, Value: string(input)}, {Key: CardKey, Value: string(card)}},
	}), nil
}

// network builds the graph of an architecture. Its structure is that of package nets, read
// off the names of the tensors; the tests hold the two together.
func (b *builder) network(a nets.Architecture) {
	x := b.input(a)
	switch {
	case a.Name == nets.SmallCNN:
		for i, name := range []string{"1", "2", "3"} {
			x = b.relu(b.convNorm("conv"+name, "bn"+name, x, min(i+1, 2)))
		}
		shape := a.Shape
		for range 2 {
			shape.Height, shape.Width = (shape.Height+1)/2, (shape.Width+1)/2
		}
		x = b.node("Flatten", "flat", []string{x})
		b.dense("head", x, shape.Height*shape.Width)
	case a.Name == nets.PreActResNet18:
		x = b.conv("conv", x, 1)
		for _, block := range b.blocks() {
			x = b.preActivation(block, x, stride(block))
		}
		x = b.relu(b.affine("bn", x))
		x = b.node("GlobalAveragePool", "pool", []string{x})
		x = b.node("Flatten", "flat", []string{x})
		b.dense("head", x, 1)
	case a.Name == nets.ResNet50:
		x = b.maxPool("maximum", b.relu(b.convNorm("conv", "bn", x, 2)))
		for _, block := range b.blocks() {
			x = b.bottleneck(block, x, stride(block))
		}
		x = b.node("GlobalAveragePool", "pool", []string{x})
		x = b.node("Flatten", "flat", []string{x})
		b.dense("head", x, 1)
	case b.has("stage1/block0/conv1/kernel"):
		x = b.relu(b.convNorm("conv", "bn", x, 1))
		for _, block := range b.blocks() {
			x = b.residual(block, x, stride(block))
		}
		x = b.node("GlobalAveragePool", "pool", []string{x})
		x = b.node("Flatten", "flat", []string{x})
		b.dense("head", x, 1)
	default:
		panic("export: no form of network " + a.Name)
	}
}

// stride of a block: the first one of a stage halves the size, but for the first stage.
func stride(block string) int {
	if strings.HasSuffix(block, "/block0") && block != "stage1/block0" {
		return 2
	}
	return 1
}

// blocks are the residual blocks in the order of the forward pass.
func (b *builder) blocks() []string {
	var blocks []string
	for _, t := range b.order {
		if block, found := strings.CutSuffix(t, "/conv1/kernel"); found {
			blocks = append(blocks, block)
		}
	}
	return slices.Compact(blocks)
}

func (b *builder) residual(name, x string, stride int) string {
	h := b.relu(b.convNorm(name+"/conv1", name+"/bn1", x, stride))
	h = b.convNorm(name+"/conv2", name+"/bn2", h, 1)
	if b.has(name + "/shortcut/conv/kernel") {
		x = b.convNorm(name+"/shortcut/conv", name+"/shortcut/bn", x, stride)
	}
	return b.relu(b.node("Add", name+"/sum", []string{h, x}))
}

func (b *builder) bottleneck(name, x string, stride int) string {
	h := b.relu(b.convNorm(name+"/conv1", name+"/bn1", x, 1))
	h = b.relu(b.convNorm(name+"/conv2", name+"/bn2", h, stride))
	h = b.convNorm(name+"/conv3", name+"/bn3", h, 1)
	if b.has(name + "/shortcut/conv/kernel") {
		x = b.convNorm(name+"/shortcut/conv", name+"/shortcut/bn", x, stride)
	}
	return b.relu(b.node("Add", name+"/sum", []string{h, x}))
}

// preActivation has its normalisations before its convolutions. The second is folded into the first convolution.
func (b *builder) preActivation(name, x string, stride int) string {
	h := b.relu(b.affine(name+"/bn1", x))
	if b.has(name + "/shortcut/conv/kernel") {
		x = b.conv(name+"/shortcut/conv", h, stride)
	}
	h = b.relu(b.convNorm(name+"/conv1", name+"/bn2", h, stride))
	return b.node("Add", name+"/sum", []string{b.conv(name+"/conv2", h, 1), x})
}
