package infer

import (
	"context"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/pixel"
)

// MeasureResNet20 times an untrained ResNet-20 on grid images of CIFAR's size, in batches
// of 100, for about the given time.
func MeasureResNet20(ctx context.Context, b *backend.Backend, each time.Duration) (backend.Speed, error) {
	m := &modelfile.Model{Card: modelfile.Card{Architecture: nets.Architecture{
		Name: "resnet20", Shape: pixel.Shape{Height: 32, Width: 32, Channels: 3}, Classes: 10,
	}}}
	a := m.Card.Architecture
	for _, t := range a.Tensors() {
		m.Weights = append(m.Weights, modelfile.Tensor{Name: t.Name, Shape: t.Shape, Values: t.Initialize(1)})
	}
	n, err := Load(b, a.Name, m)
	if err != nil {
		return backend.Speed{}, err
	}
	defer n.Close()
	const size = 100
	batch := classifier.Batch{N: size, Grid: make([]int16, size*a.Shape.Len())}
	for i := range batch.Grid {
		batch.Grid[i] = int16(i * 7 % 256)
	}
	result := classifier.Result{Classes: make([]int32, size)}
	seconds, compile, err := backend.Fastest(ctx, each, func() error { return n.Classify(ctx, batch, &result) })
	if err != nil {
		return backend.Speed{}, err
	}
	return backend.Speed{Program: "ResNet-20, batch of 100", Rate: size / seconds, Unit: "images/s", Compile: compile},
		nil
}
