package feedforward

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/certspec/certspec/internal/feedforward/kernel"
)

// walk takes rows of coefficients back through a network in float32, sixteen side by side, in several blocks: row k is
// lane k mod 16 of block k/16, and value i of a node has in block b the place b·size + i.
//
// A sum of N terms in float32 is off by at most γ_N times the sum of their magnitudes (Higham 2002, lemma 3.1). So
// the coefficient of a value of magnitude m is off by γ_N·Σ|g||w|, and the bound by that times m; summed over the
// values of a layer, this is γ_N·|g|·|W|m: what rounding in the network itself costs, with another factor.
type walk struct {
	ctx    context.Context
	n      *Network
	r      *region
	a      Arithmetic
	slope  lowerSlope
	blocks int
	sums   [][kernel.Width]float64 // what the constants gain, by block
	bends  [][]kernel.Bend         // of each node, once they are known
	tuned  *tuned
}

// step is a layer on the way back.
type step struct {
	*walk
	node
	at    int
	out   Box
	g     []kernel.RowLane
	gin   [][]kernel.RowLane
	fresh []bool    // inputs whose rows nothing was added to yet: what they hold is arbitrary
	off   []float64 // for each input, what its coefficients are off by, relative to the magnitudes of their terms
}

// off32 is γ of n terms, with the rounding of a weight and of a row to float32.
func (a Arithmetic) off32(n int) float64 {
	if a == Plain {
		return 0
	}
	m := float64(n+3) * single
	return m/(1-m) + host
}

// lossless is whether weights in float32 are off by their roundoff at most.
func lossless(values []float64) bool {
	for _, v := range values {
		if math.Abs(v-float64(float32(v))) > math.Abs(v)*single {
			return false
		}
	}
	return true
}

// addedTerms is how many terms the coefficient of a value of each node is a sum of, and whether all
// weights keep their digits in float32; computed once.
func (n *Network) addedTerms() ([]int, bool) {
	n.once.Do(func() {
		n.added, n.lossless, n.dense = make([]int, len(n.nodes)), true, len(n.nodes)
		for i, nd := range n.nodes[1:] {
			terms := 1
			switch l := nd.layer.(type) {
			case affine:
				terms = l.back()
				if _, ok := l.linear.(*dense); ok {
					n.dense = min(n.dense, i+1)
				}
				for _, p := range nd.parameters {
					n.lossless = n.lossless && lossless(p.values)
				}
				if s, ok := l.linear.(*scale); ok {
					n.lossless = n.lossless && lossless(s.s)
				}
			case *maximum:
				terms = l.places
			case *arrange:
				terms = l.most(n.nodes[nd.in[0]].shape.Size())
			}
			for _, in := range nd.in {
				n.added[in] += terms
			}
		}
	})
	return n.added, n.lossless
}

// lost bounds what coefficients that are too small for float32 may change of a bound on a node.
func (w *walk) lost(from int) float64 {
	added, lossless := w.n.addedTerms()
	if w.a == Plain {
		return 0
	}
	if !lossless {
		return math.Inf(1)
	}
	lost := 0.0
	for i, b := range w.r.boxes[:from+1] {
		for j, lo := range b.Lower {
			lost += float64(added[i]+4) * 0x1p-149 * max(-lo, b.Upper[j])
		}
	}
	return lost * (1 + 4*host)
}

var lanePool sync.Pool

// overwrites is whether the layer needs no zeros to add to.
func (s step) overwrites() bool {
	switch l := s.layer.(type) {
	case affine:
		switch l.linear.(type) {
		case *dense, *convolution:
			return true
		}
	case *activation, product:
		return true
	}
	return false
}

// take is memory for the rows on so many values.
func (w *walk) take(size int, zero bool) []kernel.RowLane {
	size *= w.blocks
	if p, ok := lanePool.Get().(*[]kernel.RowLane); ok && cap(*p) >= size {
		if zero {
			clear((*p)[:size])
		}
		return (*p)[:size]
	}
	return make([]kernel.RowLane, size)
}

func give(g []kernel.RowLane) { lanePool.Put(&g) }

