package feedforward

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/kernel"
)

// Of slopes and splits.
const (
	tuneSteps   = 10
	partSteps   = 4 // between the layers of a part
	splitSteps  = 6
	tuneRate    = 0.5
	splitRate   = 0.25
	splitLanes  = kernel.TilePlaces * kernel.Width // subproblems that are bounded at once
	splitBudget = 1 << 35                          // products of a search, a second or less where vectors are at hand
	// splitLeast are the products that a small network counts as, since rounds cost time of their own
	splitLeast = 100_000
)

// search is one for a proof that rows are below zero on a set.
type search struct {
	*bounder
	rows, offsets []float64
	spent, most   int // products
	err           error
}

// part is the inputs of a set at which some ReLUs have a sign, with bounds between the layers of their own.
type part struct {
	r     *region
	bound float64 // the largest of all rows
	t     *tuned  // slopes of the rows
	next  fixed   // the ReLU to split
}

// prove puts bounds below zero where they are proven to be, before the budget is spent: all at once, as cases of a
// property are, then each alone, as conditions of a case may be.
func (s *search) prove(ctx context.Context, rows, offsets, bounds []float64) error {
	size, open := s.n.Outputs(), unproven(bounds)
	try := func(of []int, most int) bool {
		s.rows, s.offsets, s.most = nil, nil, most
		for _, k := range of {
			s.rows, s.offsets = append(s.rows, rows[k*size:(k+1)*size]...), append(s.offsets, offsets[k])
		}
		proven := s.run(ctx)
		for i := 0; proven && i < len(of); i++ {
			bounds[of[i]] = min(bounds[of[i]], -math.SmallestNonzeroFloat64)
		}
		return proven
	}
	if len(open) > 1 && try(open, splitBudget) {
		return nil
	}
	for _, k := range slices.Backward(open) {
		try([]int{k}, splitBudget/2*3)
	}
	return s.err
}

// unproven are the bounds that are not below zero, from the largest on.
func unproven(bounds []float64) (open []int) {
	for k, v := range bounds {
		if !(v < 0) {
			open = append(open, k)
		}
	}
	slices.SortStableFunc(open, func(a, b int) int { return cmp.Compare(bounds[b], bounds[a]) })
	return open
}

// run says whether rows are proven to be below zero, before the budget is spent. ReLUs of all layers but the last are
// split for all rows, and layers behind them are bounded again. In each part ReLUs of all layers are split row by row,
// as long as the bounds of the rows took.
func (s *search) run(ctx context.Context) bool {
	root := &part{r: s.tight, bound: math.Inf(1), t: &tuned{}}
	if s.decide(ctx, root, tuneSteps) {
		return true
	}
	for open := []*part{root}; len(open) > 0; {
		slices.SortStableFunc(open, func(a, b *part) int { return cmp.Compare(a.bound, b.bound) })
		parent := open[len(open)-1]
		open = open[:len(open)-1]
		if s.spent > s.most || parent.next.node == 0 { // or all ReLUs are split
			return false
		}
		for _, f := range parent.next.sides() {
			p := &part{r: parent.r.fix(s.n, f), bound: parent.bound, t: parent.t}
			from, how := s.n.nodes[f.node].in[0]+1, tuning{partSteps, tuneRate, false, &s.spent}
			if s.err = s.n.tighten(ctx, p.r, from, how, s.a); s.err != nil {
				return false
			}
			if !p.r.empty() && !s.decide(ctx, p, splitSteps) {
				open = append(open, p)
			}
		}
	}
	return true
}

// sides are a ReLU with both signs.
func (f fixed) sides() [2]fixed {
	return [2]fixed{{f.node, f.at, 0, 1, 0}, {f.node, f.at, 0, -1, 0}}
}

// fix is a region in which the input of a ReLU has a sign.
func (r *region) fix(n *Network, f fixed) *region {
	c := r.clone()
	if box := c.boxes[n.nodes[f.node].in[0]]; f.sign > 0 {
		box.Lower[f.at] = 0
	} else {
		box.Upper[f.at] = 0
	}
	c.fixed = append(c.fixed, f)
	return c
}

// empty says whether no input is in the region.
func (r *region) empty() bool {
	for _, b := range r.boxes {
		for i, lo := range b.Lower {
			if lo > b.Upper[i] {
				return true
			}
		}
	}
	return false
}

