package quantize

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/internal/intnet"
	"github.com/certspec/certspec/internal/onnxfile"
)

// ONNX writes an integer network in the operators of ONNX: between the entrance, which rounds 255
// times an image in [0, 1], channels first, and the scores, all is whole numbers, so runtimes and
// their optimisers cannot give another class. Weights are unsigned with a zero point of 128, as
// products of signed ones saturate on some processors.
//
// Scores are the logits below the greatest, in their unit: the class is exactly the integers'.
//
// Errors: pixels or weights that two bytes do not hold, a unit of logits that float32 does not.
func ONNX(n *intnet.Network) ([]byte, error) {
	if unit := n.LogitUnit(); unit < 0x1p-126 {
		return nil, fmt.Errorf("the unit of logits is %g; expected at least 2^−126, which float32 holds, as scores would "+
			"be equal below", unit)
	}
	w := &onnxWriter{network: n}
	at := w.op("Clip", []string{w.op("Round", []string{w.op("Mul", []string{"image", w.float(255)})}),
		w.float(float32(n.Low)), w.float(float32(n.High))})
	w.values = []string{w.cast(at, onnxfile.Int64)}
	for i := range n.Layers {
		name, err := w.layer(&n.Layers[i])
		if err != nil {
			return nil, fmt.Errorf("layer %d (%v) as ONNX: %w", i+1, n.Layers[i].Op, err)
		}
		w.values = append(w.values, name)
	}
	logits := w.values[len(n.Layers)]
	most := w.op("ReduceMax", []string{logits}, onnxfile.IntsAttribute("axes", 1), onnxfile.IntAttribute("keepdims", 1))
	below := w.cast(w.op("Sub", []string{logits, most}), onnxfile.Float32)
	w.graph.Nodes = append(w.graph.Nodes, onnxfile.Node{Op: "Mul", Inputs: []string{below,
		w.float(float32(n.LogitUnit()))}, Outputs: []string{"scores"}})
	w.graph.Inputs = []onnxfile.Value{{Name: "image", Type: onnxfile.Float32, Dims: []onnxfile.Dim{{Name: "n"},
		{Size: int64(n.Channels)}, {Size: int64(n.Height)}, {Size: int64(n.Width)}}}}
	w.graph.Outputs = []onnxfile.Value{{Name: "scores", Type: onnxfile.Float32, Dims: []onnxfile.Dim{{Name: "n"},
		{Size: int64(n.Classes())}}}}
	return onnxfile.Encode(&onnxfile.Model{IRVersion: onnxfile.IRVersion, Graph: w.graph,
		Opsets: []onnxfile.OperatorSet{{Version: 13}}}), nil
}

// onnxWriter collects nodes. Values are int64 where nothing else is said, bytes uint8.
type onnxWriter struct {
	network *intnet.Network
	graph   onnxfile.Graph
	values  []string
	names   int
}

func (w *onnxWriter) name() string {
	w.names++
	return fmt.Sprint("v", w.names)
}

func (w *onnxWriter) op(op string, inputs []string, attributes ...onnxfile.Attribute) string {
	name := w.name()
	w.graph.Nodes = append(w.graph.Nodes, onnxfile.Node{Op: op, Inputs: inputs, Outputs: []string{name},
		Attributes: attributes})
	return name
}

func constant[T onnxfile.Number](w *onnxWriter, values []T, dims ...int64) string {
	name := w.name()
	w.graph.Initializers = append(w.graph.Initializers, onnxfile.NewTensor(name, values, dims...))
	return name
}

func (w *onnxWriter) float(v float32) string { return constant(w, []float32{v}) }
func (w *onnxWriter) int(v int64) string     { return constant(w, []int64{v}) }

func (w *onnxWriter) cast(x string, to onnxfile.Type) string {
	return w.op("Cast", []string{x}, onnxfile.IntAttribute("to", int64(to)))
}

