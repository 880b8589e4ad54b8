package calib

import (
	"math"
	"slices"
)

// Joint bounds the calibration error of a whole data set when some of the intervals may be false.
type Joint struct {
	Upper    float64 // bound on the calibration error, rounded up; never above CCE + 2k/N
	Lower    float64 // calibration error of an assignment that is allowed: the largest one lies between
	CCE      float64 // the largest calibration error where all intervals hold, ExactCCE
	Failures int     // k
}

// Gap bounds how much too large the bound may be.
func (j Joint) Gap() float64 { return j.Upper - j.Lower }

// FailuresAtMost returns the least k with P[Bin(n, p) > k] ≤ delta, the tail rounded up. So more than k of n
// independent failures, each of probability at most p, have probability at most delta. For two-sided intervals whose
// ends are bounded at α each, p is 2α.
//
// Errors: n < 1, p or delta outside (0, 1), as *InputError.
func FailuresAtMost(n int, p, delta float64) (int, error) {
	switch {
	case n < 1:
		return 0, inputError("n", n, "at least 1")
	case !(p > 0 && p < 1):
		return 0, inputError("p", p, "a number between 0 and 1")
	case !(delta > 0 && delta < 1):
		return 0, inputError("delta", delta, "a number between 0 and 1")
	}
	low, high := 0, n // tail(n) = 0
	for low < high {
		k := (low + high) / 2
		if upperTail(n, k, p) <= delta {
			high = k
		} else {
			low = k + 1
		}
	}
	return low, nil
}

// upperTail is P[Bin(n, p) > k], rounded up: the terms in logarithms, each off by less than 10⁻⁹ of
// itself for n up to 10¹².
func upperTail(n, k int, p float64) float64 {
	choose := func(i int) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(i + 1))
		c, _ := math.Lgamma(float64(n - i + 1))
		return a - b - c
	}
	mode := int(float64(n+1) * p)
	sum := 0.0
	for i := k + 1; i <= n; i++ {
		log := choose(i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p)
		term := math.Exp(log)
		sum += term
		if i > mode && term < 1e-20*sum {
			ratio := float64(n-i) / float64(i+1) * p / (1 - p) // of later terms, falling
			sum += term * ratio / (1 - ratio)
			break
		}
	}
	scale := 1e-15 * float64(n) * math.Log(float64(n)+2) // of the differences of log-gammas
	return sum * (1 + 1e-9 + scale)
}

// JointCCE bounds the calibration error over all confidences inside the intervals, except for at most k samples whose
// confidence and correctness are free. With k from FailuresAtMost it holds for a whole data set with probability 1 − δ.
// N is the number of samples given.
//
// Fix the signs of the bins' gaps (confidence minus accuracy). Let v_i be what sample i adds to N times the error: the
// largest sign·(z − correctness) over the bins that its interval meets. A free sample adds at most W ≤ 1. The k samples
// with the least v_i become free. So the value is Σ v_i + Σ_k (W − v_i), at most
//
//	min over λ ≥ 0 of  kλ + Σ_i max(v_i, 1 − λ).
//
// Its largest value over signs is at most the same minimum of kλ plus the largest Σ max(v_i, 1 − λ) over signs. The
// program of ExactCCE finds this with every v_i cut from below. It is convex in λ and valid at every λ. The signs found
// there give Lower.
//
// Errors: those of CheckIntervals; k < 0.
func JointCCE(correct []bool, lower, upper []float64, bins *Bins, k int) (Joint, error) {
	if k < 0 {
		return Joint{}, inputError("k", k, "at least 0")
	}
	plain, err := new(Workspace).ExactCCE(correct, lower, upper, bins)
	if err != nil {
		return Joint{}, err
	}
	n := len(correct)
	j := Joint{CCE: plain.CCE, Lower: plain.Value, Failures: k}
	free := min(k, n)
	j.Upper = min(1, j.CCE+2*float64(free)/float64(n)*(1+4*unit))
	if free == 0 {
		return j, nil
	}
	c := newClipped(correct, lower, upper, bins, free)
	least := math.Inf(1)
	var signs []int8
	at := func(lambda float64) float64 {
		value, found := c.bound(lambda)
		if value < least {
			least, signs = value, found
		}
		return value
	}
	// Golden-section search of a convex function on [0, 2]: beyond 2 nothing is clipped.
	golden := (math.Sqrt(5) - 1) / 2
	a, b := 0., 2.
	x, y := b-golden*(b-a), a+golden*(b-a)
	fx, fy := at(x), at(y)
	for range 34 { // to 2·10⁻⁷: k times as much of the bound, over N
		if fx <= fy {
			b, y, fy = y, x, fx
			x = b - golden*(b-a)
			fx = at(x)
		} else {
			a, x, fx = x, y, fy
			y = a + golden*(b-a)
			fy = at(y)
		}
	}
	at(0)
	j.Upper = min(j.Upper, least)
	j.Lower = max(j.Lower, c.value(signs)/float64(n))
	return j, nil
}

