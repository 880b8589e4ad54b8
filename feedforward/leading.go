package feedforward

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// logBounds are LogBounds of all differences, of which only those are computed that can change one of the two: of K² pairs mostly
// 2K. Let s be the class that leads at the input, with outputs f there.
//
// Upper: a class k whose bound with looser U is at most that of another class cannot be the maximum. Row s is computed, then U_ks for
// each class that is still open, then the rest of its row while it is, pairs with the smallest U first, which weigh most in the sum.
//
// Lower: U_lk ≥ f_l − f_k, so that class k proves at most −ln Σ_l exp(f_l − f_k), and less with each U_lk that is known.
func (b *bounder) logBounds(ctx context.Context, f []float64, leader int) (upper, lower float64, err error) {
	p, err := b.pairs(ctx)
	if err != nil {
		return 0, 0, err
	}
	if upper, err = p.highest(ctx, leader); err != nil {
		return 0, 0, err
	}
	if lower, err = p.lowest(ctx, f, leader); err != nil {
		return 0, 0, err
	}
	upper, lower = outwards(upper, lower, p.k)
	return upper, lower, nil
}

// pairs are the differences of K outputs, U_kl at k·K+l: those that are known are by the method, others by intervals.
type pairs struct {
	*bounder
	k     int
	u     []float64
	known []bool
}

// pairs starts from intervals with the last layers merged, in a form whose cost is one distance a pair: with rows g_k of coefficients on a
// layer's values, of centres c and radii r, U_kl = (g_k − g_l)·c + ‖(g_k − g_l)∘r‖₁ and what the rows' constants and rounding add.
func (b *bounder) pairs(ctx context.Context) (*pairs, error) {
	k := b.n.Outputs()
	p := &pairs{bounder: b, k: k, u: make([]float64, k*k), known: make([]bool, k*k)}
	rows, constant := make([]float64, 2*k*k), make([]float64, 2*k) // of f_k, and of −f_k
	for i := range k {
		rows[i*k+i], rows[(k+i)*k+i] = 1, -1
	}
	at, rows := b.n.tail(b.region, rows, constant, b.a)
	box := b.region.boxes[at]
	size := len(box.Lower)
	c, r, m := make([]float64, size), make([]float64, size), make([]float64, size)
	box.centre(c, r, m, b.a)
	off := make([]float64, 2*k) // of rounding
	for i := range off {
		off[i] = math.Abs(constant[i])
		for j, v := range rows[i*size : (i+1)*size] {
			constant[i] += v * c[j]
			off[i] += math.Abs(v) * m[j]
			rows[i*size+j] = v * r[j]
		}
	}
	for i := range k {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p.known[i*k+i] = true
		for j := range i {
			radius := distance(rows[i*size:(i+1)*size], rows[j*size:(j+1)*size])
			for _, pair := range [2][2]int{{i, j}, {j, i}} {
				u := constant[pair[0]] + constant[k+pair[1]] + radius + 4*host*(off[pair[0]]+off[k+pair[1]])
				if math.IsNaN(u) {
					u = math.Inf(1)
				}
				p.u[pair[0]*k+pair[1]] = u
			}
		}
	}
	return p, nil
}

// distance is Σ|x − y|.
func distance(x, y []float64) float64 {
	var a, b, c, d float64 // sums that do not wait for each other
	for len(x) >= 4 && len(y) >= 4 {
		a += math.Abs(x[0] - y[0])
		b += math.Abs(x[1] - y[1])
		c += math.Abs(x[2] - y[2])
		d += math.Abs(x[3] - y[3])
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		a += math.Abs(v - y[i])
	}
	return a + b + c + d
}

func (p *pairs) row(class int) []int {
	row := make([]int, p.k)
	for l := range row {
		row[l] = class*p.k + l
	}
	return row
}

func (p *pairs) column(class int) []int {
	column := make([]int, p.k)
	for l := range column {
		column[l] = l*p.k + class
	}
	return column
}

// know computes the pairs that are not known yet.
func (p *pairs) know(ctx context.Context, which []int) error {
	which = slices.DeleteFunc(which, func(i int) bool { return p.known[i] })
	for _, i := range which {
		p.known[i] = true
	}
	return p.differences(ctx, which, p.u)
}

// firstPairs are how many pairs of an open class are computed at first; each time that it stays open, twice as many.
const firstPairs = 8

// highest is max_k −ln Σ_l exp(−U_kl).
func (p *pairs) highest(ctx context.Context, leader int) (float64, error) {
	if err := p.know(ctx, p.row(leader)); err != nil {
		return 0, err
	}
	most := upperOf(p.u, p.k, leader)
	open := func() (classes []int) {
		for class := range p.k {
			if class != leader && upperOf(p.u, p.k, class) > most {
				classes = append(classes, class)
			}
		}
		return classes
	}
	against := open()
	for i, class := range against {
		against[i] = class*p.k + leader
	}
	if err := p.know(ctx, against); err != nil {
		return 0, err
	}
	classes := open()
	bounds := make([]float64, p.k)
	for _, class := range classes {
		bounds[class] = upperOf(p.u, p.k, class)
	}
	slices.SortStableFunc(classes, func(a, b int) int { return -cmp.Compare(bounds[a], bounds[b]) })
	for _, class := range classes {
		row := p.row(class)
		slices.SortStableFunc(row, func(a, b int) int { return cmp.Compare(p.u[a], p.u[b]) })
		bound, err := p.open(ctx, row, func() (float64, bool) {
			v := upperOf(p.u, p.k, class)
			return v, v > most
		})
		if err != nil {
			return 0, err
		}
		most = max(most, bound)
	}
	return most, nil
}

// lowest is max_k −ln Σ_l exp(U_lk), where that is above −ln K, below which no confidence is.
func (p *pairs) lowest(ctx context.Context, f []float64, leader int) (float64, error) {
	if err := p.know(ctx, p.column(leader)); err != nil {
		return 0, err
	}
	best := lowerOf(p.u, p.k, leader)
	for class := range p.k {
		if class == leader {
			continue
		}
		column := p.column(class)
		slices.SortStableFunc(column, func(a, b int) int { return -cmp.Compare(f[a/p.k], f[b/p.k]) })
		_, err := p.open(ctx, column, func() (float64, bool) {
			values := make([]float64, p.k)
			for l := range values {
				if values[l] = f[l] - f[class]; p.known[l*p.k+class] {
					values[l] = p.u[l*p.k+class]
				}
			}
			most := -logSumExp(values, class)
			return most, most > max(best, -math.Log(float64(p.k)))
		})
		if err != nil {
			return 0, err
		}
		best = max(best, lowerOf(p.u, p.k, class))
	}
	return best, nil
}

// open computes pairs in their order, in ever larger parts, while there are some and still says so; it returns the value that still gave at last.
func (p *pairs) open(ctx context.Context, which []int, still func() (float64, bool)) (float64, error) {
	which = slices.DeleteFunc(which, func(i int) bool { return p.known[i] })
	for size := firstPairs; ; size *= 2 {
		value, open := still()
		if !open || len(which) == 0 {
			return value, nil
		}
		part := which[:min(size, len(which))]
		which = which[len(part):]
		if err := p.know(ctx, slices.Clone(part)); err != nil {
			return value, err
		}
	}
}
