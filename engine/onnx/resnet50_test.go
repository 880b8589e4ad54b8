package onnx

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/pixel"
)

// resnet50 is the network of He et al. 2016, table 1, with random weights: 53 convolutions, whose normalisation is
// folded into them, and a dense layer of 1000 classes; 25.5 million weights, 102 MB.
type resnet50 struct {
	graph  onnxfile.Graph
	random *rand.Rand
}

func (r *resnet50) tensor(name string, inputs int64, dims ...int64) string {
	size := int64(1)
	for _, d := range dims {
		size *= d
	}
	values := make([]float32, size)
	for i := range values {
		values[i] = float32(r.random.NormFloat64() / math.Sqrt(float64(inputs)))
	}
	r.graph.Initializers = append(r.graph.Initializers, onnxfile.Float32Tensor(name, values, dims...))
	return name
}

func (r *resnet50) node(op, name string, inputs []string, attributes ...onnxfile.Attribute) string {
	r.graph.Nodes = append(r.graph.Nodes, onnxfile.Node{Op: op, Name: name, Inputs: inputs, Outputs: []string{name}, Attributes: attributes})
	return name
}

func window(size, stride int64) []onnxfile.Attribute {
	var attributes []onnxfile.Attribute
	pad := (size - 1) / 2
	for name, values := range map[string][]int64{"kernel_shape": {size, size}, "strides": {stride, stride}, "pads": {pad, pad, pad, pad}} {
		attributes = append(attributes, onnxfile.Attribute{Name: name, Kind: onnxfile.KindInts, Ints: values})
	}
	return attributes
}

func (r *resnet50) conv(name, x string, in, out, size, stride int64) string {
	weight := r.tensor(name+"/weight", in*size*size, out, in, size, size)
	bias := r.tensor(name+"/bias", 100, out)
	return r.node("Conv", name, []string{x, weight, bias}, window(size, stride)...)
}

func (r *resnet50) relu(x string) string { return r.node("Relu", x+"/relu", []string{x}) }

func (r *resnet50) model() *onnxfile.Model {
	x := r.relu(r.conv("conv1", "image", 3, 64, 7, 2))
	x = r.node("MaxPool", "pool", []string{x}, window(3, 2)...)
	in := int64(64)
	for stage, blocks := range []int{3, 4, 6, 3} {
		width := int64(64) << stage
		for block := range blocks {
			name := fmt.Sprintf("layer%d.%d", stage+1, block)
			stride := int64(1)
			if stage > 0 && block == 0 {
				stride = 2
			}
			y := r.relu(r.conv(name+".conv1", x, in, width, 1, 1))
			y = r.relu(r.conv(name+".conv2", y, width, width, 3, stride))
			y = r.conv(name+".conv3", y, width, 4*width, 1, 1)
			if block == 0 {
				x = r.conv(name+".downsample", x, in, 4*width, 1, stride)
			}
			x = r.relu(r.node("Add", name, []string{x, y}))
			in = 4 * width
		}
	}
	x = r.node("GlobalAveragePool", "mean", []string{x})
	x = r.node("Flatten", "flat", []string{x})
	r.node("Gemm", "logits", []string{x, r.tensor("fc/weight", in, in, 1000), r.tensor("fc/bias", 100, 1000)})
	batch := onnxfile.Dim{Name: "batch"}
	r.graph.Name = "resnet50"
	r.graph.Inputs = []onnxfile.Value{{Name: "image", Type: onnxfile.Float32, Dims: []onnxfile.Dim{batch, {Size: 3}, {Size: 224}, {Size: 224}}}}
	r.graph.Outputs = []onnxfile.Value{{Name: "logits", Type: onnxfile.Float32, Dims: []onnxfile.Dim{batch, {Size: 1000}}}}
	return &onnxfile.Model{IRVersion: onnxfile.IRVersion, Opsets: []onnxfile.OperatorSet{{Version: onnxfile.Opset}}, Graph: r.graph}
}

// BenchmarkOpen opens a file of the size of ResNet-50 and evaluates a first batch:
//
//	go test ./engine/onnx -run xxx -bench Open -benchtime 5x
//
// Images of 224×224 pixels take 4.1 billion multiply-adds each.
func BenchmarkOpen(b *testing.B) {
	needLibrary(b)
	path := write(b, (&resnet50{random: rand.New(rand.NewPCG(1, 2))}).model())
	info, err := os.Stat(path)
	if err != nil || info.Size() < 100e6 {
		b.Fatalf("a file of %d bytes, %v", info.Size(), err)
	}
	for _, n := range []int{1, 100} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("batch %d, threads %d", n, threads), func(b *testing.B) {
				batch := noisy(pixel.Shape{Height: 224, Width: 224, Channels: 3}, n)
				result := classifier.Result{Classes: make([]int32, n)}
				for b.Loop() {
					model, err := Open(path, Options{Threads: threads})
					if err != nil {
						b.Fatal(err)
					}
					if err := model.Classify(b.Context(), batch, &result); err != nil {
						b.Fatal(err)
					}
					model.Close()
				}
				for _, class := range result.Classes {
					if class == classifier.Miss {
						b.Fatal("an output is not finite")
					}
				}
			})
		}
	}
	b.Run("open alone", func(b *testing.B) {
		for b.Loop() {
			model, err := Open(path, Options{})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := model.Info(); err != nil {
				b.Fatal(err)
			}
			model.Close()
		}
	})
}