// decide bounds the rows on a part, and says whether all are below zero. Splits of rows may take as long
// as their bounds did, and longer on the whole set.
func (s *search) decide(ctx context.Context, p *part, steps int) bool {
	before := s.spent
	t := s.n.newWalk(ctx, p.r, s.offsets, adaptive, s.a).startSlopes(s.n.output)
	for i, a := range p.t.alpha { // of the part that this one is in
		copy(t.alpha[i], a)
	}
	copy(t.fixed, p.t.fixed)
	p.t = t
	open, bounds := s.tune(ctx, p.r, s.rows, s.offsets, t, steps)
	if len(open) == 0 {
		return s.err == nil
	}
	p.bound = min(p.bound, bounds[open[0]])
	p.next = s.choose(p.r, t, open, nil, t.last())
	t.release()
	size, most := s.n.Outputs(), s.spent+s.spent-before
	for _, k := range open {
		if p.r == s.tight {
			most = s.spent + splitBudget/8
		}
		if !s.split(ctx, p.r, s.rows[k*size:(k+1)*size], s.offsets[k], most) {
			return false
		}
	}
	return true
}

// tune gives the bounds of rows, and which are not below zero.
func (s *search) tune(ctx context.Context, r *region, rows, offsets []float64, t *tuned, steps int) ([]int, []float64) {
	bounds, err := s.n.tune(ctx, r, s.n.output, rows, offsets, t, tuning{steps, splitRate, true, &s.spent}, s.a)
	s.err = err
	return unproven(bounds), bounds
}

// choose finds the ReLU whose lines cost rows most at their worst inputs. Those of node last are taken where no others
// are left.
func (s *search) choose(r *region, t *tuned, rows []int, but []fixed, last int) (next fixed) {
	most := -1.0
	for i, open := range t.open {
		if len(open) == 0 || i == last && most >= 0 {
			continue
		}
		box := r.boxes[s.n.nodes[i].in[0]]
		for _, j := range open {
			gap := 0.0
			for _, row := range rows {
				at := func(of [][]kernel.RowLane) float64 {
					return float64(*fixed{at: j, row: row}.place(of[i], t.blocks))
				}
				g, z, line := at(t.g), at(t.z), at(t.alpha)*at(t.z)
				if g > 0 {
					line = box.Upper[j] / (box.Upper[j] - box.Lower[j]) * (z - box.Lower[j])
				}
				gap += max(0, g*(line-max(z, 0)))
			}
			if gap > most && !slices.ContainsFunc(but, func(f fixed) bool { return f.node == i && f.at == j }) {
				most, next = gap, fixed{node: i, at: j}
			}
		}
	}
	return next
}

// subproblem is a row over the inputs of a part at which further ReLUs have a sign, with the slopes that bound it best.
type subproblem struct {
	bound float64
	alpha []float32 // of ReLUs whose sign is open
	fixed []fixed
	next  fixed
}

// split says whether a row is proven to be below zero by splitting ReLUs before as many products are spent.
func (s *search) split(ctx context.Context, r *region, row []float64, offset float64, most int) bool {
	rows, offsets := slices.Repeat(row, splitLanes), slices.Repeat([]float64{offset}, splitLanes)
	open := []*subproblem{{}}
	for len(open) > 0 {
		if s.spent > most {
			return false
		}
		slices.SortStableFunc(open, func(a, b *subproblem) int { return cmp.Compare(b.bound, a.bound) })
		parents := open[:min(splitLanes/2, len(open))]
		open = slices.Clone(open[len(parents):])
		lanes, steps := 2*len(parents), splitSteps
		if parents[0].alpha == nil { // the row itself
			lanes, steps = 1, tuneSteps
		}
		t := s.n.newWalk(ctx, r, offsets[:lanes], adaptive, s.a).startSlopes(s.n.output)
		for lane := 0; lanes > 1 && lane < lanes; lane++ {
			t.load(parents[lane/2], lane)
		}
		left, bounds := s.tune(ctx, r, rows[:lanes*len(row)], offsets[:lanes], t, steps)
		if s.err != nil {
			return false
		}
		for _, lane := range left {
			p := t.save(lane)
			p.bound = bounds[lane]
			if p.next = s.choose(r, t, []int{lane}, p.fixed, 0); p.next.node == 0 {
				return false // all ReLUs are split
			}
			open = append(open, p)
		}
		t.release()
	}
	return true
}

// slopes of a row, where signs are open.
func (t *tuned) slopes(row int, f func(alpha *float32)) {
	for i, open := range t.open {
		for _, j := range open {
			f(fixed{at: j, row: row}.place(t.alpha[i], t.blocks))
		}
	}
}

func (t *tuned) load(p *subproblem, row int) {
	k := 0
	t.slopes(row, func(alpha *float32) { *alpha, k = p.alpha[k], k+1 })
	t.fixed = slices.DeleteFunc(t.fixed, func(f fixed) bool { return f.row == row })
	for _, f := range append(slices.Clip(p.fixed), p.next.sides()[row%2]) {
		f.row = row
		t.fixed = append(t.fixed, f)
	}
}

func (t *tuned) save(row int) *subproblem {
	p := &subproblem{}
	t.slopes(row, func(alpha *float32) { p.alpha = append(p.alpha, *alpha) })
	p.fixed = slices.DeleteFunc(slices.Clone(t.fixed), func(f fixed) bool { return f.row != row })
	return p
}
