package feedforward

import "github.com/certspec/certspec/internal/feedforward/kernel"

func (d *dense) rows(first int) (w [kernel.TileRows][]float64) {
	for r := range w {
		at := min(first+r, d.out-1)
		w[r] = d.w[at*d.in:][:d.in]
	}
	return w
}

func (d *dense) forwardLanes(x, y []float64, _ *kernel.Scratch) {
	for o := 0; o < d.out; o += kernel.TileRows {
		w := d.rows(o)
		var s [kernel.TileRows]kernel.Lane
		for r := range s {
			if o+r < d.out && d.b != nil {
				s[r] = kernel.Everywhere(d.b[o+r])
			}
		}
		kernel.MultiplyRows(&w, x, &s)
		for r := range min(kernel.TileRows, d.out-o) {
			*kernel.LaneOf(y, o+r) = s[r]
		}
	}
	kernel.EndLanes()
}

// inputBlock is how many inputs get the products of all outputs before the next ones do.
const inputBlock = 256

func (d *dense) transposeLanes(g, gin []float64, _ *kernel.Scratch) {
	for from := 0; from < d.in; from += inputBlock {
		to := min(from+inputBlock, d.in)
		for o := 0; o < d.out; o += kernel.TileRows {
			w := d.rows(o)
			var v [kernel.TileRows]kernel.Lane // zero beyond the last row
			for r := range w {
				if w[r] = w[r][from:to]; o+r < d.out {
					v[r] = *kernel.LaneOf(g, o+r)
				}
			}
			kernel.SpreadRows(&w, &v, gin[from*Lanes:to*Lanes])
		}
	}
	kernel.EndLanes()
}

func (l *scale) forwardLanes(x, y []float64, s *kernel.Scratch) {
	n, _ := l.sizes()
	for i := range n {
		*kernel.LaneOf(y, i) = kernel.Everywhere(l.t[i/l.times])
	}
	l.transposeLanes(x, y, s)
}

func (l *scale) transposeLanes(g, gin []float64, _ *kernel.Scratch) {
	n, _ := l.sizes()
	for i := range n {
		s, from, to := l.s[i/l.times], kernel.LaneOf(g, i), kernel.LaneOf(gin, i)
		for j, v := range from {
			to[j] += float64(s * v)
		}
	}
}
