package infer

import (
	"context"
	"fmt"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
)

// Bounds are interval bounds of a network on a backend, in float32 and without regard to rounding,
// as training has them: many images a second, and no guarantee. Package feedforward gives bounds
// that hold. It is safe for concurrent use.
type Bounds struct {
	network *Network
	classes int
}

// LoadBounds prepares the bounds of a model over the balls |z − x| ≤ epsilon, 0 ≤ z ≤ 1.
func LoadBounds(b *backend.Backend, name string, m *modelfile.Model, epsilon float64) (*Bounds, error) {
	if !(epsilon >= 0 && epsilon <= 1) {
		return nil, fmt.Errorf("infer: %s: epsilon %v, want a number between 0 and 1", name, epsilon)
	}
	a := m.Card.Architecture
	info := Describe(name, &m.Card)
	info.Classes *= a.Classes
	n, err := newNetwork(b, info, m.Weights, func(images *graph.Node, weight func(string) *graph.Node) *graph.Node {
		centre, radius := nets.Ball(images, graph.Const(images.Graph(), float32(epsilon)), true)
		return graph.Reshape(a.Differences(centre, radius, weight), -1, a.Classes*a.Classes)
	})
	if err != nil {
		return nil, err
	}
	return &Bounds{n, a.Classes}, nil
}

// Differences returns U for images [N, H, W, C] with values in [0, 1], N × K × K: bounds on f_k(z)
// − f_l(z) at place k·K + l; see nets.Architecture.
func (b *Bounds) Differences(ctx context.Context, images []float32) ([]float32, error) {
	size := b.network.info.Shape.Len()
	if len(images) == 0 || len(images)%size != 0 {
		return nil, fmt.Errorf("infer: %s: %d values of images, want a multiple of %d", b.network.info.Name,
			len(images), size)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return b.network.logits(classifier.Batch{N: len(images) / size, Real: images})
}

// Close frees the weights and the compiled graphs. No call may be running or follow.
func (b *Bounds) Close() error { return b.network.Close() }
