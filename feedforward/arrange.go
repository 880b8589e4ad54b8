package feedforward

import "context"

// arrange moves values without computing: y_o = x[from_o], or a constant where from_o is negative. Pad, Transpose,
// Slice. No from: the values stay in their places.
type arrange struct {
	from     []int32
	constant float64
}

func (l *arrange) forward(in [][]float64, out []float64) { l.move(in[0], out) }

func (l *arrange) move(x, y []float64) {
	if l.from == nil {
		copy(y, x)
		return
	}
	for o, i := range l.from {
		if i < 0 {
			y[o] = l.constant
		} else {
			y[o] = x[i]
		}
	}
}

// back adds to each gradient by an input those by the outputs that it goes to; constants calls f for the others.
func (l *arrange) back(g, gin []float64, constants func(o int)) {
	if l.from == nil {
		for i, v := range g {
			gin[i] += v
		}
		return
	}
	for o, i := range l.from {
		if i >= 0 {
			gin[i] += g[o]
		} else {
			constants(o)
		}
	}
}

func (l *arrange) backward(in [][]float64, out, g []float64, gin [][]float64) {
	l.back(g, gin[0], func(int) {})
}

func (l *arrange) interval(ctx context.Context, in []Box, out Box, a Arithmetic) {
	l.move(in[0].Lower, out.Lower)
	l.move(in[0].Upper, out.Upper)
}

func (l *arrange) merge(ctx context.Context, in, out Box, rows int, g, gin, constant []float64, a Arithmetic) {
	n, m := len(out.Lower), len(in.Lower)
	for k := range rows {
		row := g[k*n : (k+1)*n]
		l.back(row, gin[k*m:(k+1)*m], func(o int) {
			if v := row[o]; v != 0 {
				constant[k] += v * l.constant
			}
		})
	}
}

// sum is Σ sign_j·x_j over several inputs of one size. One of them may be a sum itself, to which an engine adds the
// others first.
type sum struct {
	sign  []float64
	terms int
}

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

func (l *sum) interval(ctx context.Context, in []Box, out Box, a Arithmetic) {
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
	gamma := a.gamma(l.terms)
	for i := range slack {
		for _, b := range in {
			slack[i] += gamma*max(-b.Lower[i], b.Upper[i]) + tiny
		}
		slack[i] = (slack[i] + a.lose(len(in))) * (1 + 4*host)
	}
	return slack
}

// concat joins inputs along an axis: blocks times, it takes sizes[j] values of each input j, one after the other.
type concat struct {
	blocks int
	sizes  []int
}

// each calls f for each piece: size values of input j from one place on, which go to another.
func (l *concat) each(f func(j, from, to, size int)) {
	to := 0
	for k := range l.blocks {
		for j, size := range l.sizes {
			f(j, k*size, to, size)
			to += size
		}
	}
}

func (l *concat) forward(in [][]float64, out []float64) {
	l.each(func(j, from, to, size int) { copy(out[to:to+size], in[j][from:]) })
}

func (l *concat) back(g []float64, gin [][]float64) {
	l.each(func(j, from, to, size int) {
		for i, v := range g[to : to+size] {
			gin[j][from+i] += v
		}
	})
}

func (l *concat) backward(in [][]float64, out, g []float64, gin [][]float64) { l.back(g, gin) }

func (l *concat) interval(ctx context.Context, in []Box, out Box, a Arithmetic) {
	l.each(func(j, from, to, size int) {
		copy(out.Lower[to:to+size], in[j].Lower[from:])
		copy(out.Upper[to:to+size], in[j].Upper[from:])
	})
}