// crown walks back from linear functions of a node's output to the input.
func (n *Network) crown(ctx context.Context, r *region, from int, rows, offsets []float64, slope lowerSlope,
	a Arithmetic) ([]float64, error) {
	w := n.newWalk(ctx, r, offsets, slope, a)
	g, err := w.back(from, rows, offsets)
	if err != nil {
		return nil, err
	}
	return w.finish(g, offsets), ctx.Err()
}

func (n *Network) newWalk(ctx context.Context, r *region, offsets []float64, slope lowerSlope, a Arithmetic) *walk {
	blocks := (len(offsets) + kernel.Width - 1) / kernel.Width
	return &walk{ctx: ctx, n: n, r: r, a: a, slope: slope, blocks: blocks, sums: make([][kernel.Width]float64, blocks),
		bends: make([][]kernel.Bend, len(n.nodes))}
}

// back gives the rows on the input; nil where no output depends on it.
func (w *walk) back(from int, rows, offsets []float64) ([]kernel.RowLane, error) {
	n, r := w.n, w.r
	g := make([][]kernel.RowLane, from+1)
	lost := w.lost(from)
	size := n.nodes[from].shape.Size()
	g[from] = w.take(size, true)
	for i := range offsets {
		to, sum := g[from][i/kernel.Width*size:], lost
		for j, v := range rows[i*size : (i+1)*size] {
			if v == 0 {
				continue
			}
			single := float32(v)
			to[j][i%kernel.Width] = single
			if lost := math.Abs(v - float64(single)); lost != 0 && w.a != Plain {
				sum += 2 * lost * r.boxes[from].largest(j)
			}
		}
		w.sums[i/kernel.Width][i%kernel.Width] = offsets[i] + sum
	}
	return w.down(g, from)
}

// down takes the rows on nodes up to one back to the input.
func (w *walk) down(g [][]kernel.RowLane, from int) ([]kernel.RowLane, error) {
	n, r := w.n, w.r
	added, _ := n.addedTerms()
	for i := from; i > 0; i-- {
		if w.blocks > 1 && i < n.dense && w.tuned == nil {
			return w.apart(g, i)
		}
		if g[i] == nil {
			continue
		}
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		if l, ok := n.nodes[i].layer.(*arrange); ok && l.from == nil && added[n.nodes[i].in[0]] == 1 {
			g[n.nodes[i].in[0]] = g[i] // the same values, which nothing else reads
			continue
		}
		s := step{walk: w, node: n.nodes[i], at: i, out: r.boxes[i], g: g[i]}
		for _, in := range s.in {
			s.fresh = append(s.fresh, g[in] == nil)
			if g[in] == nil {
				g[in] = w.take(n.nodes[in].shape.Size(), !s.overwrites())
			}
			s.gin, s.off = append(s.gin, g[in]), append(s.off, w.a.off32(added[in]))
		}
		if w.tuned != nil && w.tuned.alpha[i] != nil {
			s.walkTuned(i)
			w.tuned.g[i], w.tuned.taken = g[i], append(w.tuned.taken, g[i])
			continue
		}
		s.layer.walk(s, i)
		give(g[i])
	}
	return g[0], w.ctx.Err()
}

// apart is down, block by block: what a layer gives is then still in a cache where the one before it reads it. A dense
// layer has too many weights to read them for each block.
func (w *walk) apart(g [][]kernel.RowLane, from int) (input []kernel.RowLane, err error) {
	one, nodes := *w, w.n.nodes
	one.blocks = 1
	for b := range w.blocks {
		one.sums = w.sums[b : b+1]
		part := make([][]kernel.RowLane, from+1)
		for i, all := range g[:from+1] {
			if size := nodes[i].shape.Size(); all != nil {
				part[i] = one.take(size, false)
				copy(part[i], all[b*size:])
			}
		}
		found, err := one.down(part, from)
		if err != nil {
			return nil, err
		}
		if found == nil {
			continue
		}
		if input == nil {
			input = w.take(len(found), false)
		}
		copy(input[b*len(found):], found)
		give(found)
	}
	for _, all := range g[:from+1] {
		if all != nil {
			give(all)
		}
	}
	return input, nil
}

