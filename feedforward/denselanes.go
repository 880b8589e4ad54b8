package feedforward

func (d *dense) rows(first int) (w [tileRows][]float64) {
	for r := range w {
		at := min(first+r, d.out-1)
		w[r] = d.w[at*d.in:][:d.in]
	}
	return w
}

func (d *dense) forwardLanes(x, y []float64, _ *scratch) {
	for o := 0; o < d.out; o += tileRows {
		w := d.rows(o)
		var s [tileRows]lane
		for r := range s {
			if o+r < d.out && d.b != nil {
				s[r] = everywhere(d.b[o+r])
			}
		}
		multiplyRows(&w, x, &s)
		for r := range min(tileRows, d.out-o) {
			*laneOf(y, o+r) = s[r]
		}
	}
	endLanes()
}

// inputBlock is how many inputs get the products of all outputs before the next ones do.
const inputBlock = 256

func (d *dense) transposeLanes(g, gin []float64, _ *scratch) {
	for from := 0; from < d.in; from += inputBlock {
		to := min(from+inputBlock, d.in)
		for o := 0; o < d.out; o += tileRows {
			w := d.rows(o)
			var v [tileRows]lane // zero beyond the last row
			for r := range w {
				if w[r] = w[r][from:to]; o+r < d.out {
					v[r] = *laneOf(g, o+r)
				}
			}
			spreadRows(&w, &v, gin[from*Lanes:to*Lanes])
		}
	}
	endLanes()
}

func (l *scale) forwardLanes(x, y []float64, s *scratch) {
	n, _ := l.sizes()
	for i := range n {
		*laneOf(y, i) = everywhere(l.t[i/l.times])
	}
	l.transposeLanes(x, y, s)
}

func (l *scale) transposeLanes(g, gin []float64, _ *scratch) {
	n, _ := l.sizes()
	for i := range n {
		s, from, to := l.s[i/l.times], laneOf(g, i), laneOf(gin, i)
		for j, v := range from {
			to[j] += float64(s * v)
		}
	}
}
