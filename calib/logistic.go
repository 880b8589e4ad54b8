package calib

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// fitLogistic minimises the log loss or the Brier score of sigmoid(Σ w_j f_j + c) over w ≥ 0 and,
// with an intercept, c. Where a slope comes out negative it is set to 0 and the rest is fitted
// again, each of several in its turn: the minimum of a convex loss lies on one of these sides. The
// Brier score has several minima: of the ends of several starts and the constant the best counts.
// The result is no worse than the starts that are given, slopes and constant.
func fitLogistic(features [][]float64, intercept bool, correct []bool, objective Objective,
	starts ...[]float64) (w []float64, c float64) {
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
	var side func(p []float64, free []bool) ([]float64, float64)
	side = func(p []float64, free []bool) (best []float64, low float64) {
		q, loss := fit.minimise(p, free)
		low = math.Inf(1)
		for j := range features {
			if q[j] < 0 {
				at, less := slices.Clone(q), slices.Clone(free)
				at[j], less[j] = 0, false
				if r, end := side(at, less); end < low {
					best, low = r, end
				}
			}
		}
		if best == nil {
			return q, loss
		}
		return best, low
	}
	descend := func(p []float64) ([]float64, float64) {
		free := slices.Repeat([]bool{true}, last+1)
		free[last] = intercept
		return side(p, free)
	}
	best := start(0)
	loss := fit.loss(best)
	better := func(p []float64, end float64) {
		if end < loss {
			best, loss = p, end
		}
	}
	for _, p := range starts {
		better(p, fit.loss(p))
	}
	from, low := start(1), math.Inf(1)
	if fit.brier {
		whole := fit
		fit = whole.thinned(1000) // which minimum is the lowest, a part shows
		for _, slope := range []float64{0.1, 0.3, 1, 3} {
			starts = append(starts, start(slope))
		}
		for _, p := range starts {
			if p, end := descend(p); end < low {
				from, low = p, end
			}
		}
		fit = whole
	}
	better(descend(from))
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

// minimise goes down from p by damped Newton steps (Levenberg 1944, Marquardt 1963) in the free
// parameters, by Gauss-Newton ones where the loss is not convex.
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

// slopes are the mean log loss or Brier score at a point, and the derivatives of their sum (halved
// for the Brier score) by the free parameters; the others have none.
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

// solve solves (H + damping·diag H) x = g, and reports whether the matrix is positive definite; a
// parameter without curvature stays.
func solve(g []float64, h [][]float64, damping float64) (x []float64, positive bool) {
	n := len(g)
	a := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i {
			a.SetSym(i, j, h[i][j])
		}
		d := h[i][i] + damping*h[i][i]
		if h[i][i] == 0 {
			d = 1
		}
		a.SetSym(i, i, d)
	}
	x = make([]float64, n)
	var factor mat.Cholesky
	if !factor.Factorize(a) {
		return x, false
	}
	_ = factor.SolveVecTo(mat.NewVecDense(n, x), mat.NewVecDense(n, g)) // an ill-conditioned step is judged by its loss
	return x, true
}
