package feedforward

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/array"
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

// pairs are the differences U_kl of K outputs: those that are known are by the method, others by intervals, which are
// computed when they are asked for. So memory grows with K.
type pairs struct {
	*bounder
	k     int
	found [2]map[int]map[int]float64 // those that are known, by k, then l; by l, then k
	left  int                        // how many pairs of open classes may still be computed

	// of the intervals: rows of coefficients on size values, by their radii
	rows, constant, off []float64
	radius              []float64 // of each row
	size                int
	least, sum          float64 // smallest T_l of closed, and Σ_l exp(least − T_l)
}

// mostPairs is for each of the two bounds; up to a hundred classes have no more.
var mostPairs = 10_000 // a test makes it small

// pairs starts from intervals with the last layers merged, in a form whose cost is one distance a
// pair: with rows g_k of coefficients on a layer's values, of centres c and radii r, U_kl = (g_k −
// g_l)·c + ‖(g_k − g_l)∘r‖₁ and what the rows' constants and rounding add.
func (b *bounder) pairs(ctx context.Context) (*pairs, error) {
	k := b.n.Outputs()
	p := &pairs{bounder: b, k: k, constant: make([]float64, 2*k), off: make([]float64, 2*k), radius: make([]float64, k),
		found: [2]map[int]map[int]float64{{}, {}}}
	err := b.n.blocks(k, func(from, to int) error {
		p.take(ctx, from, to)
		return ctx.Err()
	})
	p.least = math.Inf(1)
	for l := range k {
		p.least = min(p.least, p.apart(l, k+l))
	}
	for l := range k {
		p.sum += math.Exp(p.least - p.apart(l, k+l))
	}
	return p, err
}

// take computes the rows of some classes.
func (p *pairs) take(ctx context.Context, from, to int) {
	n := to - from
	of, outputs := p.only(array.UpTo(from, to))
	first, _ := slices.BinarySearch(outputs, from)
	rows, constant := make([]float64, 2*n*len(outputs)), make([]float64, 2*n) // of f_k, and of −f_k
	for i := range n {
		rows[i*len(outputs)+first+i], rows[(n+i)*len(outputs)+first+i] = 1, -1
	}
	at, rows := of.n.tail(ctx, of.region, rows, constant, p.a)
	box := of.region.boxes[at]
	p.size = len(box.Lower)
	c, r, m := make([]float64, p.size), make([]float64, p.size), make([]float64, p.size)
	box.centre(c, r, m, p.a)
	if p.rows == nil {
		p.rows = make([]float64, p.k*p.size)
	}
	for i := range 2 * n {
		class := from + i
		if i >= n {
			class += p.k - n
		}
		off := math.Abs(constant[i]) // of rounding
		for j, v := range rows[i*p.size : (i+1)*p.size] {
			constant[i] += v * c[j]
			off += math.Abs(v) * m[j]
			if i < n {
				p.rows[class*p.size+j] = v * r[j]
				p.radius[class] += math.Abs(v * r[j])
			}
		}
		p.constant[class], p.off[class] = constant[i], off
	}
}

// interval is U of two classes by intervals.
func (p *pairs) interval(k, l int) float64 {
	return p.with(k, l, distance(p.rows[k*p.size:(k+1)*p.size], p.rows[l*p.size:(l+1)*p.size]))
}

// with is U of two classes whose rows are so far apart.
func (p *pairs) with(k, l int, distance float64) float64 {
	u := p.constant[k] + p.constant[p.k+l] + distance + 4*host*(p.off[k]+p.off[p.k+l])
	if math.IsNaN(u) {
		u = math.Inf(1)
	}
	return u
}

func (p *pairs) isKnown(pair int) bool {
	_, ok := p.found[0][pair/p.k][pair%p.k]
	return ok || pair/p.k == pair%p.k
}

// upper is −ln Σ_l exp(−U_kl), and lower −ln Σ_l exp(U_lk).
func (p *pairs) upper(k int) float64 {
	minus := p.line(k, 0)
	for l := range minus {
		minus[l] = -minus[l]
	}
	return -logSumExp(minus, k)
}

func (p *pairs) lower(k int) float64 { return -logSumExp(p.line(k, 1), k) }

// line is U of a class with all, or with column 1 of all with it.
func (p *pairs) line(class, column int) []float64 {
	line := make([]float64, p.k)
	for other := range line {
		k, l := class, other
		if column == 1 {
			k, l = l, k
		}
		if k != l {
			line[other] = p.interval(k, l)
		}
	}
	for other, u := range p.found[column][class] {
		line[other] = u
	}
	return line
}

// closed says without distances that upper is below most. Rows are no further apart than both from zero, so that
// U_kl ≤ S_k + T_l, and upper(k) ≤ −ln(1 + exp(−S_k)·Σ_{l≠k} exp(−T_l)): a sum that all classes share.
func (p *pairs) closed(k int, most float64) bool {
	const margin = 1e-9 // above all rounding here
	others := p.sum*(1-margin) - math.Exp(p.least-p.apart(k, p.k+k))
	from := p.apart(k, k)
	x := math.Log(others) - from - p.least - margin*(1+math.Abs(from)+math.Abs(p.least))
	return max(x, math.Log1p(math.Exp(min(x, 700))))*(1-margin) > -most // false where one is not a number
}

