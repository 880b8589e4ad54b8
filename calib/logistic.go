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

// minimise goes down from p by damped Newton steps (Levenberg 1944, Marquardt 1963) in the free parameters, by Gauss-Newton ones where the loss is not convex.
func (f *logisticFit) minimise(p []float64, free []bool) ([]float64, float64) {
	p = slices.Clone(p)
	at, damping := f.slopes(p, free), 1e-4
	for range 200 {
		moved := false
		for ; damping < 1e12; damping *= 8 {
			q := at.step(p, damping)
			if next := f.slopes(q, free); next.loss < at.loss {
				moved = at.loss-next.loss > 1e-13*(1+at.loss)
				p, at, damping = q, next, damping/16
				break
			}
		}
		if !moved {
			break
		}
		damping = max(damping, 1e-12)
	}
	return p, at.loss
}

func (f *logisticFit) linear(p []float64, i int) float64 {
	x := p[len(f.features)]
	for j, feature := range f.features {
		x += p[j] * feature[i]
	}
	return x
}

// loss is the mean log loss or Brier score.
func (f *logisticFit) loss(p []float64) float64 { return f.slopes(p, make([]bool, len(p))).loss }

// slopes are the mean log loss or Brier score at a point, and the derivatives of their sum (halved for the Brier score) by the free parameters;
// the others have none.
type slopes struct {
	loss             float64
	gradient         []float64
	curvature, gauss [][]float64 // second derivatives, and those of them that are never negative (Gauss-Newton)
}

func (f *logisticFit) slopes(p []float64, free []bool) slopes {
	n := len(p)
	at := slopes{gradient: make([]float64, n), curvature: square(n), gauss: square(n)}
	var params []int
	for j, is := range free {
		if is {
			params = append(params, j)
		}
	}
	row := make([]float64, n)
	row[n-1] = 1
	for i, c := range f.correct {
		x := f.linear(p, i)
		g := 1 / (1 + math.Exp(-x))
		off, weight := g, g*(1-g)
		if c {
			x, off = -x, g-1
		}
		bend := weight
		switch { // x is now the log-odds of what did not happen
		case f.brier:
			at.loss += off * off
			bend = weight * (weight + off*(1-2*g))
			off, weight = off*weight, weight*weight
		case x > 30:
			at.loss += x
		default:
			at.loss += math.Log1p(math.Exp(x))
		}
		for j, feature := range f.features {
			row[j] = feature[i]
		}
		for _, j := range params {
			v := row[j]
			at.gradient[j] += off * v
			for _, k := range params {
				if k > j {
					break
				}
				at.curvature[j][k] += bend * v * row[k]
				at.gauss[j][k] += weight * v * row[k]
			}
		}
	}
	at.loss /= float64(len(f.correct))
	for j := range n {
		for k := range j {
			at.curvature[k][j], at.gauss[k][j] = at.curvature[j][k], at.gauss[j][k]
		}
	}
	return at
}

func square(n int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
	}
	return m
}

// step goes from p to the minimum of the damped quadratic.
func (at *slopes) step(p []float64, damping float64) []float64 {
	step, ok := solve(at.gradient, at.curvature, damping)
	if !ok {
		step, _ = solve(at.gradient, at.gauss, damping)
	}
	q := slices.Clone(p)
	for i := range q {
		q[i] = min(max(q[i]-step[i], -mostSlope), mostSlope)
	}
	return q
}

// solve solves (H + damping·diag H) x = g by elimination, and reports whether the matrix is positive definite; a parameter without curvature stays.
func solve(g []float64, h [][]float64, damping float64) (x []float64, positive bool) {
	n := len(g)
	a := make([][]float64, n)
	for i := range a {
		a[i] = append(slices.Clone(h[i]), g[i])
		a[i][i] += damping * h[i][i]
		if h[i][i] == 0 {
			a[i][i] = 1
		}
	}
	positive = true
	for i := range a { // positive definite: no pivoting
		positive = positive && a[i][i] > 0
		for j := i + 1; j < n; j++ {
			r := a[j][i] / a[i][i]
			for k := i; k <= n; k++ {
				a[j][k] -= r * a[i][k]
			}
		}
	}
	x = make([]float64, n)
	for i := n - 1; i >= 0; i-- {
		x[i] = a[i][n]
		for k := i + 1; k < n; k++ {
			x[i] -= a[i][k] * x[k]
		}
		x[i] /= a[i][i]
	}
	return x, positive
}
