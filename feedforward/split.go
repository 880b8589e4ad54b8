package feedforward

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Of slopes and splits.
const (
	tuneSteps   = 10
	splitSteps  = 6
	tuneRate    = 0.5
	splitRate   = 0.25
	splitLanes  = tilePlaces * width // subproblems that are bounded at once
	splitBudget = 1 << 35            // products of a search, a second or less where vectors are at hand
	splitLeast  = 100_000            // products that a small network is counted as: rounds cost time of their own
)

// subproblem is a row over the inputs at which some ReLUs have a sign, with the slopes that bound it best.
type subproblem struct {
	bound                   float64
	alpha, beta, sign, g, z [][]float32 // by node, for ReLUs whose sign is open
	node, at                int         // the ReLU to split next, among the open ones
}

// split bounds a row by splitting ReLUs until all bounds are below zero or the budget, in products, is spent: the
// largest bound of all subproblems is one of the row.
func (b *bounder) split(ctx context.Context, row []float64, offset, bound float64, budget *int) (float64, error) {
	rows, offsets := slices.Repeat(row, splitLanes), slices.Repeat([]float64{offset}, splitLanes)
	open := []*subproblem{{}}
	for len(open) > 0 {
		if *budget <= 0 {
			return bound, nil
		}
		slices.SortStableFunc(open, func(a, b *subproblem) int { return cmp.Compare(b.bound, a.bound) })
		parents := open[:min(splitLanes/2, len(open))]
		open = slices.Clone(open[len(parents):])
		lanes, steps := 2*len(parents), splitSteps
		if parents[0].alpha == nil { // the row itself
			lanes, steps = 1, tuneSteps
		}
		t := b.n.newWalk(ctx, b.tight, offsets[:lanes], adaptive, b.a).startSlopes(b.n.output)
		for lane := 0; lanes > 1 && lane < lanes; lane++ {
			t.load(parents[lane/2], lane)
		}
		*budget -= 2 * steps * splitLanes * max(b.n.products(), splitLeast)
		found, err := b.n.tune(ctx, b.tight, b.n.output, rows[:lanes*len(row)], offsets[:lanes], t, steps, splitRate, true,
			b.a)
		if err != nil {
			return bound, err
		}
		for lane, v := range found {
			if v < 0 {
				continue
			}
			s := t.save(lane)
			if s.bound = v; !b.n.choose(b.tight, t, s) {
				return bound, nil // all ReLUs are split
			}
			open = append(open, s)
		}
	}
	return min(bound, -math.SmallestNonzeroFloat64), nil
}

// products is how many an evaluation takes.
func (n *Network) products() int {
	products := 1
	for _, nd := range n.nodes {
		if l, ok := nd.layer.(affine); ok {
			products += nd.shape.Size() * l.terms()
		}
	}
	return products
}

func (t *tuned) load(p *subproblem, lane int) {
	b, r := lane/width, lane%width
	for i, open := range t.open {
		size := len(t.alpha[i]) / t.blocks
		for k, j := range open {
			at := b*size + j
			t.alpha[i][at][r], t.beta[i][at][r], t.sign[i][at][r] = p.alpha[i][k], p.beta[i][k], p.sign[i][k]
		}
	}
	size := len(t.sign[p.node]) / t.blocks
	t.sign[p.node][b*size+t.open[p.node][p.at]][r] = float32(1 - 2*(lane%2))
}

// save is what was found for a lane.
func (t *tuned) save(lane int) *subproblem {
	take := func(from [][]rowLane) [][]float32 {
		to := make([][]float32, len(from))
		for i, open := range t.open {
			size := len(from[i]) / t.blocks
			for _, j := range open {
				to[i] = append(to[i], from[i][lane/width*size+j][lane%width])
			}
		}
		return to
	}
	return &subproblem{alpha: take(t.alpha), beta: take(t.beta), sign: take(t.sign), g: take(t.g), z: take(t.z)}
}

// choose finds the ReLU whose line costs the bound most at the worst input, and says whether any is left.
func (n *Network) choose(r *region, t *tuned, s *subproblem) bool {
	most, any := -1.0, false
	for i, open := range t.open {
		for k, j := range open {
			box := r.boxes[n.nodes[i].in[0]]
			if s.sign[i][k] != 0 {
				continue
			}
			lo, hi, v, z := box.Lower[j], box.Upper[j], float64(s.g[i][k]), float64(s.z[i][k])
			gap := v * (hi/(hi-lo)*(z-lo) - max(z, 0))
			if v < 0 {
				gap = v * (float64(s.alpha[i][k])*z - max(z, 0))
			}
			if gap > most {
				most, any, s.node, s.at = gap, true, i, k
			}
		}
	}
	s.g, s.z = nil, nil
	return any
}