// finish gives the bounds of rows on the input; no rows: the outputs do not depend on it.
func (w *walk) finish(g []kernel.RowLane, offsets []float64) []float64 {
	if g != nil {
		defer give(g)
	}
	box, size, bounds := w.r.boxes[0], len(w.r.boxes[0].Lower), make([]float64, len(offsets))
	constant := func(i int) *float64 { return &w.sums[i/kernel.Width][i%kernel.Width] }
	if w.r.lines[0] != nil {
		rows := make([]float64, len(offsets)*size)
		for i := range bounds {
			bounds[i] = *constant(i)
			for j := 0; j < size && g != nil; j++ {
				rows[i*size+j] = float64(g[i/kernel.Width*size+j][i%kernel.Width])
			}
		}
		return numbers(w.r.concretise(0, offsets, rows, bounds, w.a))
	}
	before := slices.Clone(w.sums)
	if g != nil {
		step{walk: w, out: box, g: g}.atEnds()
	}
	for i := range bounds {
		bounds[i] = *constant(i)
		if w.a != Plain {
			bounds[i] += host * (math.Abs(before[i/kernel.Width][i%kernel.Width]) + math.Abs(offsets[i]))
		}
	}
	return numbers(bounds)
}

// block gives the rows of a block.
func (s step) block(b int) []kernel.RowLane { return s.g[b*len(s.out.Lower):][:len(s.out.Lower)] }

func (s step) into(in, b int) []kernel.RowLane {
	size := len(s.gin[in]) / s.blocks
	return s.gin[in][b*size:][:size]
}

// constants adds |v|·slack_i + v·b_i to the constants, and what values lose that are subnormal.
func (s step) constants(at int, b bias, slack func(i int) float64) {
	lines := s.bends[at]
	if lines == nil {
		lines = make([]kernel.Bend, len(s.out.Lower))
		s.bends[at] = lines
		faint := s.r.reach[at].faint()
		if s.a == Plain {
			faint = 0
		}
		for i := range lines {
			off, moved := slack(i)+faint, 0.0
			if b.b != nil {
				moved = b.b[i/b.times]
			}
			lines[i].Over, lines[i].Under = moved+off, moved-off
		}
	}
	for b := range s.blocks {
		kernel.AddSums(&s.sums[b], s.block(b), lines)
	}
}

// largest is the magnitude of value i.
func (b Box) largest(i int) float64 { return max(-b.Lower[i], b.Upper[i]) }

// slack is that of an affine layer, computed once: wider boxes have no less.
func (r *region) slack(ctx context.Context, l affine, in, at int, a Arithmetic) []float64 {
	if r.slacks[at] == nil {
		r.slacks[at] = l.slack(ctx, r.boxes[in], a)
	}
	return r.slacks[at]
}

// products is how many an evaluation takes up to a node.
func (n *Network) products(to int) int {
	products := 1
	for _, nd := range n.nodes[:to+1] {
		if l, ok := nd.layer.(affine); ok {
			in, _ := l.sizes()
			products += nd.shape.Size() * min(in, l.terms())
		}
	}
	return products
}

func lower(bounds, others []float64) {
	for i, v := range others {
		bounds[i] = min(bounds[i], v)
	}
}

// numbers puts +∞, which always holds, where a product of float32 overflowed: no output lies below all numbers.
func numbers(bounds []float64) []float64 {
	for i, b := range bounds {
		if !(b > math.Inf(-1)) {
			bounds[i] = math.Inf(1)
		}
	}
	return bounds
}

// atEnds adds, for each row of coefficients, the end of the box that is largest.
func (s step) atEnds() {
	lines := make([]kernel.Bend, len(s.out.Lower))
	for i, lo := range s.out.Lower {
		hi, off := s.out.Upper[i], 0.0
		if s.a != Plain {
			off = host * s.out.largest(i)
		}
		lines[i].Over, lines[i].Under = hi+off, lo-off
	}
	for b := range s.blocks {
		kernel.AddSums(&s.sums[b], s.block(b), lines)
	}
}
