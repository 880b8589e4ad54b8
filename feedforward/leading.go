package feedforward

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// logBounds are LogBounds of all differences, of which only those are computed that can change one
// of the two: of K² pairs mostly 2K. Let s be the class that leads at the input, with outputs f
// there.
//
// Upper: a class k whose bound with looser U is at most that of another class cannot be the
// maximum. Row s is computed, then U_ks for each class that is still open, then more of the rows of
// the classes with the largest bounds, pairs with the smallest U first, which weigh most in the
// sum, until the largest is that of a row which is known.
//
// Lower: U_lk ≥ f_l − f_k, so that class k proves at most −ln Σ_l exp(f_l − f_k), and less with
// each U_lk that is known.
//
// Outputs that are all alike leave every class open: after mostPairs pairs more than 2K the others
// keep their intervals, and the bounds, which stay sound, are looser than those of all differences.
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
	left  int // how many pairs of open classes may still be computed
}

// mostPairs is for each of the two bounds; up to a hundred classes have no more.
var mostPairs = 10_000 // a test makes it small

// pairs starts from intervals with the last layers merged, in a form whose cost is one distance a
// pair: with rows g_k of coefficients on a layer's values, of centres c and radii r, U_kl = (g_k −
// g_l)·c + ‖(g_k − g_l)∘r‖₁ and what the rows' constants and rounding add.
func (b *bounder) pairs(ctx context.Context) (*pairs, error) {
	k := b.n.Outputs()
	p := &pairs{bounder: b, k: k, u: make([]float64, k*k), known: make([]bool, k*k)}
	rows, constant := make([]float64, 2*k*k), make([]float64, 2*k) // of f_k, and of −f_k
	for i := range k {
		rows[i*k+i], rows[(k+i)*k+i] = 1, -1
	}
	at, rows := b.n.tail(ctx, b.region, rows, constant, b.a)
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

// firstPairs are how many pairs of an open class are computed at first; each time that it stays
// open, twice as many. mostOpen is how many classes are looked at together, once there are so many.
const (
	firstPairs = 8
	mostOpen   = 16
)

// highest is max_k −ln Σ_l exp(−U_kl).
func (p *pairs) highest(ctx context.Context, leader int) (float64, error) {
	if err := p.know(ctx, p.row(leader)); err != nil {
		return 0, err
	}
	most := upperOf(p.u, p.k, leader)
	bounds := make([]float64, p.k) // −Inf: not above that of a row that is known
	var against []int
	for class := range p.k {
		bounds[class] = math.Inf(-1)
		if v := upperOf(p.u, p.k, class); class != leader && v > most {
			bounds[class] = v
			against = append(against, class*p.k+leader)
		}
	}
	if err := p.know(ctx, slices.Clone(against)); err != nil {
		return 0, err
	}
	var open []int
	// what is not known of a class, and how much of it is computed next
	rows, sizes := make([][]int, p.k), make([]int, p.k)
	for _, pair := range against {
		open = append(open, pair/p.k)
		bounds[pair/p.k] = upperOf(p.u, p.k, pair/p.k)
	}
	p.left = mostPairs
	for together := 1; ; together = min(2*together, mostOpen) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		open = slices.DeleteFunc(open, func(class int) bool { return bounds[class] <= most })
		if len(open) == 0 {
			return most, nil
		}
		slices.SortStableFunc(open, func(a, b int) int { return cmp.Compare(bounds[b], bounds[a]) })
		if p.left <= 0 {
			return bounds[open[0]], nil
		}
		var part []int
		now := open[:min(together, len(open))]
		for _, class := range now {
			if rows[class] == nil {
				rows[class] = slices.DeleteFunc(p.row(class), func(i int) bool { return p.known[i] })
				slices.SortStableFunc(rows[class], func(a, b int) int { return cmp.Compare(p.u[a], p.u[b]) })
				sizes[class] = firstPairs
			}
			n := min(sizes[class], len(rows[class]), p.left-len(part))
			part, rows[class] = append(part, rows[class][:n]...), rows[class][n:]
			sizes[class] *= 2
		}
		if err := p.know(ctx, part); err != nil {
			return 0, err
		}
		p.left -= len(part)
		for _, class := range now {
			bounds[class] = upperOf(p.u, p.k, class)
			if len(rows[class]) == 0 {
				most = max(most, bounds[class])
			}
		}
	}
}

// lowest is max_k −ln Σ_l exp(U_lk), where that is above −ln K, below which no confidence is.
func (p *pairs) lowest(ctx context.Context, f []float64, leader int) (float64, error) {
	if err := p.know(ctx, p.column(leader)); err != nil {
		return 0, err
	}
	best := lowerOf(p.u, p.k, leader)
	classes := make([]int, p.k) // those that can prove most first
	for class := range classes {
		classes[class] = class
	}
	slices.SortStableFunc(classes, func(a, b int) int { return cmp.Compare(f[b], f[a]) })
	p.left = mostPairs
	values := make([]float64, p.k)
	for _, class := range classes {
		if class == leader {
			continue
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		column := slices.DeleteFunc(p.column(class), func(i int) bool { return p.known[i] })
		slices.SortStableFunc(column, func(a, b int) int { return -cmp.Compare(f[a/p.k], f[b/p.k]) })
		for size := firstPairs; len(column) > 0 && p.left > 0; size *= 2 {
			for l := range values {
				if values[l] = f[l] - f[class]; p.known[l*p.k+class] {
					values[l] = p.u[l*p.k+class]
				}
			}
			if -logSumExp(values, class) <= max(best, -math.Log(float64(p.k))) {
				break
			}
			part := column[:min(size, len(column))]
			column = column[len(part):]
			if err := p.know(ctx, slices.Clone(part)); err != nil {
				return 0, err
			}
			p.left -= len(part)
		}
		best = max(best, lowerOf(p.u, p.k, class))
	}
	return best, nil
}
