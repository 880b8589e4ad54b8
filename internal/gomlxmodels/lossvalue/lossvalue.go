// Package lossvalue computes losses of training from given logits, by the graph that training uses.
package lossvalue

import (
	"github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
)

// HCR is loss.HCR of one image of class 0, in float64 on the backend in Go. The logits are [views, noises, 1 image,
// classes].
func HCR(logits []float64, views, noises, classes int, lambda, eta float64) (float64, error) {
	engine, err := backend.Open("go")
	if err != nil {
		return 0, err
	}
	total, err := graph.CallOnce(engine.Backend, func(z, y *graph.Node) *graph.Node {
		sum := graph.ScalarZero(z.Graph(), z.DType())
		for _, term := range loss.HCR(graph.Reshape(z, views, noises, 1, classes), y, lambda, eta, false) {
			sum = graph.Add(sum, term.Value)
		}
		return sum
	}, logits, []int32{0})
	if err != nil {
		return 0, err
	}
	return total.Value().(float64), nil
}
