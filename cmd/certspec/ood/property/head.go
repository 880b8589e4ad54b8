package property

import (
	"context"
	"math"
	"slices"

	"github.com/certspec/certspec/feedforward"
)

// head is the operator behind the outputs z of a network: none, or the probabilities softmax(z), or their
// logarithms. Conditions are on what it gives.
type head string

const (
	softmax    head = "Softmax"
	logSoftmax head = "LogSoftmax"
)

// assumes adds what a head takes for granted of float32 to what the layers do.
func (h head) assumes(layers string) string {
	if h == "" {
		return layers
	}
	return "sigmoid, tanh, exp and log in float32 are off by at most 2^-18, exp relatively; " +
		"softmax and log-softmax subtract the largest value first"
}

// of are the outputs behind z.
func (h head) of(z []float64) []float64 {
	if h == "" {
		return z
	}
	y, most, sum := make([]float64, len(z)), slices.Max(z), 0.0
	for _, v := range z {
		sum += math.Exp(v - most)
	}
	for k, v := range z {
		if y[k] = v - most - math.Log(sum); h == softmax {
			y[k] = math.Exp(v-most) / sum
		}
	}
	return y
}

// margin of a case as a function of z, with its gradient.
func (h head) margin(c Case, z []float64) (float64, []float64) {
	y := h.of(z)
	value, g := c.margin(y)
	switch h {
	case softmax:
		mean := 0.0
		for k, v := range g {
			mean += y[k] * v
		}
		for k := range g {
			g[k] = y[k] * (g[k] - mean)
		}
	case logSoftmax:
		sum := 0.0
		for _, v := range g {
			sum += v
		}
		for k := range g {
			g[k] -= math.Exp(y[k]) * sum
		}
	}
	return value, g
}

const (
	function = 0x1p-18  // what exp and log in float32 are off by
	unit     = 0x1p-24  // roundoff of float32
	flushed  = 0x1p-124 // more than what probabilities lose that are too small for float32

	negligible = 1e-30 // factors of probabilities that no bound hangs on
)

// host is more than what our own sums in float64 of a term an output are off by, relative to the magnitudes of the
// terms.
func (r *rows) host() float64 { return float64(r.outputs+1024) * 0x1p-50 }

// excess are lower bounds on Row·Y − Bound over a box, in exact arithmetic and in float32; a condition with a
// positive one is met nowhere.
func (h head) excess(ctx context.Context, n *feedforward.Network, box feedforward.Box, conditions []Condition,
	method feedforward.Method) ([]float64, error) {
	rows := &rows{outputs: n.Outputs(), index: map[[2]int]int{}}
	bounds := make([]func(u []float64) float64, len(conditions))
	if h != "" {
		var err error
		if rows.box, err = n.Intervals(box, feedforward.Rigorous); err != nil {
			return nil, err
		}
	}
	for i, q := range conditions {
		switch h {
		case softmax:
			bounds[i] = rows.softmax(q)
		case logSoftmax:
			bounds[i] = rows.logSoftmax(q)
		default:
			at := rows.add(q.Row, -1, q.Bound)
			bounds[i] = func(u []float64) float64 { return -u[at] }
		}
	}
	u, err := n.LinearBounds(ctx, box, rows.rows, rows.offsets, method, feedforward.Rigorous)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(conditions))
	for i, f := range bounds {
		out[i] = f(u)
	}
	return out, nil
}

// rows are linear functions of z whose upper bounds are asked for in one pass.
type rows struct {
	outputs       int
	box           feedforward.Box // of z, by intervals
	rows, offsets []float64
	index         map[[2]int]int // of differences z_a − z_b
}

// add asks for the bound on sign·row·z + offset.
func (r *rows) add(row []float64, sign, offset float64) int {
	for _, v := range row {
		r.rows = append(r.rows, sign*v)
	}
	r.offsets = append(r.offsets, offset)
	return len(r.offsets) - 1
}

// difference asks for the bound on z_a − z_b.
func (r *rows) difference(a, b int) int {
	at, ok := r.index[[2]int{a, b}]
	if !ok {
		row := make([]float64, r.outputs)
		row[a], row[b] = 1, -1
		at = r.add(row, 1, 0)
		r.index[[2]int{a, b}] = at
	}
	return at
}

