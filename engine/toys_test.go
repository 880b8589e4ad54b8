package engine_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
)

var toyShape = pixel.Shape{Height: 1, Width: 1, Channels: 6}

const (
	step = 1.0 / pixel.Steps
	half = step / 2

	toySigma = 0.1 // at which toys are certified
)

// layer is rows·x + bias.
type layer struct {
	rows [][]float32
	bias []float32
}

// toy is a model with an answer in closed form, and the same as a network: layers[1] of the positive part of layers[0].
type toy struct {
	name     string
	closed   classifier.Toy
	layers   [2]layer
	distance func(image []uint8) (radius float64, class int) // of the boundary of the smoothed class, and that class
}

func value(image []uint8, i int) float64 { return float64(image[i]) / pixel.Steps }

var (
	linear = classifier.Linear{Shape: toyShape, Weights: []float64{1, -2, 1, 3, -1, -1}, Bias: -128*step - half}
	slab   = classifier.Slab{Shape: toyShape, Center: 128 * step, HalfWidth: 60*step + half}
	steps  = classifier.Step{Shape: toyShape, Thresholds: []float64{60*step + half, 110*step + half, 180*step + half}}
)

// both are the positive and the negative part of a row.
func both(bias float64, row ...float32) layer {
	negative := make([]float32, len(row))
	for i, v := range row {
		negative[i] = -v
	}
	return layer{[][]float32{row, negative}, []float32{float32(bias), float32(-bias)}}
}

var toys = []toy{
	{
		name:     "constant",
		closed:   classifier.Constant{Shape: toyShape, Classes: 3, Class: 1},
		layers:   [2]layer{both(0, 1, 1, 1, 1, 1, 1), {[][]float32{{0, 0}, {0, 0}, {0, 0}}, []float32{0, 1, 0}}},
		distance: func([]uint8) (float64, int) { return math.Inf(1), 1 },
	},
	{
		name:   "linear",
		closed: linear,
		layers: [2]layer{both(linear.Bias, 1, -2, 1, 3, -1, -1), {[][]float32{{0, 0}, {1, -1}}, []float32{0, 0}}},
		distance: func(image []uint8) (float64, int) {
			sum := linear.Bias
			for i, w := range linear.Weights {
				sum += w * value(image, i)
			}
			if sum > 0 {
				return sum / math.Sqrt(17), 1 // ‖w‖² = 1+4+1+9+1+1
			}
			return -sum / math.Sqrt(17), 0
		},
	},
	{
		// Class 1 where h − relu(z − c) − relu(c − z) > 0. Its probability falls with the distance from c, and is ½ at the boundary.
		name:   "slab",
		closed: slab,
		layers: [2]layer{both(-slab.Center, 1, 0, 0, 0, 0, 0), {[][]float32{{0, 0}, {-1, -1}}, []float32{0, float32(slab.HalfWidth)}}},
		distance: func(image []uint8) (float64, int) {
			likely := func(distance float64) bool {
				phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
				return phi((slab.HalfWidth-distance)/toySigma)-phi((-slab.HalfWidth-distance)/toySigma) > 0.5
			}
			low, high := 0.0, 1.0
			for range 60 {
				if middle := (low + high) / 2; likely(middle) {
					low = middle
				} else {
					high = middle
				}
			}
			off := math.Abs(value(image, 0) - slab.Center)
			if off < low {
				return low - off, 1
			}
			return off - low, 0
		},
	},
	{
		// logit_c = c·z − t_1 − … − t_c, so that neighbours differ by z − t.
		name:   "step",
		closed: steps,
		layers: [2]layer{both(0, 1, 0, 0, 0, 0, 0), {[][]float32{{0, 0}, {1, -1}, {2, -2}, {3, -3}}, stepBias()}},
		distance: func(image []uint8) (float64, int) {
			p := steps.Probabilities(image, toySigma)
			class := 0
			for c := range p {
				if p[c] > p[class] {
					class = c
				}
			}
			if p[class] <= 0.5 {
				return 0, class // nothing may be certified
			}
			// p ≤ Φ(d/σ), with d the distance to the nearest threshold of the class.
			z := value(image, 0)
			switch class {
			case 0:
				return steps.Thresholds[0] - z, class
			case 3:
				return z - steps.Thresholds[2], class
			}
			return math.Min(z-steps.Thresholds[class-1], steps.Thresholds[class]-z), class
		},
	},
}

func stepBias() []float32 {
	t := steps.Thresholds
	return []float32{0, float32(-t[0]), float32(-t[0] - t[1]), float32(-t[0] - t[1] - t[2])}
}

// write makes a model file of the toy and returns its path: a small CNN on one pixel of six channels, whose first convolution and
// head hold the layers, while the others hand the positive values on.
func (m toy) write(t *testing.T) string {
	t.Helper()
	info, err := m.closed.Info()
	if err != nil {
		t.Fatal(err)
	}
	file := &modelfile.Model{Card: modelfile.Card{
		Architecture: nets.Architecture{Name: "small-cnn", Shape: toyShape, Classes: info.Classes},
		Classes:      []string{"a", "b", "c", "d"}[:info.Classes],
	}}
	for _, described := range file.Card.Architecture.Tensors() {
		values := make([]float32, described.Size())
		out := described.Shape[len(described.Shape)-1]
		// The middle of a kernel of 3×3 is all that one pixel sees; a dense kernel has one row per input.
		at := func(in, to int) *float32 {
			middle := 0
			if len(described.Shape) == 4 {
				middle = 4 * described.Shape[2] * out
			}
			return &values[middle+in*out+to]
		}
		switch described.Name {
		case "conv1/kernel":
			for to, row := range m.layers[0].rows {
				for in, v := range row {
					*at(in, to) = v
				}
			}
		case "conv2/kernel", "conv3/kernel":
			for i := range m.layers[0].rows {
				*at(i, i) = 1
			}
		case "bn1/shift":
			copy(values, m.layers[0].bias)
		case "bn1/scale", "bn2/scale", "bn3/scale":
			for i := range values {
				values[i] = float32(math.Sqrt(1 + netparts.NormEpsilon)) // 1 with the variance below
			}
		case "bn1/variance", "bn2/variance", "bn3/variance":
			for i := range values {
				values[i] = 1
			}
		case "head/kernel":
			for to, row := range m.layers[1].rows {
				for in, v := range row {
					*at(in, to) = v
				}
			}
		case "head/bias":
			copy(values, m.layers[1].bias)
		}
		file.Weights = append(file.Weights, modelfile.Tensor{Name: described.Name, Shape: described.Shape, Values: values})
	}
	path := filepath.Join(t.TempDir(), m.name)
	if err := modelfile.Write(path, file); err != nil {
		t.Fatal(err)
	}
	return path
}

// withNaN writes the last value of the last tensor of an ONNX file, a bias of the head, as NaN.
func withNaN(t *testing.T, path string) string {
	t.Helper()
	data := testkit.Read(t, path)
	m, err := onnxfile.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Graph.Initializers {
		if tensor := &m.Graph.Initializers[i]; len(tensor.Dims) == 1 && tensor.Dims[0] == 4 && tensor.Type == onnxfile.Float32 {
			copy(tensor.Raw[len(tensor.Raw)-4:], []byte{0, 0, 0xc0, 0x7f})
			path = filepath.Join(t.TempDir(), "nan.onnx")
			testkit.Write(t, onnxfile.Encode(m), path)
			return path
		}
	}
	t.Fatal("no bias of four values in the file")
	return ""
}