// clipped is ExactCCE's program with every earning at least 1 − λ.
type clipped struct {
	correct      []bool
	lower, upper []float64
	bins         *Bins
	free         int
	low, high    []int // bins of the ends
}

func newClipped(correct []bool, lower, upper []float64, bins *Bins, free int) *clipped {
	c := &clipped{correct: correct, lower: lower, upper: upper, bins: bins, free: free}
	for i, l := range lower {
		c.low, c.high = append(c.low, bins.index(l)), append(c.high, bins.index(upper[i]))
	}
	return c
}

// bound returns the bound at λ, as a mean over samples rounded up, and the signs that are best there.
func (c *clipped) bound(lambda float64) (upper float64, signs []int8) {
	least := 1 - lambda
	size, n := c.bins.Len(), float64(len(c.correct))
	var optimum float64
	signs, optimum = bestSigns(c.samples(least), c.bins.edges, size, least)
	value := float64(c.free)*lambda + optimum
	slack := 8 * (n + 3*float64(size) + 4) * unit
	return min(1, value/n+slack), signs
}

// earning holds, for each reach, the sums of clipped earnings.
type earning struct {
	// By bin: what samples earn whose interval reaches into a plus or a minus bin.
	plus, minus []float64
	// By pairs (bin of the lower end, bin of the upper end): number and clipped losses of wrong and correct samples.
	wrong, right []group
}

func (c *clipped) samples(least float64) earning {
	size := c.bins.Len()
	e := earning{make([]float64, size), make([]float64, size), make([]group, size*size), make([]group, size*size)}
	for i, correct := range c.correct {
		l, u, low, high := c.lower[i], c.upper[i], c.low[i], c.high[i]
		if correct {
			g := &e.right[low*size+high]
			g.n++
			g.sum += max(u-1, least)
			e.minus[low] += max(1-l, least)
		} else {
			g := &e.wrong[low*size+high]
			g.n++
			g.sum += max(-l, least)
			e.plus[high] += max(u, least)
		}
	}
	return e
}

// bestSigns maximises the clipped earnings over signs, by the program of ExactCCE: a wrong sample
// earns its upper end where the bin of that is plus, else the upper edge of the next lower plus bin
// that it reaches, else it loses its lower end; a correct one the mirror image.
func bestSigns(e earning, edges []float64, size int, least float64) ([]int8, float64) {
	plus, minus := make([]run, size+1), make([]run, size+1)
	for t := 1; t <= size; t++ {
		plus[t].value, minus[t].value = math.Inf(-1), math.Inf(-1)
	}
	for t := range size {
		// A minus run from t to q: the bin below t is plus, or there is none.
		value, escape := plus[t].value, max(edges[t], least)
		for q := t; q < size; q++ {
			value += e.minus[q]
			for low := range q + 1 { // wrong samples whose upper end is in q
				g := e.wrong[low*size+q]
				if low < t {
					value += g.n * escape
				} else {
					value += g.sum
				}
			}
			if value > minus[q+1].value {
				minus[q+1] = run{value, t}
			}
		}
		// A plus run from p to t: the bin above t is minus, or there is none.
		value, escape = 0, max(1-edges[t+1], least)
		for p := t; p >= 0; p-- {
			value += e.plus[p]
			for high := p; high < size; high++ { // correct samples whose lower end is in p
				g := e.right[p*size+high]
				if high > t {
					value += g.n * escape
				} else {
					value += g.sum
				}
			}
			if total := minus[p].value + value; total > plus[t+1].value {
				plus[t+1] = run{total, p}
			}
		}
	}
	signs := make([]int8, size)
	sign, best := int8(1), plus[size].value
	if minus[size].value > best {
		sign, best = -1, minus[size].value
	}
	for end := size; end > 0; sign = -sign {
		from := minus[end].from
		if sign > 0 {
			from = plus[end].from
		}
		for m := from; m < end; m++ {
			signs[m] = sign
		}
		end = from
	}
	return signs, best
}

// value is the value of the best assignment under given signs, with the least earning samples free, as a sum.
func (c *clipped) value(signs []int8) float64 {
	size, edges := c.bins.Len(), c.bins.edges
	var earned []float64
	most := 0.0
	for m, s := range signs {
		if s > 0 {
			most = max(most, edges[m+1])
		} else {
			most = max(most, 1-edges[m])
		}
	}
	total := 0.0
	for i, correct := range c.correct {
		low, high := c.low[i], c.high[i]
		v := math.Inf(-1)
		for m := low; m <= high; m++ {
			z := min(max(c.lower[i], edges[m]), c.upper[i])
			if signs[m] > 0 {
				z = min(edges[min(m+1, size)], c.upper[i])
			}
			gap := z
			if correct {
				gap--
			}
			v = max(v, float64(signs[m])*gap)
		}
		earned = append(earned, v)
		total += v
	}
	slices.Sort(earned)
	for _, v := range earned[:c.free] {
		total += max(most-v, 0)
	}
	return total
}
