package feedforward

import (
	"context"
	"fmt"
)

// Intervals returns bounds on all outputs over a box or segment of inputs by interval bound propagation. Errors: a
// set of another size or with ends that are not finite or crossed, as *InputError.
func (n *Network) Intervals(input Set, a Arithmetic) (Box, error) {
	r, _, err := n.intervals(context.Background(), input, a)
	if err != nil {
		return Box{}, err
	}
	return r.boxes[n.output], nil
}

// LinearBounds returns upper bounds on rows·f + offsets over a box or segment of inputs, f being the outputs; rows
// has one row of Outputs() coefficients for each bound. IBP are intervals, with the rows taken back through affine
// layers at the end; CROWN (Zhang et al. 2018) walks back from the rows to the input through lines above and below
// the activations, with intervals between the layers; FullCROWN finds those by CROWN, too. Each method takes the
// smaller of its own bounds and those before it. Errors: those of Intervals, an unknown method, rows or offsets of
// other sizes, that of ctx, which is looked at between layers.
func (n *Network) LinearBounds(ctx context.Context, input Set, rows, offsets []float64, method Method,
	a Arithmetic) ([]float64, error) {
	if len(rows) != len(offsets)*n.Outputs() {
		return nil, &InputError{fmt.Sprintf("%d coefficients for %d bounds on %d outputs", len(rows), len(offsets),
			n.Outputs())}
	}
	b, err := n.bounder(ctx, input, method, a)
	if err != nil {
		return nil, err
	}
	bounds := make([]float64, len(offsets))
	return bounds, n.blocks(len(offsets), func(from, to int) error {
		found, err := b.block(ctx, rows[from*n.Outputs():to*n.Outputs()], offsets[from:to])
		copy(bounds[from:], found)
		return err
	})
}
