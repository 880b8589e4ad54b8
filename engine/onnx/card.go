package onnx

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/certspec/certspec/internal/feedforward/quantize"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/textfile"
	"github.com/certspec/certspec/pixel"
)

// Values of the fields of Card.
const (
	nchw = "NCHW" // batch, channel, height, width
	nhwc = "NHWC" // batch, height, width, channel

	rgb = "rgb"
	bgr = "bgr"

	logits        = "logits"
	probabilities = "probabilities"
)

// Card holds what an ONNX file does not say of itself. It may stand as JSON beside the
// file, at its path + ".json", or in the file's metadata as "certspec_input"; a field of
// the options goes before the first card's, and the first's before the second's.
//
// Channel c of an image with values x in [0, 1] enters the network as
//
//	(Scale·x − Mean[c]) / Std[c]
type Card struct {
	Layout       string       `json:"layout,omitempty"`        // "NCHW" or "NHWC"; "": found from the graph
	Shape        *pixel.Shape `json:"shape,omitempty"`         // size of the images; nil: found from the graph
	ChannelOrder string       `json:"channel_order,omitempty"` // of the network: "rgb" (also ""), or "bgr"
	// what white is, e.g. 255; 0: 1, or 255 for a network on uint8
	Scale float64 `json:"scale,omitempty"`
	// per channel, red first in either order; or one for all; empty: 0
	Mean []float64 `json:"mean,omitempty"`
	// per channel, red first in either order; or one for all; empty: 1
	Std        []float64 `json:"std,omitempty"`
	Input      string    `json:"input,omitempty"`  // name of the input of the graph, where it has several
	Output     string    `json:"output,omitempty"` // name of the output of the graph, where it has several
	Scores     string    `json:"scores,omitempty"` // "logits" or "probabilities"; "": found out
	ClassNames []string  `json:"class_names,omitempty"`
}

// readCard reads the card beside an ONNX file, which may be missing.
func readCard(model string) (Card, error) {
	path := model + ".json"
	text, err := textfile.Read(path)
	if errors.Is(err, os.ErrNotExist) {
		return Card{}, nil
	}
	if err != nil {
		return Card{}, fmt.Errorf("onnx: %w", err)
	}
	card, err := decodeCard(bytes.TrimPrefix(text, []byte("\ufeff")))
	if err != nil {
		return Card{}, fmt.Errorf("onnx: card %s: %w", path, err)
	}
	return card, nil
}

func decodeCard(text []byte) (Card, error) {
	var card Card
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&card); err != nil {
		return Card{}, err
	}
	return card, card.Check()
}

// or fills the fields of c that are not set from other.
func (c Card) or(other Card) Card {
	pick := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	pick(&c.Layout, other.Layout)
	pick(&c.ChannelOrder, other.ChannelOrder)
	pick(&c.Input, other.Input)
	pick(&c.Output, other.Output)
	pick(&c.Scores, other.Scores)
	if c.Shape == nil {
		c.Shape = other.Shape
	}
	c.Scale = cmp.Or(c.Scale, other.Scale)
	if c.Mean == nil {
		c.Mean = other.Mean
	}
	if c.Std == nil {
		c.Std = other.Std
	}
	if c.ClassNames == nil {
		c.ClassNames = other.ClassNames
	}
	return c
}

// Check says what is wrong with a card, whatever the file.
func (c Card) Check() error {
	switch {
	case c.Layout != "" && c.Layout != nchw && c.Layout != nhwc:
		return fmt.Errorf("layout %q; expected %s or %s", c.Layout, nchw, nhwc)
	case c.Shape != nil && !c.Shape.Valid():
		return fmt.Errorf("shape %v; expected positive sides", *c.Shape)
	case c.ChannelOrder != "" && c.ChannelOrder != rgb && c.ChannelOrder != bgr:
		return fmt.Errorf("channel order %q; expected %s or %s", c.ChannelOrder, rgb, bgr)
	case c.Scores != "" && c.Scores != logits && c.Scores != probabilities:
		return fmt.Errorf("scores %q; expected %s or %s", c.Scores, logits, probabilities)
	case !(c.Scale >= 0) || math.IsInf(c.Scale, 0):
		return fmt.Errorf("scale %v; expected a positive number, such as 1 or 255", c.Scale)
	}
	for i, v := range c.Mean {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("mean %v of channel %d; expected a number", v, i)
		}
	}
	for i, v := range c.Std {
		if !(v > 0) || math.IsInf(v, 0) {
			return fmt.Errorf("std %v of channel %d; expected a positive number", v, i)
		}
	}
	return nil
}

// complete checks c against the shape of the images and fills in what was left to defaults:
// ChannelOrder, Scale, and Mean and Std with one value per channel.
func (c Card) complete(l layout) (Card, error) {
	shape := l.shape
	c.Shape = &shape
	if c.Scale == 0 {
		c.Scale = 1
		if l.kind == onnxfile.Uint8 {
			c.Scale = pixel.Steps
		}
	}
	if c.ChannelOrder == "" {
		c.ChannelOrder = rgb
	}
	if c.ChannelOrder == bgr && shape.Channels != 3 {
		return c, fmt.Errorf("channel order bgr for images of %v; expected 3 channels", shape)
	}
	perChannel := func(name string, values []float64, missing float64) ([]float64, error) {
		switch len(values) {
		case 0:
			values = []float64{missing}
		case 1, shape.Channels:
		default:
			return nil, fmt.Errorf("%s has %d values; images of %v have %d channels", name, len(values), shape,
				shape.Channels)
		}
		full := make([]float64, shape.Channels)
		for i := range full {
			full[i] = values[min(i, len(values)-1)]
		}
		return full, nil
	}
	var err error
	if c.Mean, err = perChannel("mean", c.Mean, 0); err != nil {
		return c, err
	}
	c.Std, err = perChannel("std", c.Std, 1)
	return c, err
}

// preprocessing states what a completed card does to images, or "" where that is nothing.
func (c Card) preprocessing() string {
	var parts []string
	if c.ChannelOrder == bgr {
		parts = append(parts, "channels in order bgr")
	}
	if c.Scale != 1 {
		parts = append(parts, fmt.Sprintf("scale %v", c.Scale))
	}
	differs := func(values []float64, from float64) bool {
		for _, v := range values {
			if v != from {
				return true
			}
		}
		return false
	}
	if differs(c.Mean, 0) {
		parts = append(parts, fmt.Sprintf("mean %v", c.Mean))
	}
	if differs(c.Std, 1) {
		parts = append(parts, fmt.Sprintf("std %v", c.Std))
	}
	return strings.Join(parts, ", ")
}

// function states what a completed card makes of the file, in parts. Answers depend on it, so it
// is a part of the model's identity; defaults and what has no effect are left out.
func (c Card) function(l layout, file *contents) []string {
	var parts []string
	if text := c.preprocessing(); text != "" {
		parts = append(parts, text)
	}
	if l.chosen != "" {
		parts = append(parts, "layout "+l.chosen)
	}
	if file.inputs > 1 {
		parts = append(parts, fmt.Sprintf("input %q", c.Input))
	}
	if file.outputs > 1 {
		parts = append(parts, fmt.Sprintf("output %q", c.Output))
	}
	if file.metadata[quantize.Key] != "" {
		parts = append(parts, quantize.Identity)
	}
	return parts
}
