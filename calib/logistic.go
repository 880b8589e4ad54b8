package calib

import (
	"math"
	"slices"
)

// fitLogistic minimises the log loss or the Brier score of sigmoid(Σ w_j f_j + c) over w ≥ 0 and, with an intercept, c. A slope that
// comes out negative is set to 0 and the rest is fitted again. The Brier score has several minima: of the ends of several starts and the
// constant the best counts.
func fitLogistic(features [][]float64, intercept bool, correct []bool, objective Objective) (w []float64, c float64) {
	last := len(features)
	start := func(slope float64) []float64 { // with the accuracy for a constant
		p := make([]float64, last+1)
		for j := range features {
			p[j] = slope
		}
		hits := 0.0
		for _, c := range correct {
			if c {
				hits++
			}
		}
		if share := hits / float64(len(correct)); intercept {
			p[last] = math.Log(share / (1 - share))
		}
		return p
	}
	fit := logisticFit{features: features, correct: correct, brier: objective == CertifiedBrierLoss}
	descend := func(p []float64) ([]float64, float64) {
		free := slices.Repeat([]bool{true}, last+1)
		free[last] = intercept
		for {
			q, loss := fit.minimise(p, free)
			negative := -1
			for j := range features {
				if q[j] < 0 && (negative < 0 || q[j] < q[negative]) {
					negative = j
				}
			}
			if negative < 0 {
				return q, loss
			}
			free[negative], p = false, start(0)
		}
	}
	best := start(0)
	loss := fit.loss(best)
	if !fit.brier {
		best, _ = descend(start(1))
		return best[:last], best[last]
	}
	whole := fit
	fit = whole.thinned(1000) // which minimum is the lowest, a part shows
	from, low := best, math.Inf(1)
	for _, slope := range []float64{0.1, 0.3, 1, 3} {
		if p, end := descend(start(slope)); end < low {
			from, low = p, end
		}
	}
	fit = whole
	if p, end := descend(from); end < loss {
		best = p
	}
	return best[:last], best[last]
}

// logisticFit is a model of features and a constant.
type logisticFit struct {
	features [][]float64
	correct  []bool
	brier    bool
}

// thinned has every k-th sample, so that about n are left.
func (f *logisticFit) thinned(n int) logisticFit {
	step := max(1, len(f.correct)/n)
	t := logisticFit{brier: f.brier, features: make([][]float64, len(f.features))}
	for i := 0; i < len(f.correct); i += step {
		t.correct = append(t.correct, f.correct[i])
		for j, feature := range f.features {
			t.features[j] = append(t.features[j], feature[i])
		}
	}
	return t
}

// mostSlope is the largest slope or intercept: separable samples would drive them to infinity.
const mostSlope = 1e4

// minimise goes down from p by damped Gauss-Newton steps (Levenberg 1944, Marquardt 1963) in the free parameters.
func (f *logisticFit) minimise(p []float64, free []bool) ([]float64, float64) {
	p = slices.Clone(p)
	loss, damping := f.loss(p), 1e-4
	for range 200 {
		gradient, curvature := f.slopes(p, free)
		moved := false
		for ; damping < 1e12; damping *= 8 {
			step := solve(gradient, curvature, damping)
			q := slices.Clone(p)
			for i := range q {
				q[i] = min(max(q[i]-step[i], -mostSlope), mostSlope)
			}
			if next := f.loss(q); next < loss {
				moved = loss-next > 1e-13*(1+loss)
				p, loss, damping = q, next, damping/16
				break
			}
		}
		if !moved {
			break
		}
		damping = max(damping, 1e-12)
	}
	return p, loss
}

func (f *logisticFit) linear(p []float64, i int) float64 {
	x := p[len(f.features)]
	for j, feature := range f.features {
		x += p[j] * feature[i]
	}
	return x
}

// loss is the mean log loss or Brier score.
func (f *logisticFit) loss(p []float64) (sum float64) {
	for i, c := range f.correct {
		x := f.linear(p, i)
		if c {
			x = -x
		}
		switch { // x is now the log-odds of what did not happen
		case f.brier:
			miss := 1 / (1 + math.Exp(-x))
			sum += miss * miss
		case x > 30:
			sum += x
		default:
			sum += math.Log1p(math.Exp(x))
		}
	}
	return sum / float64(len(f.correct))
}

// slopes gives the gradient of the loss (halved for the Brier score) and the Gauss-Newton curvature; parameters that are not free have none.
func (f *logisticFit) slopes(p []float64, free []bool) (gradient []float64, curvature [][]float64) {
	n := len(p)
	gradient, curvature = make([]float64, n), make([][]float64, n)
	for i := range curvature {
		curvature[i] = make([]float64, n)
	}
	row := make([]float64, n)
	for i, c := range f.correct {
		g := 1 / (1 + math.Exp(-f.linear(p, i)))
		off, weight := g, g*(1-g)
		if c {
			off = g - 1
		}
		if f.brier {
			off, weight = off*weight, weight*weight
		}
		for j := range row {
			if row[j] = 0; free[j] {
				if row[j] = 1; j < len(f.features) {
					row[j] = f.features[j][i]
				}
			}
		}
		for j, v := range row {
			gradient[j] += off * v
			for k := range j + 1 {
				curvature[j][k] += weight * v * row[k]
			}
		}
	}
	for j := range gradient {
		for k := range j {
			curvature[k][j] = curvature[j][k]
		}
	}
	return gradient, curvature
}

// solve solves (H + damping·diag H) x = g by elimination; a parameter without curvature stays.
func solve(g []float64, h [][]float64, damping float64) []float64 {
	n := len(g)
	a := make([][]float64, n)
	for i := range a {
		a[i] = append(slices.Clone(h[i]), g[i])
		a[i][i] += damping * h[i][i]
		if h[i][i] == 0 {
			a[i][i] = 1
		}
	}
	for i := range a { // positive definite: no pivoting
		for j := i + 1; j < n; j++ {
			r := a[j][i] / a[i][i]
			for k := i; k <= n; k++ {
				a[j][k] -= r * a[i][k]
			}
		}
	}
	x := make([]float64, n)
	for i := n - 1; i >= 0; i-- {
		x[i] = a[i][n]
		for k := i + 1; k < n; k++ {
			x[i] -= a[i][k] * x[k]
		}
		x[i] /= a[i][i]
	}
	return x
}
