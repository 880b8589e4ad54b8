package feedforward

import (
	"context"
	"math"
)

type logSumExpAll struct{}

func (logSumExpAll) forward(in [][]float64, out []float64) { out[0] = logSum(in[0]) }

func logSum(x []float64) float64 {
	top := math.Inf(-1)
	for _, v := range x {
		top = max(top, v)
	}
	if math.IsInf(top, 0) {
		return top
	}
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum)
}

func (logSumExpAll) backward(in [][]float64, out, g []float64, gin [][]float64) {
	for i, v := range in[0] {
		gin[0][i] += math.Exp(v-out[0]) * g[0]
	}
}

func (logSumExpAll) interval(ctx context.Context, in []Box, out Box, a Arithmetic) {
	l, u := in[0].Lower, in[0].Upper
	e := 0.0
	if a != Plain {
		magnitude := 0.0
		for k := range l {
			magnitude = max(magnitude, -l[k], u[k])
		}
		e = 4*functionError + a.gamma(len(l)) + 8*single*magnitude // as logSoftmax
	}
	out.Lower[0], out.Upper[0] = logSum(l)-e, logSum(u)+e
}

func (logSumExpAll) walk(s step, at int) { s.atEnds() }
