package feedforward

import (
	"context"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/array"

	"github.com/certspec/certspec/internal/feedforward/kernel"
)

// tuned are lines below ReLUs that are chosen row by row (Xu et al. 2021, α-CROWN), and ReLUs that are split: where a
// row speaks of the inputs of one sign alone, β ≥ 0 times that input is added (Wang et al. 2021, β-CROWN). Whatever
// the numbers are, the bound holds; gradients find those that make it small. By node, as rows of a walk are.
type tuned struct {
	alpha  [][]kernel.RowLane
	open   [][]int // values whose sign is open
	fixed  []fixed
	blocks int
	g, z   [][]kernel.RowLane // coefficients on the outputs of ReLUs, inputs of ReLUs at the worst input
	taken  [][]kernel.RowLane // what these and others lie in, for the next step
}

// fixed is a ReLU whose input has a sign, 1 or −1, for a row.
type fixed struct {
	node, at, row int
	sign, beta    float32
}

// place of a ReLU that is fixed, in the rows on its node.
func (f fixed) place(rows []kernel.RowLane, blocks int) *float32 {
	return &rows[f.row/kernel.Width*len(rows)/blocks+f.at][f.row%kernel.Width]
}

// tunable says whether gradients of bounds are known.
func (n *Network) tunable() bool {
	for _, nd := range n.nodes[1:] {
		switch l := nd.layer.(type) {
		case *activation:
			if !l.rectifier {
				return false
			}
		case *arrange, *sum:
		case affine:
			if _, ok := l.linear.(ahead); !ok {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// ahead is a linear that adds Wx to y for values of several rows.
type ahead interface {
	rowsAhead(s step, x, y []kernel.RowLane)
}

// startSlopes are those that CROWN has.
func (w *walk) startSlopes(from int) *tuned {
	made := func() [][]kernel.RowLane { return make([][]kernel.RowLane, len(w.n.nodes)) }
	t := &tuned{alpha: made(), open: make([][]int, len(w.n.nodes)), blocks: w.blocks, g: made(), z: made()}
	for i, nd := range w.n.nodes[:from+1] {
		if _, ok := nd.layer.(*activation); !ok {
			continue
		}
		box, size := w.r.boxes[nd.in[0]], nd.shape.Size()
		t.alpha[i] = make([]kernel.RowLane, w.blocks*size)
		t.open[i] = box.open()
		for _, j := range t.open[i] {
			for k := j; box.Upper[j] >= -box.Lower[j] && k < len(t.alpha[i]); k += size {
				t.alpha[i][k] = everywhere32(1)
			}
		}
	}
	for _, f := range w.r.fixed {
		for f.row = 0; f.node <= from && f.row < w.blocks*kernel.Width; f.row++ {
			t.fixed = append(t.fixed, f)
		}
	}
	return t
}

// release gives back what g and z lie in.
func (t *tuned) release() {
	for _, v := range t.taken {
		give(v)
	}
	t.taken = nil
}

// last is the last node of ReLUs.
func (t *tuned) last() int {
	last := len(t.alpha) - 1
	for last > 0 && t.alpha[last] == nil {
		last--
	}
	return last
}

// open are the values whose sign is open.
func (b Box) open() (open []int) {
	for j, lo := range b.Lower {
		if lo < 0 && b.Upper[j] > 0 {
			open = append(open, j)
		}
	}
	return open
}

func everywhere32(v float32) (l kernel.RowLane) {
	for r := range l {
		l[r] = v
	}
	return l
}

// walkTuned is walk of a ReLU with lines of its own for each row.
func (s step) walkTuned(at int) {
	in, t, faint := s.r.boxes[s.in[0]], s.tuned, s.r.reach[at].faint()
	lines, held := make([]kernel.Bend, len(in.Lower)), make([]float32, len(t.fixed))
	for i, lo := range in.Lower {
		hi, m, e, up, offset, low := in.Upper[i], in.largest(i), 0.0, 0.0, 0.0, 0.0
		if s.a != Plain {
			e = s.slackOfSlopes(m) + faint
		}
		switch {
		case math.IsInf(m, 0):
			offset = s.out.Upper[i]
		case lo >= 0:
			up, low = 1, 1
		case hi > 0:
			up = hi / (hi - lo)
			offset = -up * lo
		default:
			e = 0 // zero whatever the coefficient is
		}
		lines[i] = kernel.Bend{Up: float32(up), Low: float32(low), Over: offset + e, Under: -e} // a ReLU is at least 0
	}
	for k, f := range t.fixed {
		if f.node == at {
			g := f.place(s.g, s.blocks)
			held[k], *g = *g, 0
		}
	}
	for b := range s.blocks {
		g, to := s.block(b), s.into(0, b)
		kernel.BendRows(&s.sums[b], g, lines, to, s.fresh[0])
		for _, i := range t.open[at] {
			alpha := &t.alpha[at][b*len(in.Lower)+i]
			for r, v := range g[i] {
				to[i][r] += float32(min(v, 0) * alpha[r])
			}
		}
	}
	for k, f := range t.fixed {
		if f.node != at {
			continue
		}
		v, m, sum := held[k], in.largest(f.at), &s.sums[f.row/kernel.Width][f.row%kernel.Width]
		*f.place(s.g, s.blocks) = v
		*f.place(s.gin[0], s.blocks) += float32(v*((1+f.sign)/2)) + float32(f.sign*f.beta)
		if s.a != Plain {
			*sum += math.Abs(float64(v))*(s.slackOfSlopes(m)+faint) + float64(f.beta)*s.slackOfSlopes(m)
		}
	}
}

// slackOfSlopes is the cost of a coefficient of at most 1 on a value of magnitude m.
func (s step) slackOfSlopes(m float64) float64 { return (s.off[0]+4*single)*m + 8*host*m }

// worst evaluates the lines of each row, forward from the input that its bound stands for: z are then the derivatives
// of the bounds by the coefficients on the inputs of ReLUs. g are the rows on the input.
func (w *walk) worst(g []kernel.RowLane, from int) {
	box, nodes, t := w.r.boxes[0], w.n.nodes, w.tuned
	values := make([][]kernel.RowLane, from+1)
	values[0] = w.take(len(box.Lower), false)
	t.taken = append(t.taken, values[0])
	for i, lo := range box.Lower {
		ends := [2]float32{float32(box.Upper[i]), float32(lo)}
		for k := i; k < len(g); k += len(box.Lower) {
			to := &values[0][k]
			for r, v := range &g[k] {
				to[r] = ends[math.Float32bits(v)>>31]
			}
		}
	}
	for i := 1; i <= t.last(); i++ {
		nd := nodes[i]
		size, x := nd.shape.Size(), values[nd.in[0]]
		if l, ok := nd.layer.(*arrange); ok && l.from == nil {
			values[i] = x
			continue
		}
		out := w.take(size, true)
		values[i], t.taken = out, append(t.taken, out)
		s := step{walk: w, node: nd, at: i, out: w.r.boxes[i]}
		switch l := nd.layer.(type) {
		case *activation:
			t.z[i] = x
			w.bendAhead(i, w.r.boxes[nd.in[0]], x, out)
		case *arrange:
			for b := range w.blocks {
				to, inputs := out[b*size:][:size], x[b*len(x)/w.blocks:]
				for o := range to {
					if to[o] = everywhere32(float32(l.constant)); l.from[o] >= 0 {
						to[o] = inputs[l.from[o]]
					}
				}
			}
		case *sum:
			for j, in := range nd.in {
				for k := range out {
					out[k].Add(&values[in][k], float32(l.sign[j]))
				}
			}
		case affine:
			if b := l.bias(); b.b != nil {
				for k := range out {
					out[k] = everywhere32(float32(b.b[k%size/b.times]))
				}
			}
			l.linear.(ahead).rowsAhead(s, x, out)
		}
	}
}

func (w *walk) bendAhead(at int, in Box, x, out []kernel.RowLane) {
	t, size := w.tuned, len(in.Lower)
	for i, lo := range in.Lower {
		for k := i; lo >= 0 && k < len(out); k += size {
			out[k] = x[k]
		}
	}
	for _, i := range t.open[at] {
		up := float32(in.Upper[i] / (in.Upper[i] - in.Lower[i]))
		offset := -up * float32(in.Lower[i])
		for k := i; k < len(out); k += size {
			to, g, alpha := &out[k], &t.g[at][k], &t.alpha[at][k]
			for r, v := range x[k] {
				lines := [2]float32{float32(up*v) + offset, alpha[r] * v}
				to[r] = lines[math.Float32bits(g[r])>>31]
			}
		}
	}
	for _, f := range t.fixed {
		if f.node == at {
			*f.place(out, w.blocks) = (1 + f.sign) / 2 * *f.place(x, w.blocks)
		}
	}
}

// descend moves α and β a step against the signs of the gradients.
func (w *walk) descend(rate float32) {
	t := w.tuned
	toward := func(z float32) float32 { // ±rate, as z
		return math.Float32frombits(math.Float32bits(z)&(1<<31) | math.Float32bits(rate))
	}
	for i, open := range t.open {
		size := len(t.alpha[i]) / t.blocks
		for _, j := range open {
			for k := j; k < len(t.alpha[i]); k += size {
				g, z, alpha := &t.g[i][k], &t.z[i][k], &t.alpha[i][k]
				for r, v := range g {
					moved := [2]float32{0, toward(z[r])}[math.Float32bits(v)>>31] // v·z > 0: a smaller slope
					alpha[r] = min(1, max(0, alpha[r]+moved))
				}
			}
		}
	}
	for k := range t.fixed {
		f := &t.fixed[k]
		v, z := *f.place(t.g[f.node], t.blocks), *f.place(t.z[f.node], t.blocks)
		f.beta = max(0, f.beta-toward(z)*f.sign*float32(math.Abs(float64(v))))
	}
}

// tuning is how slopes are optimised.
type tuning struct {
	steps  int
	rate   float32
	proven bool // bounds below zero are small enough
	spent  *int // products
}

// tune is crown with slopes that are optimised row by row: each step is a bound, and the smallest counts. A bound that
// is below zero needs no more, where only that is asked.
func (n *Network) tune(ctx context.Context, r *region, from int, rows, offsets []float64, t *tuned, how tuning,
	a Arithmetic) ([]float64, error) {
	var best []float64
	for k := range how.steps {
		walked := 2 * (len(offsets) + kernel.Width - 1) / kernel.Width * kernel.Width // there and back
		*how.spent += walked * max(n.products(from), splitLeast)
		w := n.newWalk(ctx, r, offsets, adaptive, a)
		if t == nil {
			t = w.startSlopes(from)
			defer t.release()
		}
		last := k == how.steps-1
		if w.tuned = t; !last { // whose inputs of ReLUs come from the step before
			t.release()
		}
		g, err := w.back(from, rows, offsets)
		if err != nil {
			return nil, err
		}
		if g == nil {
			return w.finish(nil, offsets), nil
		}
		if !last {
			w.worst(g, from)
			w.descend(how.rate)
			how.rate *= 0.8
		}
		found := w.finish(g, offsets)
		if best == nil {
			best = found
		}
		lower(best, found)
		if last || how.proven && slices.Max(best) < 0 {
			break
		}
	}
	return best, nil
}

// live is a bounder of a network without the ReLUs that are zero on all of the set, where dense layers are before and
// behind them: what is zero changes no sum, whatever its order is.
func (b *bounder) live() *bounder {
	n := &Network{nodes: slices.Clone(b.n.nodes), output: b.n.output}
	n.once.Do(func() { n.added, n.lossless = b.n.addedTerms() })
	to := &bounder{n: n, a: b.a, tight: b.tight.clone()}
	readers := make([][]int, len(n.nodes))
	for i, nd := range n.nodes {
		for _, in := range nd.in {
			readers[in] = append(readers[in], i)
		}
	}
	of := func(i int) *dense {
		l, _ := n.nodes[i].layer.(affine)
		d, _ := l.linear.(*dense)
		return d
	}
	for i, nd := range n.nodes {
		l, ok := nd.layer.(*activation)
		if !ok || !l.rectifier || of(nd.in[0]) == nil || len(readers[nd.in[0]]) > 1 ||
			slices.ContainsFunc(readers[i], func(k int) bool { return of(k) == nil }) {
			continue
		}
		var rows []int
		for j, hi := range to.tight.boxes[nd.in[0]].Upper {
			if hi > 0 {
				rows = append(rows, j)
			}
		}
		if i == n.output || len(rows) == 0 {
			continue
		}
		to.tight = to.tight.only(i, rows).only(nd.in[0], rows)
		n.nodes[i].shape = Shape{len(rows)}
		before, p := of(nd.in[0]), &n.nodes[nd.in[0]]
		p.shape, p.layer = Shape{len(rows)}, affine{before.part(rows, array.UpTo(0, before.in))}
		for _, k := range readers[i] {
			n.nodes[k].layer = affine{of(k).part(array.UpTo(0, of(k).out), rows)}
		}
	}
	return to
}

func (d *dense) rowsAhead(s step, x, y []kernel.RowLane) {
	w := d.singleAhead.tiles(d.out, d.in, func(o, i int) float64 { return d.w[o*d.in+i] })
	d.multiplyRows(s, x, y, w, d.out, d.in, false)
}

func (l *scale) rowsAhead(s step, x, y []kernel.RowLane) {
	size := len(y) / s.blocks
	for k := range y {
		y[k].Add(&x[k], float32(l.s[k%size/l.times]))
	}
}

func (c *convolution) rowsAhead(s step, x, y []kernel.RowLane) {
	channels, out, places := c.inC/c.Groups, c.outC/c.Groups, c.Kernel[0]*c.Kernel[1]
	g := gather{values: out, products: channels, groups: c.Groups, area: c.outH * c.outW, from: c.inH * c.inW}
	g.w = c.singleAhead.tiles(c.Groups*g.padded(), places*channels, func(v, p int) float64 {
		group, o, place, ch := v/g.padded(), v%g.padded(), p/channels, p%channels
		if o >= out {
			return 0
		}
		return c.w[((group*out+o)*channels+ch)*places+place]
	})
	g.run(s, x, y, false, c.Kernel[1], func(f func(pixels, ty, tx []int)) {
		rows, cols := array.UpTo(0, c.Kernel[0]), array.UpTo(0, c.Kernel[1])
		for pixels := range slices.Chunk(array.UpTo(0, g.area), kernel.TilePlaces) {
			f(pixels, rows, cols)
		}
	}, func(o, ky, kx int) int {
		iy := o/c.outW*c.Stride[0] - c.Pad[0] + ky*c.Dilation[0]
		ix := o%c.outW*c.Stride[1] - c.Pad[1] + kx*c.Dilation[1]
		if iy < 0 || iy >= c.inH || ix < 0 || ix >= c.inW {
			return -1
		}
		return iy*c.inW + ix
	})
}
