package feedforward

import (
	"context"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/kernel"
)

// merged bounds rows·f + offsets by intervals, the rows taken back through the affine layers at the end of the network.
func (n *Network) merged(ctx context.Context, r *region, rows, offsets []float64, a Arithmetic) []float64 {
	constant := slices.Clone(offsets)
	at, rows := n.tail(ctx, r, rows, constant, a)
	return r.concretise(at, offsets, rows, constant, a)
}

// tail takes rows of coefficients on the outputs back through the affine layers at the end, to rows on the outputs of
// a node.
func (n *Network) tail(ctx context.Context, r *region, rows, constant []float64, a Arithmetic) (at int, _ []float64) {
	boxes := r.boxes
	at = n.output
	for {
		l, ok := n.nodes[at].layer.(merging)
		if !ok {
			return at, rows
		}
		if a != Plain {
			r.rounding(at, rows, constant)
		}
		in := n.nodes[at].in
		g := make([]float64, len(constant)*len(boxes[in[0]].Lower))
		l.merge(ctx, boxes[in[0]], boxes[at], len(constant), rows, g, constant, a)
		at, rows = in[0], g
	}
}

// rounding adds to each constant what the sums that made its row of g on a node's values may be off by, and what the
// values may lose because numbers are subnormal.
func (r *region) rounding(at int, g, constant []float64) {
	b, faint := r.boxes[at], r.reach[at].faint()
	size := len(b.Lower)
	off, finite := make([]float64, size), true
	for i := range off {
		off[i] = host*b.largest(i) + faint
		finite = finite && off[i]-off[i] == 0
	}
	for k := range constant {
		row := g[k*size : (k+1)*size]
		if finite {
			constant[k] += kernel.Products(row, [3][]float64{off, off, off})[1]
			continue
		}
		for i, v := range row {
			if v != 0 {
				constant[k] += math.Abs(v) * off[i]
			}
		}
	}
}
