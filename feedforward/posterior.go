package feedforward

import (
	"context"
	"math"
)

// LogSoftmax is y_k = x_k − ln Σ_j exp(x_j) over all values of a layer. Rigorous bounds take an evaluation that
// subtracts the largest value first.
func (b *Builder) LogSoftmax(in int) int {
	return b.add("LogSoftmax", b.Shape(in), logSoftmax{}, in)
}

// LogSumExp is ln Σ_j exp(x_j) over all values of a layer, one value. Rigorous bounds are for an evaluation that
// subtracts the largest value first.
func (b *Builder) LogSumExp(in int) int { return b.add("LogSumExp", Shape{1}, logSumExpAll{}, in) }

// logSoftmax is at most 0 and, between bounds l and u on its inputs,
//
//	−ln(1 + Σ_{j≠k} exp(u_j − l_k)) ≤ y_k ≤ −ln(1 + Σ_{j≠k} exp(l_j − u_k)).
type logSoftmax struct{}

func (logSoftmax) forward(in [][]float64, out []float64) {
	for k, v := range in[0] {
		out[k] = oneAgainstAll(in[0], v, k)
	}
}

// oneAgainstAll is −ln(1 + Σ_{j≠k} exp(others_j − v)).
func oneAgainstAll(others []float64, v float64, k int) float64 {
	apart := make([]float64, len(others))
	for j, o := range others {
		if j != k {
			apart[j] = o - v
		}
	}
	return -logSumExp(apart, k)
}

func (logSoftmax) backward(in [][]float64, out, g []float64, gin [][]float64) {
	sum := 0.0
	for _, v := range g {
		sum += v
	}
	for k, v := range g {
		gin[0][k] += v - math.Exp(out[k])*sum
	}
}

func (logSoftmax) interval(ctx context.Context, in []Box, out Box, a Arithmetic) {
	l, u := in[0].Lower, in[0].Upper
	e, top := 0.0, 0.0
	if a != Plain {
		magnitude := 0.0
		for k := range l {
			magnitude = max(magnitude, -l[k], u[k])
		}
		// The difference from the largest value, the relative error of the sum under the logarithm,
		// and that of exp and log.
		e, top = 4*functionError+a.gamma(len(l))+8*single*magnitude, functionError
	}
	for k := range l {
		out.Lower[k] = oneAgainstAll(u, l[k], k) - e
		out.Upper[k] = min(oneAgainstAll(l, u[k], k)+e, top)
	}
}

func (logSoftmax) walk(s step, at int) { s.atEnds() }
