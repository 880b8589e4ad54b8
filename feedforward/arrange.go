package feedforward

// arrange moves values without computing: y_o = x[from_o], or a constant where from_o is negative. Pad, Transpose, Slice.
type arrange struct {
	from     []int
	constant float64
}

func (l *arrange) forward(in [][]float64, out []float64) { l.move(in[0], out) }

func (l *arrange) move(x, y []float64) {
	for o, i := range l.from {
		if i < 0 {
			y[o] = l.constant
		} else {
			y[o] = x[i]
		}
	}
}

func (l *arrange) backward(in [][]float64, out, g []float64, gin [][]float64) {
	for o, i := range l.from {
		if i >= 0 {
			gin[0][i] += g[o]
		}
	}
}

func (l *arrange) interval(in []Box, out Box, a Arithmetic) {
	l.move(in[0].Lower, out.Lower)
	l.move(in[0].Upper, out.Upper)
}

func (l *arrange) relax(in []Box, out Box, rows int, g []float64, gin [][]float64, constant []float64, a Arithmetic) {
	n, m := len(l.from), len(in[0].Lower)
	for k := range rows {
		for o, i := range l.from {
			switch v := g[k*n+o]; {
			case i >= 0:
				gin[0][k*m+i] += v
			case v != 0:
				constant[k] += v * l.constant
			}
		}
	}
}

// sum is Σ sign_j·x_j over several inputs of one size.
type sum struct{ sign []float64 }

func (l *sum) forward(in [][]float64, out []float64) {
	for j, x := range in {
		for i, v := range x {
			out[i] += l.sign[j] * v
		}
	}
}

func (l *sum) backward(in [][]float64, out, g []float64, gin [][]float64) {
	for j := range in {
		for i, v := range g {
			gin[j][i] += l.sign[j] * v
		}
	}
}

func (l *sum) interval(in []Box, out Box, a Arithmetic) {
	slack := l.slack(in, a)
	for i := range out.Lower {
		lo, hi := 0.0, 0.0
		for j, b := range in {
			if l.sign[j] > 0 {
				lo, hi = lo+b.Lower[i], hi+b.Upper[i]
			} else {
				lo, hi = lo-b.Upper[i], hi-b.Lower[i]
			}
		}
		out.Lower[i], out.Upper[i] = a.down(lo-slack[i]), a.up(hi+slack[i])
	}
}

func (l *sum) slack(in []Box, a Arithmetic) []float64 {
	slack := make([]float64, len(in[0].Lower))
	if a == Plain {
		return slack
	}
	gamma := a.gamma(len(in))
	for i := range slack {
		for _, b := range in {
			slack[i] += gamma*max(-b.Lower[i], b.Upper[i]) + tiny
		}
		slack[i] = (slack[i] + a.lose(len(in))) * (1 + 4*host)
	}
	return slack
}

func (l *sum) relax(in []Box, out Box, rows int, g []float64, gin [][]float64, constant []float64, a Arithmetic) {
	slack := l.slack(in, a)
	n := len(slack)
	for k := range rows {
		row := g[k*n : (k+1)*n]
		for j := range in {
			for i, v := range row {
				gin[j][k*n+i] += l.sign[j] * v
			}
		}
		constant[k] += offset(row, nil, slack)
	}
}

// concat joins inputs along an axis: output o comes from value from[o] of input which[o].
type concat struct{ which, from []int }

func (l *concat) forward(in [][]float64, out []float64) {
	for o, j := range l.which {
		out[o] = in[j][l.from[o]]
	}
}

func (l *concat) backward(in [][]float64, out, g []float64, gin [][]float64) {
	for o, j := range l.which {
		gin[j][l.from[o]] += g[o]
	}
}

func (l *concat) interval(in []Box, out Box, a Arithmetic) {
	for o, j := range l.which {
		out.Lower[o], out.Upper[o] = in[j].Lower[l.from[o]], in[j].Upper[l.from[o]]
	}
}

func (l *concat) relax(in []Box, out Box, rows int, g []float64, gin [][]float64, constant []float64, a Arithmetic) {
	n := len(l.which)
	for k := range rows {
		for o, j := range l.which {
			gin[j][k*len(in[j].Lower)+l.from[o]] += g[k*n+o]
		}
	}
}
