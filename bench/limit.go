package main

import (
	"context"
	"runtime"
	"sync"

	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
)

// limit is the most that the processors can do with every product computed: multiply-adds in registers, as many as the convolutions and dense layers
// of a training have for an image of so many rows. Winograd's form needs fewer. The result is empty where no peak can be measured.
func limit(net string, rows int) ([]entry, error) {
	a, err := architecture(net)
	if err != nil || multiplyAdds(1) == 0 {
		return nil, err
	}
	operations := float64(rows) * trainingOperations(a)
	return []entry{{"the processor's limit: as many multiply-adds in registers", &loop{
		prepare: func(context.Context) (func() (float64, error), error) {
			return func() (float64, error) {
				done := make([]float64, runtime.GOMAXPROCS(0))
				var all sync.WaitGroup
				for i := range done {
					all.Go(func() { done[i] = multiplyAdds(4_000_000) })
				}
				all.Wait()
				sum := 0.0
				for _, d := range done {
					sum += d
				}
				return sum / operations, nil
			}, nil
		},
	}}}, nil
}

// trainingOperations are the multiplications and additions of convolutions and dense layers for one row: forward, and the gradients by inputs and by
// weights, of which the first layer needs no former.
func trainingOperations(a nets.Architecture) float64 {
	layers := a.Layers()
	sum, first := 0.0, true
	for _, l := range layers {
		if l.Kind != netparts.Conv && l.Kind != netparts.Dense {
			continue
		}
		channels := layers[l.Inputs[0]].Shape.Channels
		taps := l.Size * l.Size
		if l.Kind == netparts.Dense {
			channels, taps = layers[l.Inputs[0]].Shape.Len(), 1
		}
		times := 3.0
		if first {
			times, first = 2, false
		}
		sum += times * 2 * float64(l.Shape.Len()*channels*taps)
	}
	return sum
}
