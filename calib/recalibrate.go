package calib

import (
	"fmt"
	"math"
	"slices"
)

// Recalibration is a non-decreasing map g: [0, 1] → [0, 1] of confidences. Since it is non-decreasing, the interval [g(l), g(u)] holds g of every
// confidence in [l, u]: intervals that were certified stay certified, whatever g was fitted on.
//
// Platt, temperature and beta maps are
//
//	g(z) = sigmoid(A·ln z − B·ln(1−z) + C),   A, B ≥ 0,
//
// with A = B in the maps of Platt (2000) on the logit, and C = 0 besides for a temperature T = 1/A (Guo et al. 2017); beta maps are those of Kull et al.
// (2017). An isotonic map is a step function: Value[i] from From[i] on. At 0 and 1 the limits are taken.
type Recalibration struct {
	Method    Method    `json:"method"`
	Objective Objective `json:"objective"`
	A         float64   `json:"a"`
	B         float64   `json:"b"`
	C         float64   `json:"c"`
	From      []float64 `json:"from,omitempty"` // ascending, the first is 0
	Value     []float64 `json:"value,omitempty"`
}

// Method of a recalibration.
type Method string

// Objective is what a recalibration minimises on the samples that it is fitted on.
type Objective string

// The methods and objectives.
const (
	Platt       Method = "platt"
	Temperature Method = "temperature"
	Beta        Method = "beta"
	Isotonic    Method = "isotonic"

	NLL                Objective = "nll"             // negative log-likelihood of the confidences as they are
	CertifiedBrierLoss Objective = "certified-brier" // largest Brier score inside the certified intervals
)

// FitRecalibration fits a map. For a non-decreasing g the largest Brier score inside the intervals is that of g at the lower ends of correct and the
// upper ends of wrong samples, so both objectives are fits to points: the confidences, or these ends. Where a slope would be negative it is 0; a map of slope 0 is
// a constant. An isotonic map is the least-squares one of pool-adjacent-violators, which minimises the log-likelihood, too. lower and upper may be nil for NLL.
//
// Errors: those of CheckConfidences and CheckIntervals; an unknown method or objective; samples that are all correct or all wrong, as *InputError.
func FitRecalibration(method Method, objective Objective, correct []bool, confidence, lower, upper []float64) (*Recalibration, error) {
	z := confidence
	switch objective {
	case NLL:
		if err := CheckConfidences(correct, confidence); err != nil {
			return nil, err
		}
	case CertifiedBrierLoss:
		if err := CheckIntervals(correct, lower, upper); err != nil {
			return nil, err
		}
		z = make([]float64, len(correct))
		BrierConfidences(z, correct, lower, upper)
	default:
		return nil, inputError("objective", objective, fmt.Sprintf("%q or %q", NLL, CertifiedBrierLoss))
	}
	if !slices.Contains(correct, true) || !slices.Contains(correct, false) {
		return nil, inputError("samples", len(correct), "right and wrong ones, since a map cannot be fitted to one kind")
	}
	r := &Recalibration{Method: method, Objective: objective}
	up, down := make([]float64, len(z)), make([]float64, len(z)) // ln z, −ln(1−z)
	const edge = 1e-12                                           // the fit needs finite points, the map does not
	for i, v := range z {
		v = min(max(v, edge), 1-edge)
		up[i], down[i] = math.Log(v), -math.Log1p(-v)
	}
	logit := func() []float64 {
		for i := range up {
			up[i] += down[i]
		}
		return up
	}
	switch method {
	case Platt:
		w, c := fitLogistic([][]float64{logit()}, true, correct, objective)
		r.A, r.B, r.C = w[0], w[0], c
	case Temperature:
		w, _ := fitLogistic([][]float64{logit()}, false, correct, objective)
		r.A, r.B = w[0], w[0]
	case Beta:
		w, c := fitLogistic([][]float64{up, down}, true, correct, objective)
		r.A, r.B, r.C = w[0], w[1], c
	case Isotonic:
		r.From, r.Value = poolAdjacent(z, correct)
	default:
		return nil, inputError("method", method, fmt.Sprintf("%q, %q, %q or %q", Platt, Temperature, Beta, Isotonic))
	}
	return r, nil
}

// Check refuses what is no non-decreasing map into [0, 1], as a file may hold it.
//
// Errors: *InputError.
func (r *Recalibration) Check() error {
	finite := func(x float64) bool { return x-x == 0 }
	switch r.Method {
	case Platt, Temperature, Beta:
		if !(r.A >= 0 && r.B >= 0 && finite(r.A) && finite(r.B) && finite(r.C)) {
			return inputError("map", fmt.Sprintf("a = %v, b = %v, c = %v", r.A, r.B, r.C), "finite numbers and slopes of at least 0: a map that falls somewhere does not keep intervals certified")
		}
	case Isotonic:
		if len(r.From) == 0 || len(r.From) != len(r.Value) || r.From[0] != 0 {
			return inputError("map", fmt.Sprintf("%d steps with %d values", len(r.From), len(r.Value)), "as many values as steps, the first from 0 on")
		}
		for i, v := range r.Value {
			if !(v >= 0 && v <= 1) || i > 0 && (v < r.Value[i-1] || !(r.From[i] > r.From[i-1])) {
				return inputError("map", fmt.Sprintf("%v from %v on", v, r.From[i]), "ascending steps with values from 0 to 1 that do not fall: a map that falls somewhere does not keep intervals certified")
			}
		}
	default:
		return inputError("method", r.Method, fmt.Sprintf("%q, %q, %q or %q", Platt, Temperature, Beta, Isotonic))
	}
	return nil
}

