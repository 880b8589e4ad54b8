package feedforward

import (
	"fmt"
	"math"
)

// LinearBounds returns upper bounds on rows·f + offsets over a box of inputs, f being the outputs; rows has one row of
// Outputs() coefficients for each bound. Each is the smaller of two: interval arithmetic with the rows merged into the
// last layer where that is affine, and CROWN (Zhang et al. 2018), which walks back from the rows to the input through
// lines above the activations, with interval bounds between the layers. Errors: those of Intervals, rows or
// offsets of other sizes.
func (n *Network) LinearBounds(input Box, rows, offsets []float64, a Arithmetic) ([]float64, error) {
	boxes, a, err := n.boxes(input, a)
	if err != nil {
		return nil, err
	}
	k := len(offsets)
	if len(rows) != k*n.Outputs() {
		return nil, &InputError{fmt.Sprintf("%d coefficients for %d bounds on %d outputs", len(rows), k, n.Outputs())}
	}
	bounds := n.merged(boxes, rows, offsets, a)
	for i, c := range n.crown(boxes, rows, offsets, a) {
		bounds[i] = min(bounds[i], c)
	}
	return bounds, nil
}

// merged bounds rows·f + offsets by intervals, the rows taken back through the affine layers at the end of the network.
func (n *Network) merged(boxes []Box, rows, offsets []float64, a Arithmetic) []float64 {
	constant := make([]float64, len(offsets))
	copy(constant, offsets)
	at := n.output
	for n.nodes[at].mergeable() {
		if a != Plain {
			roundingOf(boxes[at], rows, constant)
		}
		in := n.nodes[at].in
		g := make([]float64, len(offsets)*len(boxes[in[0]].Lower))
		n.nodes[at].layer.relax(pick(boxes, in), boxes[at], len(offsets), rows, [][]float64{g}, constant, a)
		at, rows = in[0], g
	}
	return n.concretise(boxes[at], offsets, rows, constant, a)
}

// mergeable says whether a layer is affine with one input.
func (nd node) mergeable() bool {
	switch nd.layer.(type) {
	case affine, *arrange:
		return true
	}
	return false
}

// concretise is constant + the largest value of each row of g over the box, rounded up.
func (n *Network) concretise(b Box, offsets, g, constant []float64, a Arithmetic) []float64 {
	size := len(b.Lower)
	out := make([]float64, len(offsets))
	for k := range out {
		sum, magnitude := constant[k], math.Abs(constant[k])+math.Abs(offsets[k])
		for i, v := range g[k*size : (k+1)*size] {
			switch {
			case v > 0:
				sum += v * b.Upper[i]
			case v < 0:
				sum += v * b.Lower[i]
			default:
				continue
			}
			magnitude += math.Abs(v) * max(math.Abs(b.Lower[i]), math.Abs(b.Upper[i]))
		}
		if a != Plain {
			sum += host * magnitude
		}
		if math.IsNaN(sum) {
			sum = math.Inf(1)
		}
		out[k] = sum
	}
	return out
}

// crown walks back from the outputs to the input.
func (n *Network) crown(boxes []Box, rows, offsets []float64, a Arithmetic) []float64 {
	k := len(offsets)
	constant := make([]float64, k)
	copy(constant, offsets)
	g := make([][]float64, len(n.nodes))
	g[n.output] = rows
	for i := n.output; i > 0; i-- {
		if g[i] == nil {
			continue
		}
		if a != Plain {
			roundingOf(boxes[i], g[i], constant)
		}
		nd := n.nodes[i]
		gin := make([][]float64, len(nd.in))
		for j, from := range nd.in {
			if g[from] == nil {
				g[from] = make([]float64, k*n.nodes[from].shape.Size())
			}
			gin[j] = g[from]
		}
		nd.layer.relax(pick(boxes, nd.in), boxes[i], k, g[i], gin, constant, a)
		g[i] = nil
	}
	if g[0] == nil { // the outputs do not depend on the input
		g[0] = make([]float64, k*len(boxes[0].Lower))
	}
	return n.concretise(boxes[0], offsets, g[0], constant, a)
}

// roundingOf adds to each constant what the sums that made its row of g may be off by, times the values that the row meets.
func roundingOf(b Box, g, constant []float64) {
	size := len(b.Lower)
	for k := range constant {
		for i, v := range g[k*size : (k+1)*size] {
			if v != 0 {
				constant[k] += host * math.Abs(v) * max(math.Abs(b.Lower[i]), math.Abs(b.Upper[i]))
			}
		}
	}
}
