//go:build !cell || !unix

package model

import (
	"context"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/internal/listen"
)

// Engine returns the network as package engine has it, which knows more of it. A program has it; a cell has not.
func (m *Model) Engine() (*engine.Model, error) {
	n, err := m.engine()
	if err != nil {
		return nil, err
	}
	return n.(*engine.Model), nil
}

func open(path string, in ...Input) (network, error) {
	var options []engine.Option
	for _, i := range in {
		options = append(options, engine.ONNX(onnx.Options{Card: onnx.Card{Mean: i.Mean, Std: i.Std, Scale: i.Scale,
			Layout: i.Layout, ChannelOrder: i.ChannelOrder, Output: i.Output, ClassNames: i.ClassNames}}))
	}
	return engine.Open(path, append(options, engine.Progress(listen.Progress()))...)
}

// fit trains the network of a recipe that names its images for testing.
func fit(ctx context.Context, path string, data *dataset.Dataset, r Recipe) error {
	_, err := train.Run(ctx, train.Options{Network: r.Net, Sigma: &r.Sigma, Method: r.Method, Options: r.Options,
		Views: r.Views, Augment: modelfile.Augmentation(r.Augment), Epochs: r.Epochs, BatchSize: r.Batch,
		LearningRate: r.Rate, Seed: r.Seed, From: r.From, Train: data, Test: r.Test, Out: path,
		Command: listen.Command(), Progress: listen.Progress()})
	return err
}
