package feedforward

import "context"

// tighten replaces the bounds on what enters activations, in order, by those of CROWN where these are tighter.
func (n *Network) tighten(ctx context.Context, r *region, from int, how tuning, a Arithmetic) error {
	boxes := r.boxes
	entered := map[int]bool{}
	for _, nd := range n.nodes {
		switch nd.layer.(type) {
		case *activation, product:
			for _, in := range nd.in {
				entered[in] = true
			}
		}
	}
	for i, nd := range n.nodes[from:] {
		at := from + i
		boxes[at].intersect(n.enclose(ctx, r, at, false, a))
		if err := ctx.Err(); err != nil {
			return err
		}
		if !entered[at] {
			continue
		}
		open := boxes[at].open() // the others are affine already
		size := nd.shape.Size()
		bounds := make([]float64, 2*len(open)) // of all, before the first is replaced
		err := n.blocks(len(bounds), func(from, to int) error {
			rows := make([]float64, (to-from)*size)
			for k := from; k < to; k++ {
				rows[(k-from)*size+open[k/2]] = float64(1 - 2*(k%2))
			}
			walk := func() ([]float64, error) {
				if zeros := make([]float64, to-from); how.steps > 0 {
					return n.tune(ctx, r, at, rows, zeros, nil, how, a)
				}
				return n.crown(ctx, r, at, rows, make([]float64, to-from), adaptive, a)
			}
			found, err := walk()
			copy(bounds[from:], found)
			return err
		})
		if err != nil {
			return err
		}
		for k, j := range open {
			boxes[at].Upper[j] = min(boxes[at].Upper[j], bounds[2*k])
			boxes[at].Lower[j] = max(boxes[at].Lower[j], -bounds[2*k+1])
		}
	}
	return nil
}

func (b Box) intersect(other Box) {
	for i := range b.Lower {
		b.Lower[i], b.Upper[i] = max(b.Lower[i], other.Lower[i]), min(b.Upper[i], other.Upper[i])
	}
}
