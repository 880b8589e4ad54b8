package feedforward

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/certspec/certspec/internal/feedforward/array"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/pixel"
)

// Images says how pixels enter the graph of an ONNX file. With it, a Network takes images with values in [0, 1], height
// × width × channel; channel c enters the graph as (Scale·x − Mean[c])/Std[c].
type Images struct {
	Shape        pixel.Shape
	ChannelsLast bool      // the graph takes height × width × channel
	BGR          bool      // the graph takes blue first
	Scale        float64   // what white is; 0: 1
	Mean, Std    []float64 // by channel, red first; nil: 0 and 1
}

// input finds the graph's one input and lays the images' preparation in front of it.
func (r *reader) input(model *onnxfile.Model, images *Images) error {
	constant := map[string]bool{}
	for _, t := range model.Graph.Initializers {
		constant[t.Name] = true
	}
	var inputs []onnxfile.Value
	for _, v := range model.Graph.Inputs {
		if !constant[v.Name] {
			inputs = append(inputs, v)
		}
	}
	if len(inputs) != 1 {
		return fmt.Errorf("feedforward: %s: %d inputs, want one", r.file, len(inputs))
	}
	in := inputs[0]
	if len(in.Dims) < 2 || in.Dims[0].Size > 1 {
		return fmt.Errorf("feedforward: %s: input %q has dimensions %v, want a batch (open, or of 1) first", r.file,
			in.Name, sides(in))
	}
	if reason := computes(in.Type); reason != "" {
		return fmt.Errorf("feedforward: %s: input %q: %s", r.file, in.Name, reason)
	}
	r.open = in.Dims[0].Size != 1
	r.types[in.Name], r.double = in.Type, in.Type == onnxfile.Float64
	var shape Shape
	for _, d := range in.Dims[1:] {
		if d.Size > array.MostValues {
			return fmt.Errorf("feedforward: %s: input %q has dimensions %v, at most %d values are read", r.file,
				in.Name,
				sides(in), array.MostValues)
		}
		if d.Size < 1 {
			if images == nil {
				return fmt.Errorf("feedforward: %s: input %q has open dimensions %v: give the size of the images",
					r.file,
					in.Name, sides(in))
			}
			shape = nil
			break
		}
		shape = append(shape, int(d.Size))
	}
	if images == nil {
		r.b = NewBuilder(shape...)
		r.layers[in.Name] = 0
		return r.b.err
	}
	layer, err := r.images(images, shape)
	if err != nil {
		return fmt.Errorf("feedforward: %s: %w", r.file, err)
	}
	r.layers[in.Name] = layer
	return nil
}

func (r *reader) images(im *Images, want Shape) (int, error) {
	h, w, c := im.Shape.Height, im.Shape.Width, im.Shape.Channels
	r.b = NewBuilder(h, w, c)
	if r.b.err != nil {
		return 0, r.b.err
	}
	at := 0
	scale := im.Scale
	if scale == 0 {
		scale = 1
	}
	if len(im.Mean) != 0 && len(im.Mean) != c || len(im.Std) != 0 && len(im.Std) != c {
		return 0, fmt.Errorf("%d means and %d deviations for %d channels", len(im.Mean), len(im.Std), c)
	}
	if scale != 1 || len(im.Mean) > 0 || len(im.Std) > 0 {
		s, t := make([]float64, h*w*c), make([]float64, h*w*c)
		for i := range s {
			mean, std := 0.0, 1.0
			if len(im.Mean) > 0 {
				mean = im.Mean[i%c]
			}
			if len(im.Std) > 0 {
				std = im.Std[i%c]
			}
			s[i], t[i] = scale/std, -mean/std
		}
		inverse := []float64{}
		for _, v := range im.Std {
			inverse = append(inverse, 1/v)
		}
		at = r.b.Name("normalisation").Scale(at, s, t, nil)
		if r.b.err == nil {
			factor := array.Largest(inverse)
			r.b.net.nodes[at].folding = folding{factor * array.Largest([]float64{scale}), factor * array.Largest(im.Mean), 3}
		}
	}
	if im.BGR {
		at = r.b.arrange("ChannelOrder", at, r.b.Shape(at), 0, func(index []int) int {
			return (index[0]*w+index[1])*c + c - 1 - index[2]
		})
	}
	if !im.ChannelsLast {
		at = r.b.Name("channels first").Transpose(at, 2, 0, 1)
	}
	if want == nil || slices.Equal(want, r.b.Shape(at)) {
		return at, r.b.err
	}
	if want.Size() != h*w*c {
		return 0, fmt.Errorf("the graph takes %v, images are %d × %d × %d", want, h, w, c)
	}
	return r.b.Reshape(at, want...), r.b.err
}

// sides are the dimensions of a value, by name where they are open.
func sides(v onnxfile.Value) []string {
	var out []string
	for _, d := range v.Dims {
		size := cmp.Or(d.Name, "?")
		if d.Size != 0 {
			size = strconv.FormatInt(d.Size, 10)
		}
		out = append(out, size)
	}
	return out
}