// At is g(z) of z in [0, 1].
func (r *Recalibration) At(z float64) float64 {
	if r.Method == Isotonic {
		i, found := slices.BinarySearch(r.From, z)
		if !found {
			i--
		}
		return r.Value[max(i, 0)]
	}
	x := r.C
	if r.A > 0 {
		x += r.A * math.Log(z)
	}
	if r.B > 0 {
		x -= r.B * math.Log1p(-z)
	}
	if math.IsNaN(x) { // both ends at once cannot be
		return 0.5
	}
	return 1 / (1 + math.Exp(-x))
}

// outwards pays for the rounding of At, a few units in the last place of ln, exp and their sum (|x| is at most some hundred).
const outwards = 1e-12

// Interval holds g of every confidence in [l, u], rounded outwards.
func (r *Recalibration) Interval(l, u float64) (lower, upper float64) {
	lower, upper = r.At(l), r.At(u)
	if r.Method != Isotonic {
		lower, upper = max(0, lower-outwards), min(1, upper+outwards)
	}
	return lower, upper
}

// Apply gives the samples with every confidence and interval mapped.
func (r *Recalibration) Apply(t *Table) *Table {
	mapped := &Table{Correct: t.Correct}
	for _, z := range t.Confidence {
		mapped.Confidence = append(mapped.Confidence, r.At(z))
	}
	for i := range t.Lower {
		l, u := r.Interval(t.Lower[i], t.Upper[i])
		mapped.Lower, mapped.Upper = append(mapped.Lower, l), append(mapped.Upper, u)
	}
	for i, z := range mapped.Confidence {
		if mapped.Lower != nil {
			mapped.Confidence[i] = min(max(z, mapped.Lower[i]), mapped.Upper[i])
		}
	}
	return mapped
}

// Constant reports whether the map gives every confidence between 0 and 1 the same value.
func (r *Recalibration) Constant() bool {
	return r.Method != Isotonic && r.A == 0 && r.B == 0 || len(r.Value) == 1
}

func (r *Recalibration) String() string {
	switch {
	case r.Constant():
		return fmt.Sprintf("the constant %.6g", r.At(0.5))
	case r.Method == Isotonic:
		return fmt.Sprintf("%d steps from %.4g to %.4g", len(r.Value), r.Value[0], r.Value[len(r.Value)-1])
	case r.Method == Temperature:
		return fmt.Sprintf("sigmoid(logit z / %.6g)", 1/r.A)
	case r.Method == Platt:
		return fmt.Sprintf("sigmoid(%.6g logit z %+.6g)", r.A, r.C)
	}
	return fmt.Sprintf("sigmoid(%.6g ln z − %.6g ln(1−z) %+.6g)", r.A, r.B, r.C)
}

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

// poolAdjacent is the non-decreasing step function with the least squares to the samples (Ayer et al. 1955). It begins at 0.
func poolAdjacent(z []float64, correct []bool) (from, value []float64) {
	order := make([]int, len(z))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case z[a] < z[b]:
			return -1
		case z[a] > z[b]:
			return 1
		}
		return 0
	})
	type block struct{ from, hits, n float64 }
	var blocks []block
	for _, i := range order {
		b := block{z[i], 0, 1}
		if correct[i] {
			b.hits = 1
		}
		for len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			if last.from != b.from && last.hits*b.n < b.hits*last.n {
				break
			}
			b = block{last.from, last.hits + b.hits, last.n + b.n}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	blocks[0].from = 0
	for _, b := range blocks {
		from, value = append(from, b.from), append(value, b.hits/b.n)
	}
	return from, value
}

// Resolution is how far the accuracies of the bins are from that of all samples,
//
//	Σ_m n_m/n · (acc_m − acc)²,
//
// the part of Murphy's (1973) decomposition of the Brier score that a constant confidence does not have: 0 for a constant, and the larger the
// more the confidence tells.
//
// Errors: those of CheckConfidences.
func Resolution(correct []bool, confidence []float64, bins *Bins) (float64, error) {
	all, err := Reliability(correct, confidence, bins)
	if err != nil {
		return 0, err
	}
	mean, err := Accuracy(correct)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, b := range all {
		if b.Count > 0 {
			sum += float64(b.Count) * (b.Accuracy - mean) * (b.Accuracy - mean)
		}
	}
	return sum / float64(len(correct)), nil
}