// pivots are the places of the few largest factors of a row, of the positive ones where there are any.
func pivots(row []float64) (places []int) {
	const few = 4
	positive := slices.Max(row) > 0
	for k, v := range row {
		if v == 0 || positive && v < 0 {
			continue
		}
		places = append(places, k)
		for i := len(places) - 1; i > 0 && math.Abs(row[places[i]]) > math.Abs(row[places[i-1]]); i-- {
			places[i], places[i-1] = places[i-1], places[i]
		}
		places = places[:min(len(places), few)]
	}
	return places
}

// softmax: as probabilities have the sum 1, r·p ≤ b says Σ c_k·exp(z_k − z_m) ≤ 0 with c = r − b, for any m. In
// float32, a p_k is off by a factor within 1 ± δ, and by what is flushed to zero; both lower the c.
//
// δ: the difference from the largest z, at most 104 where exp does not vanish, is off by 104·2⁻²⁴, exp by 2⁻¹⁸, for
// p_k and for the sum below it, which is off by as many roundings as it has terms, too.
func (r *rows) softmax(q Condition) func(u []float64) float64 {
	delta := 2 * (104*unit*1.01 + function + float64(r.outputs+16)*unit*1.01)
	total := 0.0
	for _, v := range q.Row {
		total += math.Abs(v)
	}
	c := make([]float64, r.outputs)
	for k, v := range q.Row {
		c[k] = v - q.Bound - delta*math.Abs(v) - flushed*total - r.host()*(math.Abs(v)+math.Abs(q.Bound))
	}
	type term struct {
		factor float64
		at     int
		minus  bool // exp(−u)
	}
	var forms [][]term
	var alone []float64
	for _, m := range pivots(q.Row) {
		var terms []term
		rest := c[m]
		for k, v := range c {
			switch {
			case k == m || v == 0:
			case v < 0 && v > -negligible: // intervals do
				rest += v * math.Exp(r.box.Upper[k]-r.box.Lower[m]) * (1 + r.host())
			case v > 0:
				terms = append(terms, term{v, r.difference(m, k), true})
			default:
				terms = append(terms, term{v, r.difference(k, m), false})
			}
		}
		forms, alone = append(forms, terms), append(alone, rest)
	}
	return func(u []float64) float64 {
		best := math.Inf(-1)
		for i, terms := range forms {
			sum, magnitude := alone[i], math.Abs(alone[i])
			for _, t := range terms {
				v := u[t.at]
				if t.minus {
					v = -v
				}
				v = t.factor * math.Exp(v)
				sum, magnitude = sum+v, magnitude+math.Abs(v)
			}
			if sum -= r.host() * magnitude; !math.IsNaN(sum) {
				best = max(best, sum)
			}
		}
		return best
	}
}

// logSoftmax: with R the sum of the factors, r·y = Σ r_k·(z_k − z_m) − R·ln Σ_l exp(z_l − z_m), for any m; the
// logarithm is at least 0.
func (r *rows) logSoftmax(q Condition) func(u []float64) float64 {
	total, factors, largest := 0.0, 0.0, 0.0
	for k, lo := range r.box.Lower {
		largest = max(largest, -lo, r.box.Upper[k])
	}
	for _, v := range q.Row {
		total += v
		factors += math.Abs(v)
	}
	slack := 1.01*(4*function+float64(r.outputs+32)*unit+8*unit*largest) + r.host()*(2*largest+float64(r.outputs))
	slack *= factors
	type form struct {
		linear int
		apart  []int // u of z_l − z_m or, where the sum of the factors is negative, of z_m − z_l
	}
	var forms []form
	for _, m := range pivots(q.Row) {
		row := make([]float64, r.outputs)
		copy(row, q.Row)
		row[m] -= total
		f := form{linear: r.add(row, -1, q.Bound)}
		for k := range r.outputs {
			switch {
			case total == 0 || k == m:
			case total > 0:
				f.apart = append(f.apart, r.difference(k, m))
			default:
				f.apart = append(f.apart, r.difference(m, k))
			}
		}
		forms = append(forms, f)
		if total == 0 {
			break // all forms are one
		}
	}
	return func(u []float64) float64 {
		best := math.Inf(-1)
		for _, f := range forms {
			sum := 1.0
			for _, at := range f.apart {
				if total > 0 {
					sum += math.Exp(u[at])
				} else {
					sum += math.Exp(-u[at])
				}
			}
			log := math.Log(sum)
			value := -u[f.linear] - total*log
			if total == 0 {
				value = -u[f.linear]
			}
			if value -= slack + r.host()*(factors*(1+log)+math.Abs(q.Bound)+math.Abs(u[f.linear])); !math.IsNaN(value) {
				best = max(best, value)
			}
		}
		return best
	}
}
