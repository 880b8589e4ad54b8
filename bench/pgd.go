package main

import (
	"context"
	"math/rand/v2"

	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
	"github.com/certspec/certspec/internal/gomlxmodels/perturb"
	"github.com/certspec/certspec/pixel"
)

// pgdCases compares PGD of 20 steps in the Euclidean norm on the small CNN with random weights.
func pgdCases(ctx context.Context, s settings) ([]comparison, error) {
	python, scripts, err := pythonSide(ctx)
	if err != nil {
		return nil, err
	}
	const images = 128
	w := work{Task: "pgd", Net: "small-cnn", Batch: images}
	return []comparison{{"small-cnn, 28×28×1, 128 images at a time", 1, []entry{
		{"certspec: attack.PGD", pgdLoop(s.backend, images)},
		{"Foolbox on PyTorch", pythonWorker(python, scripts, "torch", "eager", w)},
		{"Foolbox on PyTorch, tuned malloc", pythonWorker(python, scripts, "torch", "eager", w, largeHeap...)},
	}}}, nil
}

func pgdLoop(engine string, n int) contender {
	l := &loop{}
	l.prepare = func(ctx context.Context) (func() (float64, error), error) {
		b, err := backend.OpenForTraining(engine)
		if err != nil {
			return nil, err
		}
		l.version = b.Engine + " " + b.Version
		a := nets.Architecture{Name: "small-cnn", Shape: pixel.Shape{Height: 28, Width: 28, Channels: 1}, Classes: 10}
		p, err := perturb.NewPlain(&perturb.Network{Backend: b, Forward: netgraph.Network{Architecture: a}.Forward,
			Tensors: a.Tensors()})
		if err != nil {
			return nil, err
		}
		var weights [][]float32
		for _, t := range a.Tensors() {
			weights = append(weights, t.Initialize(1))
		}
		values, labels := make([]float32, n*a.Shape.Len()), make([]int32, n)
		for i := range values {
			values[i] = rand.Float32()
		}
		for i := range labels {
			labels[i] = rand.Int32N(10)
		}
		return func() (float64, error) {
			_, err := p.Perturb(ctx, perturb.PGD{Norm: attack.L2, Epsilon: 0.5, Steps: 20}, a.Shape, values, labels,
				weights)
			return float64(n), err
		}, nil
	}
	return l
}