func (w *onnxWriter) add(x, y string) string         { return w.op("Add", []string{x, y}) }
func (w *onnxWriter) times(x string, v int64) string { return w.op("Mul", []string{x, w.int(v)}) }

// channels is a constant for each channel.
func channels[T int16 | int32](w *onnxWriter, values []T) string {
	out := make([]int64, len(values))
	for i, v := range values {
		out[i] = int64(v)
	}
	return constant(w, out, 1, int64(len(out)), 1, 1)
}

// down is x >> bits, rounded down: operators shift unsigned numbers alone.
func (w *onnxWriter) down(x string, bits int) string {
	const lift = 1 << 60
	lifted := w.cast(w.add(x, w.int(lift)), onnxfile.Uint64)
	shifted := w.op("BitShift", []string{lifted, constant(w, []uint64{uint64(bits)})},
		onnxfile.TextAttribute("direction", "RIGHT"))
	return w.op("Sub", []string{w.cast(shifted, onnxfile.Int64), w.int(lift >> bits)})
}

func (w *onnxWriter) clip(x string, low, high int64) string {
	return w.op("Max", []string{w.op("Min", []string{x, w.int(high)}), w.int(low)})
}

// scaled is x·m/2^15, rounded to nearest.
func (w *onnxWriter) scaled(x, m string) string {
	return w.down(w.add(w.op("Mul", []string{x, m}), w.int(1<<14)), 15)
}

func (w *onnxWriter) byte(x string) string { return w.cast(w.clip(x, 0, 255), onnxfile.Uint8) }

// sum ends a layer that adds.
func (w *onnxWriter) sum(a, b string, bits int) string {
	return w.byte(w.scaled(w.clip(w.add(a, b), -1<<15, 1<<15-1), w.int(1<<(15-bits))))
}

// addend is a value of bytes in the unit of a sum.
func (w *onnxWriter) addend(value int, factor int16) string {
	return w.scaled(w.times(w.cast(w.values[value], onnxfile.Int64), 128), w.int(int64(factor)))
}

func window(l *intnet.Layer) []onnxfile.Attribute {
	ints := func(values ...int) (out []int64) {
		for _, v := range values {
			out = append(out, int64(v))
		}
		return out
	}
	return []onnxfile.Attribute{onnxfile.IntsAttribute("kernel_shape", ints(l.Kernel[:]...)...),
		onnxfile.IntsAttribute("strides", ints(l.Stride[:]...)...), onnxfile.IntsAttribute("pads",
			ints(l.Pad[:]...)...)}
}

func (w *onnxWriter) layer(l *intnet.Layer) (string, error) {
	from := w.values[l.From[0]]
	switch l.Op {
	case intnet.Conv:
		s, err := w.sums(l, from)
		if err != nil {
			return "", err
		}
		a := w.scaled(w.clip(w.down(s, l.Shift), -1<<15, 1<<15-1), channels(w, l.Scale))
		switch {
		case l.Wide:
			return a, nil
		case l.Addend == 0:
			return w.byte(a), nil
		case len(l.Factor) == 0:
			return w.sum(a, w.values[l.Addend], l.Bits), nil
		}
		return w.sum(a, w.addend(l.Addend, l.Factor[0]), l.Bits), nil
	case intnet.Add:
		return w.sum(w.addend(l.From[0], l.Factor[0]), w.addend(l.From[1], l.Factor[1]), l.Bits), nil
	case intnet.MaxPool:
		return w.op("MaxPool", []string{from}, window(l)...), nil
	case intnet.SumPool:
		return w.op("ReduceSum", []string{w.cast(from, onnxfile.Int64), constant(w, []int64{2, 3}, 2)}), nil
	case intnet.Concat:
		var names []string
		for _, i := range l.From {
			names = append(names, w.values[i])
		}
		return w.op("Concat", names, onnxfile.IntAttribute("axis", 1)), nil
	}
	// channels last, as weights stand
	x := w.cast(w.op("Flatten", []string{w.op("Transpose", []string{from}, onnxfile.IntsAttribute("perm", 0, 2, 3,
		1))}),
		onnxfile.Int64)
	each := len(l.Weight) / l.Out
	weights, bias := make([]int64, len(l.Weight)), make([]int64, l.Out)
	for i, v := range l.Weight {
		weights[i%each*l.Out+i/each] = int64(v)
	}
	for i, v := range l.Bias {
		bias[i] = int64(v)
	}
	return w.add(w.op("MatMul", []string{x, constant(w, weights, int64(each), int64(l.Out))}),
		constant(w, bias, 1, int64(l.Out))), nil
}

