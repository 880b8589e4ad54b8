package feedforward

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/certspec/certspec/internal/feedforward/kernel"
)

// fewest is the number of points from which an evaluation side by side is faster than one by one.
const fewest = 3

// VectorJacobians is VectorJacobian at several points; v is told which. The vector nil asks for the outputs alone.
// Points are spread over the processors and evaluated side by side where vectors are at hand; what is found for a
// point does not depend on the others, nor on that. Errors: those of VectorJacobian, and that of ctx.
func (n *Network) VectorJacobians(ctx context.Context, points [][]float64,
	v func(i int, outputs []float64) []float64) (outputs, gradients [][]float64, err error) {
	for i, x := range points {
		if err := n.checkInput(x); err != nil {
			return nil, nil, fmt.Errorf("point %d: %w", i, err)
		}
	}
	outputs, gradients = make([][]float64, len(points)), make([][]float64, len(points))
	together, workers := Lanes, n.workersWithLanes()
	if !kernel.Vectors || workers < 1 {
		together, workers = 1, runtime.GOMAXPROCS(0)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for from := 0; from < len(points); from += together {
		to := min(from+together, len(points))
		group.Go(func() error {
			at := func(j int, f []float64) []float64 { return v(from+j, f) }
			if to-from >= fewest && together > 1 {
				if err := ctx.Err(); err != nil {
					return err
				}
				return n.together(points[from:to], at, outputs[from:to], gradients[from:to])
			}
			for j, x := range points[from:to] {
				if err := ctx.Err(); err != nil {
					return err
				}
				var err error
				if outputs[from+j], gradients[from+j], err = n.VectorJacobian(x, func(f []float64) []float64 {
					if w := at(j, f); w != nil {
						return w
					}
					return make([]float64, len(f))
				}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return outputs, gradients, group.Wait()
}

// workersWithLanes is how many evaluations side by side may run at once: each needs values and gradients, and the
// input of a convolution in its padding.
func (n *Network) workersWithLanes() int {
	all, widest, weights := 0, 0, 0
	for _, nd := range n.nodes {
		all += nd.shape.Size()
		if l, ok := nd.layer.(affine); ok {
			if c, ok := l.linear.(*convolution); ok {
				p := c.padded()
				widest = max(widest, c.inC*p.height*p.width+nd.shape.Size())
			}
		}
		for _, p := range nd.parameters {
			weights += len(p.values)
		}
	}
	return min(runtime.GOMAXPROCS(0), size{file: 4 * weights}.limit()/(8*Lanes*(2*all+widest)))
}

// workspace is the memory of an evaluation side by side, used again by the next.
type workspace struct {
	values, gradients [][]float64 // by node
	// ReLUs that overwrite what they alone read: no gradient flows back where they change a value
	inPlace []bool
	scratch kernel.Scratch
}

type workspaces struct{ sync.Pool }

func (n *Network) workspace() *workspace {
	if w, ok := n.workspaces.Get().(*workspace); ok {
		return w
	}
	readers := make([]int, len(n.nodes))
	for _, nd := range n.nodes {
		for _, in := range nd.in {
			readers[in]++
		}
	}
	w := &workspace{values: make([][]float64, len(n.nodes)), gradients: make([][]float64, len(n.nodes)),
		inPlace: make([]bool, len(n.nodes))}
	for i, nd := range n.nodes {
		if l, ok := nd.layer.(*activation); ok && l.rectifier && nd.in[0] > 0 && readers[nd.in[0]] == 1 {
			w.inPlace[i], w.values[i], w.gradients[i] = true, w.values[nd.in[0]], w.gradients[nd.in[0]]
			continue
		}
		w.values[i], w.gradients[i] = make([]float64, nd.shape.Size()*Lanes), make([]float64, nd.shape.Size()*Lanes)
	}
	return w
}

// together evaluates up to eight points.
func (n *Network) together(points [][]float64, v func(j int, outputs []float64) []float64, outputs,
	gradients [][]float64) error {
	w := n.workspace()
	defer n.workspaces.Put(w)
	clear(w.values[0])
	for j, x := range points {
		for i, v := range x {
			w.values[0][i*Lanes+j] = v
		}
	}
	for i, nd := range n.nodes[1:] {
		if out := w.values[i+1]; w.inPlace[i+1] {
			kernel.Rectify(out)
		} else {
			forwardLanes(nd.layer, pick(w.values, nd.in), out, &w.scratch)
		}
	}
	directions, wanted := make([][]float64, len(points)), false
	for j := range points {
		outputs[j] = pointOf(w.values[n.output], j, nil)
		directions[j] = v(j, outputs[j])
		if directions[j] == nil {
			continue
		}
		if wanted = true; len(directions[j]) != len(outputs[j]) {
			return &InputError{fmt.Sprintf("a vector of %d values for %d outputs", len(directions[j]), len(outputs[j]))}
		}
	}
	if !wanted {
		for j, x := range points {
			gradients[j] = make([]float64, len(x))
		}
		return nil
	}
	for i, g := range w.gradients {
		if !w.inPlace[i] {
			clear(g)
		}
	}
	for j, direction := range directions {
		for i, v := range direction {
			w.gradients[n.output][i*Lanes+j] = v
		}
	}
	for i := n.output; i > 0; i-- {
		nd := n.nodes[i]
		if w.inPlace[i] {
			kernel.Gate(w.values[i], w.gradients[i])
			continue
		}
		backwardLanes(nd.layer, pick(w.values, nd.in), w.values[i], w.gradients[i], pick(w.gradients, nd.in),
			&w.scratch)
	}
	for j := range points {
		gradients[j] = pointOf(w.gradients[0], j, nil)
	}
	return nil
}
