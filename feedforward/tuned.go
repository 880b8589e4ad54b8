package feedforward

import (
	"context"
	"math"
	"slices"
)

// tuned are lines below ReLUs that are chosen row by row (Xu et al. 2021, α-CROWN), and ReLUs that are split: where a
// row speaks of the inputs of one sign alone, β ≥ 0 times that input is added (Wang et al. 2021, β-CROWN). Whatever
// the numbers are, the bound holds; gradients find those that make it small. By node, as rows of a walk are.
type tuned struct {
	alpha, beta, sign [][]rowLane // sign: 1, −1, or 0 where the ReLU is not split
	open              [][]int     // values whose sign is open
	blocks            int
	g, z              [][]rowLane // coefficients on the outputs of ReLUs, inputs of ReLUs at the worst input
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
type ahead interface{ rowsAhead(s step, x, y []rowLane) }

// startSlopes are those that CROWN has.
func (w *walk) startSlopes(from int) *tuned {
	nodes := len(w.n.nodes)
	made := func() [][]rowLane { return make([][]rowLane, nodes) }
	t := &tuned{made(), made(), made(), make([][]int, nodes), w.blocks, made(), made()}
	for i, nd := range w.n.nodes[:from+1] {
		if _, ok := nd.layer.(*activation); !ok {
			continue
		}
		box := w.r.boxes[nd.in[0]]
		size := len(box.Lower)
		t.alpha[i], t.beta[i], t.sign[i] = make([]rowLane, w.blocks*size), make([]rowLane, w.blocks*size),
			make([]rowLane, w.blocks*size)
		for j, lo := range box.Lower {
			if lo >= 0 || box.Upper[j] <= 0 {
				continue
			}
			t.open[i] = append(t.open[i], j)
			for k := j; box.Upper[j] >= -lo && k < len(t.alpha[i]); k += size {
				t.alpha[i][k] = everywhere32(1)
			}
		}
	}
	return t
}

func everywhere32(v float32) (l rowLane) {
	for r := range l {
		l[r] = v
	}
	return l
}

// walkTuned is walk of a ReLU with lines of its own for each row.
func (s step) walkTuned(at int) {
	in, t := s.r.boxes[s.in[0]], s.tuned
	faint := s.r.reach[at].faint()
	size := len(in.Lower)
	for i, lo := range in.Lower {
		hi := in.Upper[i]
		m := in.largest(i)
		e, off := 0.0, 0.0
		if s.a != Plain {
			off = (s.off[0] + 4*single) * m
			e = off + faint + 8*host*m
		}
		up, offset := 0.0, 0.0
		switch {
		case math.IsInf(m, 0):
			offset = s.out.Upper[i]
		case lo >= 0:
			up = 1
		case hi > 0:
			up = hi / (hi - lo)
			offset = -up * lo
		}
		open := lo < 0 && hi > 0 && !math.IsInf(m, 0)
		for b := range s.blocks {
			place := b*size + i
			g, to, sums := &s.g[place], &s.gin[0][place], &s.sums[b]
			if s.fresh[0] {
				*to = rowLane{}
			}
			if hi <= 0 {
				continue // zero whatever the coefficient is
			}
			alpha, beta, sign := &t.alpha[at][place], &t.beta[at][place], &t.sign[at][place]
			slopes, overs := [2]float32{float32(up), float32(up)}, [2]float64{offset, 0} // a ReLU is at least 0
			for r, v := range g {
				if open {
					slopes[1] = alpha[r]
				}
				which := math.Float32bits(v) >> 31
				slope, over := slopes[which], overs[which]
				if sign[r] != 0 {
					slope, over = (1+sign[r])/2, 0
					to[r] += sign[r] * beta[r]
					sums[r] += float64(float64(beta[r]) * off)
				}
				if v != 0 {
					to[r] += float32(v * slope)
					sums[r] += float64(float64(v)*over) + float64(math.Abs(float64(v))*e)
				}
			}
		}
	}
}

// worst evaluates the lines of each row, forward from the input that its bound stands for: z are then the derivatives
// of the bounds by the coefficients on the inputs of ReLUs. g are the rows on the input.
func (w *walk) worst(g []rowLane, from int) {
	box, nodes, t := w.r.boxes[0], w.n.nodes, w.tuned
	values := make([][]rowLane, from+1)
	values[0] = w.take(len(box.Lower), false)
	for i, v := range values[0] {
		at := i % len(box.Lower)
		ends := [2]float32{float32(box.Upper[at]), float32(box.Lower[at])}
		for r := range v {
			values[0][i][r] = ends[math.Float32bits(g[i][r])>>31]
		}
	}
	last := 0
	for i := range t.alpha[:from+1] {
		if t.alpha[i] != nil {
			last = i
		}
	}
	for i := 1; i <= last; i++ {
		nd := nodes[i]
		size := nd.shape.Size()
		out := w.take(size, true)
		values[i] = out
		x := values[nd.in[0]]
		s := step{walk: w, node: nd, at: i, out: w.r.boxes[i]}
		switch l := nd.layer.(type) {
		case *activation:
			t.z[i] = x
			w.bendAhead(i, w.r.boxes[nd.in[0]], x, out)
		case *arrange:
			for b := range w.blocks {
				to, inputs := out[b*size:][:size], x[b*len(x)/w.blocks:]
				for o := range to {
					switch {
					case l.from == nil:
						to[o] = inputs[o]
					case l.from[o] >= 0:
						to[o] = inputs[l.from[o]]
					default:
						to[o] = everywhere32(float32(l.constant))
					}
				}
			}
		case *sum:
			for j, in := range nd.in {
				for k := range out {
					out[k].add(&values[in][k], float32(l.sign[j]))
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

func (w *walk) bendAhead(at int, in Box, x, out []rowLane) {
	t, size := w.tuned, len(in.Lower)
	for k := range out {
		lo, hi := in.Lower[k%size], in.Upper[k%size]
		g, alpha, sign := &t.g[at][k], &t.alpha[at][k], &t.sign[at][k]
		up := float32(hi / (hi - lo))
		offset := -up * float32(lo)
		if lo >= 0 {
			out[k] = x[k]
		}
		if lo >= 0 || hi <= 0 {
			continue
		}
		slopes, overs := [2]float32{up, 0}, [2]float32{offset, 0}
		for r, v := range x[k] {
			slopes[1] = alpha[r]
			which := math.Float32bits(g[r]) >> 31
			slope, over := slopes[which], overs[which]
			if sign[r] != 0 {
				slope, over = (1+sign[r])/2, 0
			}
			out[k][r] = float32(slope*v) + over
		}
	}
}

// descend moves α and β a step against the signs of the gradients.
func (w *walk) descend(rate float32) {
	t := w.tuned
	for i, open := range t.open {
		size := len(t.alpha[i]) / t.blocks
		for _, j := range open {
			for k := j; k < len(t.alpha[i]); k += size {
				g, z, alpha, beta, sign := &t.g[i][k], &t.z[i][k], &t.alpha[i][k], &t.beta[i][k], &t.sign[i][k]
				for r, v := range g {
					toward := math.Float32frombits(math.Float32bits(z[r])&(1<<31) | math.Float32bits(rate)) // ±rate, as z
					if sign[r] != 0 {
						beta[r] = max(0, beta[r]-toward*sign[r]*float32(math.Abs(float64(v))))
						continue
					}
					moved := [2]float32{0, toward}[math.Float32bits(v)>>31] // v·z > 0: a smaller slope
					alpha[r] = min(1, max(0, alpha[r]+moved))
				}
			}
		}
	}
}

// tune is crown with slopes that are optimised row by row: each step is a bound, and the smallest counts. A bound that
// is below zero needs no more, where that is what is asked for.
func (n *Network) tune(ctx context.Context, r *region, from int, rows, offsets []float64, t *tuned, steps int,
	rate float32, proven bool, a Arithmetic) ([]float64, error) {
	var best []float64
	for k := range steps {
		w := n.newWalk(ctx, r, offsets, adaptive, a)
		if t == nil {
			t = w.startSlopes(from)
		}
		w.tuned = t
		g, err := w.back(from, rows, offsets)
		if err != nil {
			return nil, err
		}
		if g == nil {
			return w.finish(nil, offsets), nil
		}
		last := k == steps-1
		if !last {
			w.worst(g, from)
			w.descend(rate)
			rate *= 0.8
		}
		found := w.finish(g, offsets)
		if best == nil {
			best = found
		}
		lower(best, found)
		if last || proven && most(best) < 0 {
			break
		}
	}
	return best, nil
}

func most(v []float64) float64 {
	m := math.Inf(-1)
	for _, x := range v {
		m = max(m, x)
	}
	return m
}

// live are the inputs and outputs of a dense layer that ReLUs do not make zero on the region, with the weights between
// them.
type live struct {
	ins, outs   []int
	back, ahead []float32
}

// live is made for a region once, which many walks go through.
func (d *dense) live(s step) *live {
	if l := s.r.live[s.at]; l != nil {
		return l
	}
	l := &live{}
	rectified := func(nd node) bool { a, ok := nd.layer.(*activation); return ok && a.rectifier }
	before, after := rectified(s.n.nodes[s.in[0]]), true
	for _, nd := range s.n.nodes {
		if slices.Contains(nd.in, s.at) {
			after = after && rectified(nd)
		}
	}
	for i, hi := range s.r.boxes[s.in[0]].Upper {
		if !before || hi > 0 {
			l.ins = append(l.ins, i)
		}
	}
	for o, hi := range s.out.Upper {
		if !after || s.at == s.n.output || hi > 0 {
			l.outs = append(l.outs, o)
		}
	}
	var back, ahead tiled[float32]
	l.back = back.tiles(len(l.ins), len(l.outs), func(i, o int) float64 { return d.w[l.outs[o]*d.in+l.ins[i]] })
	l.ahead = ahead.tiles(len(l.outs), len(l.ins), func(o, i int) float64 { return d.w[l.outs[o]*d.in+l.ins[i]] })
	s.r.live[s.at] = l
	return l
}

// gathered are the rows on some values; scatter adds to them.
func (s step) gathered(rows []rowLane, which []int) []rowLane {
	to := make([]rowLane, 0, s.blocks*len(which))
	for b := range s.blocks {
		block := rows[b*len(rows)/s.blocks:]
		for _, i := range which {
			to = append(to, block[i])
		}
	}
	return to
}

func (s step) scatter(from, rows []rowLane, which []int) {
	for b := range s.blocks {
		block := rows[b*len(rows)/s.blocks:]
		for k, i := range which {
			block[i].add(&from[b*len(which)+k], 1)
		}
	}
}

func (d *dense) rowsAhead(s step, x, y []rowLane) {
	l := d.live(s)
	to := make([]rowLane, s.blocks*len(l.outs))
	d.multiplyRows(s, s.gathered(x, l.ins), to, l.ahead, len(l.outs), len(l.ins), false)
	s.scatter(to, y, l.outs)
}

func (l *scale) rowsAhead(s step, x, y []rowLane) {
	size := len(y) / s.blocks
	for k := range y {
		y[k].add(&x[k], float32(l.s[k%size/l.times]))
	}
}

func (c *convolution) rowsAhead(s step, x, y []rowLane) {
	channels, out, kernel := c.inC/c.Groups, c.outC/c.Groups, c.Kernel[0]*c.Kernel[1]
	g := gather{values: out, products: channels, groups: c.Groups, area: c.outH * c.outW, from: c.inH * c.inW}
	g.w = c.singleAhead.tiles(c.Groups*g.padded(), kernel*channels, func(v, p int) float64 {
		group, o, place, ch := v/g.padded(), v%g.padded(), p/channels, p%channels
		if o >= out {
			return 0
		}
		return c.w[((group*out+o)*channels+ch)*kernel+place]
	})
	rows, cols := make([]int, c.Kernel[0]), make([]int, c.Kernel[1])
	for k := range rows {
		rows[k] = k
	}
	for k := range cols {
		cols[k] = k
	}
	g.run(s, x, y, false, c.Kernel[1], func(f func(pixels, ty, tx []int)) {
		pixels := make([]int, 0, tilePlaces)
		for o := range g.area {
			if pixels = append(pixels, o); len(pixels) == tilePlaces || o == g.area-1 {
				f(pixels, rows, cols)
				pixels = pixels[:0]
			}
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
