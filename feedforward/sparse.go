package feedforward

import (
	"context"
	"math"
)

// scale is y_i = s_j·x_i + t_j with j = i/times: normalisation in inference, multiplication and addition of constants.
type scale struct {
	s, t []float64
	// what of t's parts enters rounding errors, e.g. |s·mean| + |shift| of t = shift − s·mean; nil:
	// |t|
	size   []float64
	times  int
	behind int // terms of the sums that it scales
	fold   folding
}

func (l *scale) apply(ctx context.Context, x, y []float64, abs bool) {
	for j, s := range l.s {
		if abs {
			s = math.Abs(s)
		}
		for i := j * l.times; i < (j+1)*l.times; i++ {
			y[i] += s * x[i]
		}
	}
}

func (l *scale) transpose(ctx context.Context, rows int, g, gin []float64) {
	n, _ := l.sizes()
	for k := range rows {
		for j, s := range l.s {
			for i := k*n + j*l.times; i < k*n+(j+1)*l.times; i++ {
				gin[i] += s * g[i]
			}
		}
	}
}

func (l *scale) bias() bias           { return bias{l.t, l.size, l.times, max(1, l.behind)} }
func (l *scale) terms() int           { return 1 }
func (l *scale) folding() folding     { return l.fold }
func (l *scale) sizes() (in, out int) { return len(l.s) * l.times, len(l.s) * l.times }

// largest is max |v|, at least 1.
func largest(values ...[]float64) float64 {
	most := 1.0
	for _, list := range values {
		for _, v := range list {
			most = max(most, math.Abs(v))
		}
	}
	return most
}