// plane is a part of numbers in bytes, worth factor each, with the byte that is 0.
type plane struct {
	name   string
	factor int64
	zero   uint8
}

// sums are the sums of a convolution: products of bytes, of each plane of the inputs by each of the weights.
func (w *onnxWriter) sums(l *intnet.Layer, from string) (string, error) {
	n := w.network
	inputs, bias := []plane{{from, 1, 0}}, slices.Clone(l.Bias)
	kernel := l.Kernel[0] * l.Kernel[1]
	group := len(l.Weight) / l.Out / kernel // channels
	if l.From[0] == 0 {
		// The values beyond the edges become 0, and what that takes away goes into the bias.
		low := int64(n.Low) - int64(slices.Max(n.Border))
		lift := (-min(low, 0) + 255) / 256
		if (int64(n.High)-int64(slices.Min(n.Border)))/256+lift > 255 {
			return "", fmt.Errorf("pixels from %d to %d; expected at most 65,000 of them", n.Low, n.High)
		}
		x := w.op("Sub", []string{from, channels(w, n.Border)})
		high := w.down(x, 8)
		rest := w.op("Sub", []string{x, w.times(high, 256)})
		inputs = []plane{{w.cast(w.add(high, w.int(lift)), onnxfile.Uint8), 256, uint8(lift)},
			{w.cast(rest, onnxfile.Uint8), 1, 0}}
		for o := range bias {
			for i, v := range l.Weight[o*kernel*group : (o+1)*kernel*group] {
				bias[o] += int32(v) * int32(n.Border[o/(l.Out/l.Groups)*group+i%group])
			}
		}
	}
	weights, err := w.weights(l, kernel, group)
	if err != nil {
		return "", err
	}
	s := channels(w, bias)
	for _, x := range inputs {
		zero := constant(w, []uint8{x.zero})
		for _, y := range weights {
			part := w.op("ConvInteger", []string{x.name, y.name, zero, constant(w, []uint8{y.zero})},
				append(window(l), onnxfile.IntAttribute("group", int64(l.Groups)))...)
			s = w.add(s, w.times(w.cast(part, onnxfile.Int64), x.factor*y.factor))
		}
	}
	return s, nil
}

// weights are those within ±127 in one plane, others in two.
func (w *onnxWriter) weights(l *intnet.Layer, kernel, group int) ([]plane, error) {
	least, most := slices.Min(l.Weight), slices.Max(l.Weight)
	if least < -16000 || most > 16000 {
		return nil, fmt.Errorf("weights from %d to %d; expected −16000 to 16000", least, most)
	}
	high, low := make([]uint8, len(l.Weight)), make([]uint8, len(l.Weight))
	for i, v := range l.Weight {
		o, k, c := i/(kernel*group), i/group%kernel, i%group
		at, a := (o*group+c)*kernel+k, int16(0)
		if least < -128 || most > 127 {
			a = (v + 64) >> 7
		}
		high[at], low[at] = uint8(a+128), uint8(v-128*a+128)
	}
	dims := []int64{int64(l.Out), int64(group), int64(l.Kernel[0]), int64(l.Kernel[1])}
	planes := []plane{{constant(w, low, dims...), 1, 128}}
	if least < -128 || most > 127 {
		planes = append(planes, plane{constant(w, high, dims...), 128, 128})
	}
	return planes, nil
}
