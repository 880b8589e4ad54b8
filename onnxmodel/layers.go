package onnxmodel

import (
	"fmt"
	"path/filepath"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/onnxfile"
)

// FeedForward reads an ONNX file as layers in float64, which can be bounded and differentiated; see package feedforward. Images
// enter as they do in a Model with the same options, the card beside the file included; a last Softmax is taken off. It
// needs no ONNX Runtime. Errors: those of Open, a network on uint8, an output that is no row of logits, and operators that feedforward has no layer for.
func FeedForward(path string, options Options) (*feedforward.Network, error) {
	m, err := Open(path, options)
	if err != nil {
		return nil, err
	}
	return feedForward(path, nil, m.options)
}

// FeedForwardBytes is FeedForward for the contents of a file, with all its weights; name stands for the path.
func FeedForwardBytes(name string, data []byte, options Options) (*feedforward.Network, error) {
	if err := options.check(); err != nil {
		return nil, fmt.Errorf("onnxmodel: %s: %w", name, err)
	}
	if data == nil {
		data = []byte{}
	}
	return feedForward(name, data, options)
}

// feedForward reads the file itself where there is no data.
func feedForward(name string, data []byte, options Options) (*feedforward.Network, error) {
	fail := func(err error) (*feedforward.Network, error) {
		return nil, fmt.Errorf("onnxmodel: %s: %w", name, err)
	}
	file, err := readFile(name, data, options.Card)
	if err != nil {
		return fail(err)
	}
	l, err := findLayout(file.input, file.card)
	if err != nil {
		return fail(err)
	}
	if l.kind == onnxfile.Uint8 {
		return fail(fmt.Errorf("its input is uint8, which rounds images; a network on real numbers can be bounded"))
	}
	wide := 0
	for _, d := range file.output.Dims[min(1, len(file.output.Dims)):] {
		if d.Size > 1 {
			wide++
		}
	}
	if wide > 1 {
		return fail(fmt.Errorf("output %q is %s; expected one value per class", file.output.Name, describeDims(file.output)))
	}
	card, err := file.card.complete(l)
	if err != nil {
		return fail(err)
	}
	model := file.model
	if err := model.Load(filepath.Dir(name)); err != nil {
		return fail(err)
	}
	model.Graph.Inputs, model.Graph.Outputs = []onnxfile.Value{file.input}, []onnxfile.Value{file.output}
	images := feedforward.Images{Shape: l.shape, ChannelsLast: !l.planar, BGR: card.ChannelOrder == BGR, Scale: card.Scale, Mean: card.Mean, Std: card.Std}
	for c := range images.Mean {
		if card.Mean[c] != 0 || card.Std[c] != 1 {
			return feedforward.FromONNX(name, model, &images)
		}
	}
	images.Mean, images.Std = nil, nil // nothing to compute, nothing to round
	return feedforward.FromONNX(name, model, &images)
}

// Graph is a file for those who change it: decoded, with the values that lie in files beside it, what is known of its images, in
// metadata and in the card beside it, and the digest of what computes in it. Contents take the place of the file at path where they
// are not nil. Errors: those of Open, and files that cannot be read.
func Graph(path string, contents []byte, options Options) (model *onnxfile.Model, card Card, digest string, err error) {
	if contents == nil {
		m, err := Open(path, options)
		if err != nil {
			return nil, Card{}, "", err
		}
		options = m.options
	}
	file, err := readFile(path, contents, options.Card)
	if err == nil {
		err = file.model.Load(filepath.Dir(path))
	}
	if err != nil {
		return nil, Card{}, "", fmt.Errorf("onnxmodel: %s: %w", path, err)
	}
	return file.model, file.card, file.digest, nil
}
