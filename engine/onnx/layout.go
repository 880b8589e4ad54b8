package onnx

import (
	"fmt"
	"strings"

	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/pixel"
)

// layout is the form in which a network takes its images.
type layout struct {
	shape  pixel.Shape
	planar bool   // channel planes (NCHW), not interleaved (NHWC)
	name   string // e.g. "NCHW"
	batch  int    // the only number of images it takes; 0: any
	kind   onnxfile.Type
	dims   []int64 // of the input after the batch
	chosen string  // the card's layout, where the graph tells none or another
}

// largestSide keeps products of sides far from an overflow.
const largestSide = 1 << 16

// findLayout reads the layout off the graph's input, with the help of the card.
func findLayout(input onnxfile.Value, card Card) (layout, error) {
	wrong := func(format string, args ...any) (layout, error) {
		return layout{}, fmt.Errorf("input %q %s: %s", input.Name, describeDims(input), fmt.Sprintf(format, args...))
	}
	switch input.Type {
	case onnxfile.Float32, onnxfile.Float64, onnxfile.Float16, onnxfile.Uint8:
	default:
		return wrong("expected float32, float64, float16 or uint8")
	}
	if len(input.Dims) < 2 || len(input.Dims) > 4 {
		return wrong("expected batch, channel, height and width, in the order NCHW or NHWC")
	}
	found := layout{batch: int(input.Dims[0].Size), kind: input.Type}
	side := func(axis int) int { return int(input.Dims[axis].Size) }
	for axis := range input.Dims {
		if side(axis) < 0 || side(axis) > largestSide {
			return wrong("axis %d has no sensible size", axis)
		}
	}

	var shape pixel.Shape // with 0 for sides that the graph leaves open
	switch len(input.Dims) {
	case 4:
		order := ""
		switch first, last := isChannels(side(1)), isChannels(side(3)); {
		case first && !last:
			order = nchw
		case last && !first:
			order = nhwc
		case card.Layout == "":
			return wrong("the graph does not tell which axis is the channel; set layout (--layout, or in the card) " +
				"to NCHW or NHWC")
		}
		if card.Layout != "" && card.Layout != order {
			order, found.chosen = card.Layout, card.Layout
		}
		found.name, found.planar = order, order == nchw
		if found.planar {
			shape = pixel.Shape{Channels: side(1), Height: side(2), Width: side(3)}
		} else {
			shape = pixel.Shape{Height: side(1), Width: side(2), Channels: side(3)}
		}
	case 3:
		// One channel first or one image: the values lie alike.
		if found.batch > 1 {
			return wrong("three axes of fixed size; expected batch, channel, height and width")
		}
		if side(1) == 1 || side(2) == 1 {
			return flatLayout(found, input, card, wrong)
		}
		found.name = "NHW"
		shape = pixel.Shape{Height: side(1), Width: side(2), Channels: 1}
	case 2:
		return flatLayout(found, input, card, wrong)
	}

	if card.Shape == nil && !shape.Valid() {
		return wrong("the graph leaves sides open; set the size of an image (--shape, or shape in the card)")
	}
	if card.Shape != nil {
		for _, s := range []struct {
			name         string
			graph, given int
		}{
			{"height", shape.Height, card.Shape.Height},
			{"width", shape.Width, card.Shape.Width},
			{"channels", shape.Channels, card.Shape.Channels},
		} {
			if s.graph != 0 && s.graph != s.given {
				return wrong("images of %v were asked for; the graph has %s %d", *card.Shape, s.name, s.graph)
			}
		}
		shape = *card.Shape
	}
	found.shape = shape
	h, w, c := int64(shape.Height), int64(shape.Width), int64(shape.Channels)
	switch {
	case len(input.Dims) == 3:
		found.dims = []int64{h, w}
	case found.planar:
		found.dims = []int64{c, h, w}
	default:
		found.dims = []int64{h, w, c}
	}
	return found, nil
}

// flatLayout is the layout of images that enter as one row of values, with an axis of 1 beside it or not.
func flatLayout(found layout, input onnxfile.Value, card Card, wrong func(string, ...any) (layout, error)) (layout,
	error) {
	if card.Shape == nil {
		return wrong("images enter flat; set their shape (--shape 28x28x1, or shape in the card)")
	}
	if card.Layout == "" && card.Shape.Channels > 1 {
		return wrong("images of %v enter flat; set layout (--layout, or in the card) to NCHW or NHWC", *card.Shape)
	}
	found.shape, found.planar, found.chosen = *card.Shape, card.Layout == nchw, card.Layout
	found.name = strings.TrimSpace("flat " + card.Layout)
	values, open := int64(card.Shape.Len()), -1
	product := int64(1)
	for axis, d := range input.Dims[1:] {
		found.dims = append(found.dims, d.Size)
		if d.Size == 0 {
			open = axis
			continue
		}
		product *= d.Size
	}
	if open >= 0 && product == 1 {
		found.dims[open], product = values, values
	}
	if product != values {
		return wrong("images of %v have %d values", *card.Shape, values)
	}
	return found, nil
}

func isChannels(side int) bool { return side == 1 || side == 3 }

// describeDims writes the type and shape of a value, e.g. "float32[batch, 3, 32, 32]".
func describeDims(v onnxfile.Value) string {
	sides := make([]string, len(v.Dims))
	for i, d := range v.Dims {
		switch {
		case d.Size != 0:
			sides[i] = fmt.Sprint(d.Size)
		case d.Name != "":
			sides[i] = d.Name
		default:
			sides[i] = "?"
		}
	}
	return fmt.Sprintf("%v[%s]", v.Type, strings.Join(sides, ", "))
}