// apart is S of a class, or T, at its constant.
func (p *pairs) apart(class, at int) float64 {
	return p.constant[at] + p.radius[class]*(1+1e-12) + 4*host*p.off[at]
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

func (p *pairs) row(class int) []int { return array.UpTo(class*p.k, (class+1)*p.k) }

func (p *pairs) column(class int) []int {
	column := make([]int, p.k)
	for l := range column {
		column[l] = l*p.k + class
	}
	return column
}

// know computes the pairs that are not known yet.
func (p *pairs) know(ctx context.Context, which []int) error {
	return p.differences(ctx, slices.DeleteFunc(which, p.isKnown), func(pair int, u float64) {
		k, l := pair/p.k, pair%p.k
		for column, at := range [2][2]int{{k, l}, {l, k}} {
			if p.found[column][at[0]] == nil {
				p.found[column][at[0]] = map[int]float64{}
			}
			p.found[column][at[0]][at[1]] = u
		}
	})
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
	most := p.upper(leader)
	bounds := make([]float64, p.k) // −Inf: not above that of a row that is known
	var against []int
	for class := range p.k {
		if bounds[class] = math.Inf(-1); class == leader || p.closed(class, most) {
			continue
		}
		if class%64 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if v := p.upper(class); v > most {
			bounds[class] = v
			against = append(against, class*p.k+leader)
		}
	}
	if err := p.know(ctx, slices.Clone(against)); err != nil {
		return 0, err
	}
	var open []int
	sizes := make([]int, p.k) // how much of what is not known of a class is computed next
	for _, pair := range against {
		open = append(open, pair/p.k)
		bounds[pair/p.k] = p.upper(pair / p.k)
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
		last := make([]bool, len(now)) // nothing is left of it then
		for i, class := range now {
			row := slices.DeleteFunc(p.row(class), p.isKnown)
			u := p.line(class, 0)
			slices.SortStableFunc(row, func(a, b int) int { return cmp.Compare(u[a%p.k], u[b%p.k]) })
			sizes[class] = max(sizes[class], firstPairs)
			n := min(sizes[class], len(row), p.left-len(part))
			part, last[i] = append(part, row[:n]...), n == len(row)
			sizes[class] *= 2
		}
		if err := p.know(ctx, part); err != nil {
			return 0, err
		}
		p.left -= len(part)
		for i, class := range now {
			bounds[class] = p.upper(class)
			if last[i] {
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
	best := p.lower(leader)
	classes := array.UpTo(0, p.k) // those that can prove most first
	slices.SortStableFunc(classes, func(a, b int) int { return cmp.Compare(f[b], f[a]) })
	p.left = mostPairs
	_, log := LogConfidence(f)
	values, all := make([]float64, p.k), f[leader]-log // ln Σ exp(f_l)
	for _, class := range classes {
		if class == leader {
			continue
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if f[class]-all <= max(best, -math.Log(float64(p.k))) {
			break // even with U_lk = f_l − f_k, neither this class nor one behind it proves more
		}
		column, beaten := slices.DeleteFunc(p.column(class), p.isKnown), false
		slices.SortStableFunc(column, func(a, b int) int { return -cmp.Compare(f[a/p.k], f[b/p.k]) })
		for size := firstPairs; len(column) > 0 && p.left > 0; size *= 2 {
			for l := range values {
				values[l] = f[l] - f[class]
			}
			for l, u := range p.found[1][class] {
				values[l] = u
			}
			if beaten = -logSumExp(values, class) <= max(best, -math.Log(float64(p.k))); beaten {
				break
			}
			part := column[:min(size, len(column))]
			column = column[len(part):]
			if err := p.know(ctx, slices.Clone(part)); err != nil {
				return 0, err
			}
			p.left -= len(part)
		}
		if !beaten { // else it proves no more, by all distances
			best = max(best, p.lower(class))
		}
	}
	return best, nil
}

// differences gives u the bounds of the pairs k·K+l.
func (b *bounder) differences(ctx context.Context, pairs []int, u func(pair int, bound float64)) error {
	k := b.n.Outputs()
	return b.n.blocks(len(pairs), func(from, to int) error {
		part := pairs[from:to]
		var outputs []int
		for _, pair := range part {
			outputs = append(outputs, pair/k, pair%k)
		}
		slices.Sort(outputs)
		of, outputs := b.only(slices.Compact(outputs))
		size := len(outputs)
		rows := make([]float64, len(part)*size)
		for i, pair := range part {
			plus, _ := slices.BinarySearch(outputs, pair/k)
			minus, _ := slices.BinarySearch(outputs, pair%k)
			rows[i*size+plus], rows[i*size+minus] = 1, -1
		}
		found, err := of.block(ctx, rows, make([]float64, len(part)))
		for i, v := range found {
			u(part[i], v)
		}
		return err
	})
}
