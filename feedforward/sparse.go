package feedforward

import "math"

// scale is y_i = s_i·x_i + t_i: normalisation in inference, multiplication and addition of constants.
type scale struct {
	s, t []float64
	size []float64 // what of t's parts enters rounding errors, e.g. |s·mean| + |shift| where t = shift − s·mean
}

func (l *scale) apply(x, y []float64, abs bool) {
	for i, v := range x {
		s := l.s[i]
		if abs {
			s = math.Abs(s)
		}
		y[i] += s * v
	}
}

func (l *scale) transpose(rows int, g, gin []float64) {
	n := len(l.s)
	for k := range rows {
		for i, s := range l.s {
			gin[k*n+i] += s * g[k*n+i]
		}
	}
}

func (l *scale) bias() (b, magnitude []float64) { return l.t, l.size }
func (l *scale) terms() int                     { return 1 }
func (l *scale) sizes() (in, out int)           { return len(l.s), len(l.s) }

// pooling is average pooling: y_o is the sum of the inputs of o divided by divisor_o.
type pooling struct {
	in      int
	members [][]int   // by output: its inputs
	divisor []float64 // by output
	most    int
}

func (l *pooling) apply(x, y []float64, abs bool) {
	for o, members := range l.members {
		sum := 0.0
		for _, i := range members {
			sum += x[i]
		}
		y[o] += sum / l.divisor[o]
	}
}

func (l *pooling) transpose(rows int, g, gin []float64) {
	n := len(l.members)
	for k := range rows {
		for o, members := range l.members {
			v := g[k*n+o] / l.divisor[o]
			for _, i := range members {
				gin[k*l.in+i] += v
			}
		}
	}
}

func (l *pooling) bias() (b, magnitude []float64) { return nil, nil }
func (l *pooling) terms() int                     { return l.most }
func (l *pooling) sizes() (in, out int)           { return l.in, len(l.members) }
