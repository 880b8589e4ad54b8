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
	case *activation:
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

// finish is what bounds of rows on the input are; no rows: the outputs do not depend on it.
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

// numbers puts +∞, which always holds, where a product of float32 overflowed: no output lies below all numbers.
func numbers(bounds []float64) []float64 {
	for i, b := range bounds {
		if !(b > math.Inf(-1)) {
			bounds[i] = math.Inf(1)
		}
	}
	return bounds
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

func (l affine) walk(s step, at int) {
	slack := s.r.slack(s.ctx, l, s.in[0], at, s.a)
	more := 1.0
	if s.a != Plain {
		more += s.off[0] / s.a.gamma(l.terms())
	}
	s.constants(at, l.bias(), func(i int) float64 { return slack[i] * more })
	l.rowsBack(s)
}

// slack is that of an affine layer, computed once: wider boxes have no less.
func (r *region) slack(ctx context.Context, l affine, in, at int, a Arithmetic) []float64 {
	if r.slacks[at] == nil {
		r.slacks[at] = l.slack(ctx, r.boxes[in], a)
	}
	return r.slacks[at]
}

func (l *activation) walk(s step, at int) {
	if s.bends[at] == nil {
		s.bends[at] = l.bends(s, at)
	}
	for b := range s.blocks {
		kernel.BendRows(&s.sums[b], s.block(b), s.bends[at], s.into(0, b), s.fresh[0])
	}
}

func (l *activation) bends(s step, at int) []kernel.Bend {
	in, faint := s.r.boxes[s.in[0]], s.r.reach[at].faint()
	lines := make([]kernel.Bend, len(in.Lower))
	for i, lo := range in.Lower {
		hi := in.Upper[i]
		upper, lower := segment{0, s.out.Upper[i]}, segment{0, s.out.Lower[i]}
		e := 0.0
		if l.chord != nil && !math.IsInf(lo, 0) && !math.IsInf(hi, 0) {
			upper, lower = l.chord(lo, hi, s.slope)
			if s.a != Plain {
				m := in.largest(i)
				steepest := max(math.Abs(upper.slope), math.Abs(lower.slope))
				e = l.err(m) + host*(math.Abs(upper.offset)+math.Abs(lower.offset)+2*steepest*m) +
					(s.off[0]+2*single)*steepest*m
			}
		}
		if s.a != Plain {
			e += faint
		}
		lines[i] = kernel.Bend{Up: float32(upper.slope), Low: float32(lower.slope),
			Over: upper.offset + e, Under: lower.offset - e}
	}
	return lines
}

// walk: the maximum is at least each of its inputs, and equals the one whose lower bound no other's upper bound
// exceeds; else it is at most the largest upper bound.
func (l *maximum) walk(s step, at int) {
	in := s.r.boxes[s.in[0]]
	s.constants(at, bias{}, func(i int) float64 {
		if s.off[0] == 0 || math.IsInf(s.out.largest(i), 0) {
			return 0
		}
		return s.off[0] * s.out.largest(i)
	})
	l.each(func(o int, members []int) {
		best := l.first(in.Lower, members)
		wins := true
		for _, i := range members {
			wins = wins && (i == best || in.Upper[i] <= in.Lower[best])
		}
		for b := range s.blocks {
			to := &s.into(0, b)[best]
			for r, v := range s.block(b)[o] {
				switch {
				case v > 0 && !wins:
					s.sums[b][r] += float64(float64(v) * s.out.Upper[o])
				case v != 0:
					to[r] += v
				}
			}
		}
	})
}

func (l *arrange) walk(s step, at int) {
	constants := bias{b: make([]float64, len(s.out.Lower)), times: 1}
	for o := range l.from {
		if l.from[o] < 0 {
			constants.b[o] = l.constant
		}
	}
	s.constants(at, constants, func(i int) float64 { return s.passed(0, i) })
	for b := range s.blocks {
		g, to := s.block(b), s.into(0, b)
		for o := range g {
			i := o
			if l.from != nil {
				i = int(l.from[o])
			}
			if i >= 0 {
				to[i].Add(&g[o], 1)
			}
		}
	}
}

// passed is what the coefficients on an input may be off by, for a value that goes to output i as it is.
func (s step) passed(in, i int) float64 {
	if s.a == Plain {
		return 0
	}
	return s.off[in] * s.out.largest(i)
}

// most is how many outputs take the same input.
func (l *arrange) most(inputs int) int {
	count, most := make([]int32, inputs), int32(1)
	for _, i := range l.from {
		if i >= 0 {
			count[i]++
			most = max(most, count[i])
		}
	}
	return int(most)
}

func (l *sum) walk(s step, at int) {
	boxes := pick(s.r.boxes, s.in)
	slack := l.slack(boxes, s.a)
	s.constants(at, bias{}, func(i int) float64 {
		for j, b := range boxes {
			if s.a != Plain {
				slack[i] += s.off[j] * b.largest(i)
			}
		}
		return slack[i]
	})
	for j := range boxes {
		for b := range s.blocks {
			to := s.into(j, b)
			for i := range s.block(b) {
				to[i].Add(&s.block(b)[i], float32(l.sign[j]))
			}
		}
	}
}

func (l *concat) walk(s step, at int) {
	off := make([]float64, len(s.out.Lower))
	l.each(func(j, from, to, size int) {
		for i := to; i < to+size; i++ {
			off[i] = s.passed(j, i)
		}
	})
	s.constants(at, bias{}, func(i int) float64 { return off[i] })
	for b := range s.blocks {
		g := s.block(b)
		l.each(func(j, from, to, size int) {
			for i := range size {
				s.into(j, b)[from+i].Add(&g[to+i], 1)
			}
		})
	}
}

func (l *scale) spread(ctx context.Context, in, out [3][]float64) { spreadByApply(ctx, l, in, out) }
func (l *scale) back() int                                        { return 1 }

func (l *scale) rowsBack(s step) {
	for b := range s.blocks {
		g, to := s.block(b), s.into(0, b)
		for j, by := range l.s {
			factor := float32(by)
			for i := j * l.times; i < (j+1)*l.times; i++ {
				for r, v := range g[i] {
					to[i][r] += float32(factor * v)
				}
			}
		}
	}
}

func (l *average) spread(ctx context.Context, in, out [3][]float64) { spreadByApply(ctx, l, in, out) }
func (l *average) back() int                                        { return 2 * l.places }

func (l *average) rowsBack(s step) {
	var members []int
	for o, by := range l.divisor {
		members = l.members(o, members)
		for b := range s.blocks {
			to := s.into(0, b)
			for r, v := range s.block(b)[o] {
				v /= float32(by)
				for _, i := range members {
					to[i][r] += v
				}
			}
		}
	}
}

func (d *dense) back() int { return d.out }

// tiled are weights for tiles of six values: by value, then product.
type tiled[T float32 | float64] struct {
	once sync.Once
	w    []T
}

// tiles packs the weights of values, each a sum of products of which weight gives one.
func (t *tiled[T]) tiles(values, products int, weight func(value, product int) float64) []T {
	t.once.Do(func() {
		t.w = make([]T, (values+kernel.TileChannels-1)/kernel.TileChannels*kernel.TileChannels*products)
		for v := range values {
			if products == 0 {
				break
			}
			to := t.w[v/kernel.TileChannels*kernel.TileChannels*products+v%kernel.TileChannels:]
			for p := range products {
				to[p*kernel.TileChannels] = T(weight(v, p))
			}
		}
	})
	return t.w
}

func (d *dense) rowsBack(s step) {
	w := d.single.tiles(d.in, d.out, func(i, o int) float64 { return d.w[o*d.in+i] })
	d.multiplyRows(s, s.g, s.gin[0], w, d.in, d.out, s.fresh[0])
}

// multiplyRows adds to y, of so many values in a block, sums of products of x; four blocks are a tile.
func (d *dense) multiplyRows(s step, x, y []kernel.RowLane, w []float32, values, products int, fresh bool) {
	if fresh && products == 0 {
		clear(y[:s.blocks*values])
	}
	if values == 0 || products == 0 {
		return
	}
	var t kernel.Tap
	var sums [kernel.TileSums]kernel.RowLane
	for i := 0; i < values && s.ctx.Err() == nil; i += kernel.TileChannels {
		n := min(kernel.TileChannels, values-i)
		t.W = i * products
		for b := 0; b < s.blocks; b += kernel.TilePlaces { // all blocks while the weights are in the cache
			places := min(kernel.TilePlaces, s.blocks-b)
			for p := range t.X {
				t.X[p] = min(b+p, s.blocks-1) * products
			}
			at := func(c, p int) *kernel.RowLane { return &y[(b+p)*values+i+c] }
			if fresh {
				clear(sums[:])
			}
			for c := 0; c < n && !fresh; c++ {
				for p := range places {
					sums[c*kernel.TilePlaces+p] = *at(c, p)
				}
			}
			kernel.TileSum(&sums, x, w, []kernel.Tap{t}, products)
			for c := range n {
				for p := range places {
					*at(c, p) = sums[c*kernel.TilePlaces+p]
				}
			}
		}
	}
}

func (c *convolution) back() int { return c.outC / c.Groups * c.Kernel[0] * c.Kernel[1] }

// gather makes sums of products with values of other pixels: those of four pixels are a tile. It turns what it reads so
// that the channels of a pixel lie together.
type gather struct {
	values, products, groups int // channels of a group, of the sums and of what they are of
	area, from               int // pixels of both
	w                        []float32
}

// padded is how many channels of a group the tiles have.
func (g gather) padded() int {
	return (g.values + kernel.TileChannels - 1) / kernel.TileChannels * kernel.TileChannels
}

// run takes pixels by quads, with the rows and columns of the kernel that reach them, and the pixels that they reach,
// −1 for none.
func (g gather) run(s step, x, y []kernel.RowLane, fresh bool, columns int, quads func(f func(pixels, ty, tx []int)),
	reached func(pixel, ky, kx int) int) {
	all := g.groups * g.products
	one := walk{blocks: 1}
	turned := one.take((g.from+1)*all, false)
	defer give(turned)
	clear(turned[g.from*all:]) // behind the last pixel
	var sums [kernel.TileSums]kernel.RowLane
	var taps []kernel.Tap
	places := len(g.w) / (g.groups * g.padded() * g.products)
	for b := range s.blocks {
		x, y := x[b*g.from*all:], y[b*g.area*g.groups*g.values:]
		for ch := range all {
			for o, v := range x[ch*g.from : (ch+1)*g.from] {
				turned[o*all+ch] = v
			}
		}
		quads(func(pixels, ty, tx []int) {
			if taps = taps[:0]; s.ctx.Err() != nil {
				return
			}
			for _, ky := range ty {
				for _, kx := range tx {
					t, any := kernel.Tap{W: (ky*columns + kx) * g.products * kernel.TileChannels}, false
					for p := range t.X {
						at := reached(pixels[min(p, len(pixels)-1)], ky, kx)
						if any = any || at >= 0; at < 0 {
							at = g.from
						}
						t.X[p] = at * all
					}
					if any {
						taps = append(taps, t)
					}
				}
			}
			for group := range g.groups {
				for i := 0; i < g.values; i += kernel.TileChannels {
					n := min(kernel.TileChannels, g.values-i)
					at := func(ch, p int) *kernel.RowLane { return &y[(group*g.values+i+ch)*g.area+pixels[p]] }
					if fresh {
						clear(sums[:])
					}
					for ch := 0; ch < n && !fresh; ch++ {
						for p := range pixels {
							sums[ch*kernel.TilePlaces+p] = *at(ch, p)
						}
					}
					weights := g.w[(group*g.padded()+i)*places*g.products:]
					kernel.TileSum(&sums, turned[group*g.products:], weights, taps, g.products)
					for ch := range n {
						for p := range pixels {
							*at(ch, p) = sums[ch*kernel.TilePlaces+p]
						}
					}
				}
			}
		})
	}
}

func (c *convolution) rowsBack(s step) {
	channels, out, places := c.inC/c.Groups, c.outC/c.Groups, c.Kernel[0]*c.Kernel[1]
	g := gather{values: channels, products: out, groups: c.Groups, area: c.inH * c.inW, from: c.outH * c.outW}
	g.w = c.single.tiles(c.Groups*g.padded(), places*out, func(v, p int) float64 {
		group, ch, place, o := v/g.padded(), v%g.padded(), p/out, p%out
		if ch >= channels {
			return 0
		}
		return c.w[((group*out+o)*channels+ch)*places+place]
	})
	g.run(s, s.g, s.gin[0], s.fresh[0], c.Kernel[1], c.quads, func(pixel, ky, kx int) int {
		y, x := pixel/c.inW+c.Pad[0]-ky*c.Dilation[0], pixel%c.inW+c.Pad[1]-kx*c.Dilation[1]
		if y < 0 || x < 0 || y/c.Stride[0] >= c.outH || x/c.Stride[1] >= c.outW {
			return -1
		}
		return y/c.Stride[0]*c.outW + x/c.Stride[1]
	})
}

// quads calls f with up to four inputs of the same remainders by the stride, and the rows and columns of the kernel
// that reach such inputs.
func (c *convolution) quads(f func(pixels, ty, tx []int)) {
	reach := func(axis, remainder int) (places []int) {
		for k := range c.Kernel[axis] {
			if (remainder+c.Pad[axis]-k*c.Dilation[axis])%c.Stride[axis] == 0 {
				places = append(places, k)
			}
		}
		return places
	}
	for py := range c.Stride[0] {
		for px := range c.Stride[1] {
			ty, tx := reach(0, py), reach(1, px)
			var all []int
			for y := py; y < c.inH; y += c.Stride[0] {
				for x := px; x < c.inW; x += c.Stride[1] {
					all = append(all, y*c.inW+x)
				}
			}
			for pixels := range slices.Chunk(all, kernel.TilePlaces) {
				f(pixels, ty, tx)
			}
		}
	}
}
