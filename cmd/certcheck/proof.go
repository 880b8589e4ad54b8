package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"sort"
	"strconv"
)

var one, half, infinite = big.NewRat(1, 1), big.NewRat(1, 2), new(big.Float).SetInf(false)

// number is r with 128 bits: every operation then errs by a relative 2⁻¹²⁸. All series here have positive
// terms only, so nothing cancels, and all decisions leave far more room than that.
func number(r *big.Rat) *big.Float { return new(big.Float).SetPrec(128).SetRat(r) }

// probability is a lower bound as a ledger writes it, in units of its 15th decimal.
type probability int64

const whole15 = 1e15 // the probability 1

func (q probability) String() string  { return fmt.Sprintf("0.%015d", int64(q)) }
func (q probability) exact() *big.Rat { return big.NewRat(int64(q), whole15) }

// level is the α of a look, also in float64.
type level struct {
	*big.Rat
	near float64
}

func near(alpha *big.Rat) level {
	f, _ := alpha.Float64()
	return level{alpha, f}
}

func times(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }
func minus(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }

// series is F = 1 + r₀ + r₀r₁ + r₀r₁r₂ + … with rᵢ = x·(a + i·step)/(b + i), step 1 or −1; or a
// part of it that is at least enough. It ends where a + i·step is 0, or where the rest, less than a
// geometric series, is below 2⁻⁴⁴ of the sum.
func (c *checker) series(a, step int, b float64, x, enough *big.Float) *big.Float {
	sum, term, factor := number(one), number(one), new(big.Float)
	limit, _ := x.Float64()
	for ; a > 0 && sum.Cmp(enough) < 0; a, b = a+step, b+1 {
		later := limit * max(float64(a)/b, float64(step)) // no later rᵢ is larger: they fall, or tend to x if step is 1
		if later < 1-0x1p-20 && term.MantExp(nil) < sum.MantExp(nil)-64 {
			break
		}
		c.terms--
		must(c.terms > 0, "the counts are too large to be judged in reasonable time")
		term.Mul(term, factor.SetInt64(int64(a)))
		sum.Add(sum, term.Quo(term.Mul(term, x), factor.SetFloat64(b)))
	}
	return sum
}

// tail is P[Bin(n, q) ≥ k] in units of α; or 1 where it is ½ or more. The terms of the binomial sum
// relate as P[k+1]/P[k] = (n−k)/(k+1) · q/(1−q), and all together are 1. So if U is the sum of
// those from k on and D of those below k, both in units of P[k], the tail is U/(U+D), and no
// factorial is needed.
func (c *checker) tail(k, n int, q, alpha *big.Rat) float64 {
	if at, _ := q.Float64(); float64(k) <= float64(n)*at {
		return 1
	}
	odds, level := number(one).Quo(number(q), number(minus(one, q))), number(alpha)
	up := c.series(n-k, -1, float64(k+1), odds, infinite)
	much := number(big.NewRat(2, 1)) // times U/α: if D is that, it does not matter how much more
	all := c.series(k, -1, float64(n-k+1), odds.Quo(number(one), odds), much.Mul(much, much.Quo(up, level)))
	t, _ := up.Quo(up, level.Mul(level, all.Sub(all.Add(all, up), number(one)))).Float64() // P[k] is in both
	return t
}

// series64 is series in float64 for an x that errs by three roundings, of 2⁻⁵³ each. It errs by
// less than steps·2⁻⁵⁰ + 2⁻⁴⁴ of itself: a step adds six roundings to a term and one to the sum,
// and the rest that is left out is the same.
func (c *checker) series64(a, step int, b, x, enough float64) (sum, steps float64) {
	sum = 1
	left, by := float64(a), float64(step)
	for term, most := 1.0, float64(c.terms); left > 0 && sum < enough && steps < most; left, b = left+by, b+1 {
		ratio := left / b
		if term < sum*0x1p-64 && x*max(ratio, by) < 1-0x1p-20 {
			break
		}
		term *= x * ratio
		sum, steps = sum+term, steps+1
	}
	c.terms -= int(steps)
	must(c.terms > 0, "the counts are too large to be judged in reasonable time")
	return sum, steps
}

// rare reports whether P[Bin(n, q) ≥ k] ≤ part·α, for a part near 1: in float64 where the errors of
// series64, thrice, leave no doubt, else with 128 bits.
func (c *checker) rare(k, n int, q probability, alpha level, part float64) bool {
	hit, miss := float64(q)/whole15, float64(whole15-q)/whole15
	if float64(k) > float64(n)*hit && miss > 0 && alpha.near > 1e-290 { // 2U/α is finite
		up, ups := c.series64(n-k, -1, float64(k+1), hit/miss, math.Inf(1))
		down, downs := c.series64(k, -1, float64(n-k+1), miss/hit, 2*up/alpha.near)
		t := up / (alpha.near * (up + down - 1))
		if math.Abs(t-part) > t*((ups+downs)*0x1p-48+0x1p-42) {
			return t < part
		}
	}
	return c.tail(k, n, q.exact(), alpha.Rat) <= part
}

// clopperPearson checks that the best look of an image proves the lower bound q at its level α, as
// so many hits would be rarer than α were q the probability of a hit; and that no look proves a
// larger one, as they would not be so rare at 3·10⁻¹⁵ more. Between the two lies what a program
// that computes in float64 may give away:
//
//	P[Bin(n, q) ≥ k] ≤ α(1 − 10⁻⁹),   P[Bin(n, q + 3·10⁻¹⁵) ≥ k] ≥ α(1 − 2·10⁻⁹).
func (c *checker) clopperPearson(m *image, best int, q probability) {
	for i, k := range m.hits {
		n, alpha := m.samples[i], c.levels[i]
		if i == best && q > 0 && !c.rare(k, n, q, alpha, 1-0.999e-9) { // 0.999, as α may have been a float64
			reject("%d hits of %d do not prove the lower bound %s", k, n, q)
		}
		if c.rare(k, n, q+3, alpha, 1-2.001e-9) {
			reject("%d hits of %d prove a larger lower bound than %s", k, n, q)
		}
	}
}

// mixture checks a bound that holds at every number of samples. The wealth against "the probability
// of a hit is q" is the likelihood of the counts under the prior Beta(rq, r(1−q)), r = 60, beside
// that under q,
//
//	M(q) = B(k) / P[k],   B(k) = A(k; rq)·A(m; r(1−q))/A(n; r),   A(x; c) = c/1 · (c+1)/2 · … · (c+x−1)/x,
//
// with m = n−k misses and P[k] the binomial probability: if q is true, a martingale that begins at
// 1, which ever reaches 1/α with probability at most α (Ville). Below k/n it falls with q, so that
// M(q) ≥ 1/α excludes every probability up to q. 1/P[k] is U+D−1 of the sums at tail.
func (c *checker) mixture(k, n int, q probability) {
	must(q == 0 || c.wealth(k, n, q, c.levels[0].near) >= 1+8e-7, "%d hits of %d do not prove the lower bound %s", k, n,
		q)
	must(c.wealth(k, n, q+3, c.levels[0].near) <= 1+1.3e-6, "%d hits of %d prove a larger lower bound than %s", k, n, q)
}

// wealth is α·M(q), which errs by less than 10⁻⁷ of itself.
func (c *checker) wealth(k, n int, q probability, alpha float64) float64 {
	const r = 60
	misses := n - k
	hit, miss := float64(q)/whole15, float64(whole15-q)/whole15
	if float64(k) <= float64(n)*hit || miss <= 0 {
		return 0
	}
	b := math.Exp(c.rising(k, r*hit) + c.rising(misses, r*miss) - c.rising(n, r))
	much := 1e6 / (alpha * b)
	up, _ := c.series64(misses, -1, float64(k+1), hit/miss, much)
	down, _ := c.series64(k, -1, float64(misses+1), miss/hit, much)
	return alpha * b * (up + down - 1)
}

// reaches reports whether samples that all hit, as many as an image can have, prove a bound of
// Φ(r/σ) and so many units of its 15th decimal, with some room in the level.
func (c *checker) reaches(r *big.Rat, units probability, room float64) bool {
	n := c.samples[len(c.samples)-1]
	for i, size := range c.Rule.Sizes {
		n = max(whole(size.Samples), n*min(i, 1))
	}
	if n == 0 || r.Cmp(times(c.sigma, big.NewRat(7, 1))) > 0 { // 10⁹ samples prove less than Φ(7)
		return false
	}
	scaled, _ := new(big.Float).Mul(c.phi(r), number(big.NewRat(whole15, 1))).Int64()
	q := probability(scaled) + units
	if c.Rule.Name == "anytime" {
		return c.wealth(n, n, q, c.levels[0].near) >= 1+room
	}
	return c.rare(n, n, q, c.levels[len(c.levels)-1], 1-room)
}

// rising is ln A(x; y): the first factors one by one, the others, as they are Γ(x+y)/Γ(f+y) ·
// f!/x!, by Stirling's series, of which the terms left out are below 10⁻¹⁵.
func (c *checker) rising(x int, y float64) float64 {
	const first = 1000
	log := 0.0
	for j := 1; j <= min(x, first); j++ {
		c.terms--
		must(c.terms > 0, "the counts are too large to be judged in reasonable time")
		log += math.Log((y + float64(j-1)) / float64(j))
	}
	if x <= first {
		return log
	}
	// ln Γ(z+y) − ln Γ(z+1), in which nothing large cancels
	ratio := func(z float64) float64 {
		series := func(z float64) float64 { return (1./12 - 1/(360*z*z)) / z }
		return (z+.5)*math.Log1p((y-1)/(z+1)) + (y-1)*(math.Log(z+y)-1) + series(z+y) - series(z+1)
	}
	return log + ratio(float64(x)) - ratio(first)
}

// phi is the normal distribution function at x = r/σ, 0 ≤ x ≤ 9,
//
//	Φ(x) = ½ + S/(√(2π)·E),   S = x + x³/3 + x⁵/(3·5) + …,   E = e^(x²/2) = 1 + x²/2 + x⁴/(2·4) + …
//
// (the derivative of S/E is 1/E: differentiate S·e^(−x²/2) term by term). It errs by less than
// 2⁻¹¹⁰. Φ(8) is above all q of 15 decimals.
func (c *checker) phi(r *big.Rat) *big.Float {
	must(r.Cmp(times(c.sigma, big.NewRat(9, 1))) <= 0, "a radius above 9σ")
	x := number(one).Quo(number(r), number(c.sigma))
	s, e, square := number(one).Set(x), number(one), number(one).Mul(x, x)
	sumS, sumE, factor := number(one).Set(x), number(one), new(big.Float)
	// from 64 on a term is at most 2/3 of the one before
	for i := int64(1); i < 64 || e.Sign() != 0 && e.MantExp(nil) > -128; i++ {
		sumE.Add(sumE, e.Quo(e.Mul(e, square), factor.SetInt64(2*i)))
		sumS.Add(sumS, s.Quo(s.Mul(s, square), factor.SetInt64(2*i+1)))
	}
	root, _ := number(one).SetString("6.28318530717958647692528676655900576839433879875021164194989") // 2π
	return sumS.Add(sumS.Quo(sumS, root.Mul(root.Sqrt(root), sumE)), number(half))
}

// side is −1 or 1 where ½ + v is above or below Φ(x) for sure, 0 where float64 leaves a doubt. x
// may err by eight roundings. The series of phi err by at most six roundings a step, so S/E by
// 64·12·2⁻⁵³ and some roundings more: less than 2⁻⁴² of itself.
func side(x, v float64) int {
	if x < 0 || x > 5 { // up to 5, 64 terms leave out less than 2⁻⁸⁰
		return 0
	}
	s, e, sumS, sumE := x, 1.0, x, 1.0
	for i := 1.0; i < 64; i++ {
		e, s = e*(x*x)/(2*i), s*(x*x)/(2*i+1)
		sumE, sumS = sumE+e, sumS+s
	}
	switch p := sumS / (sumE * math.Sqrt(2*math.Pi)); {
	case p < v-p*0x1p-42:
		return -1
	case p > v+p*0x1p-42:
		return 1
	}
	return 0
}

// radius checks that R is (1−10⁻⁹)·σΦ⁻¹(q), cut to 9 significant digits. It is proven if Φ(R/σ) ≤
// q. As R was computed in float64, 10⁻¹⁴ of R either way, and 2⁻⁵² of 1−q downwards, are no error.
func (c *checker) radius(r *big.Rat, q probability) {
	f, _ := r.Float64()
	nine := strconv.FormatFloat(f, 'e', 8, 64)
	unit := json.Number("1" + nine[len("1.23456789"):]) // of the first digit; the ninth is 10⁻⁸ of it
	same, _ := strconv.ParseFloat(nine, 64)
	must(same == f, "the radius %v has more than 9 significant digits", f)
	must((r.Sign() == 0) == (q == whole15/2), "the radius is %v, for a lower bound of %s", f, q)
	s, _ := c.sigma.Float64()
	v := float64(q-whole15/2) / whole15
	step, _ := unit.Float64()
	low, high := side(f/s*((1e14-1)/(1e14-1e5)), v), side((f+step*1e-8)/s*((1e14+1)/(1e14-1e5)), v-(0.5-v)*0x1p-52)
	if low == 0 {
		low = c.phi(times(r, big.NewRat(1e14-1, 1e14-1e5))).Cmp(number(q.exact())) - 1 // equal is proven
	}
	must(low < 0, "the lower bound %s does not prove the radius %v", q, f)
	if high == 0 {
		next := new(big.Rat).Add(r, times(exact(unit), big.NewRat(1, 1e8)))
		slack := times(minus(one, q.exact()), big.NewRat(1, 1<<52))
		high = c.phi(times(next, big.NewRat(1e14+1, 1e14-1e5))).Cmp(number(minus(q.exact(), slack)))
	}
	must(high > 0, "the lower bound %s proves more than the radius %v", q, f)
}

// leastHits is the least A of n hits, at whatever look, that reject "p ≤ q": with a wealth W ≥ (1+10⁻⁹)/α, where
//
//	W = ∫_{u>q} (u/q)^A ((1−u)/(1−q))^(n−A) dν(u) / ν(u>q),   dν(u) = du/√(u(1−u)).
//
// If p ≤ q, each trial multiplies the integrand by a factor of mean at most 1, so W is a
// non-negative supermartingale that begins at 1, and ever reaches 1/α with probability at most α
// (Ville). It grows with A. With u = 1−t, v = 1−q, and all integrals from 0 to v,
//
//	∫ t^(b−1) (1−t)^(a−1) dt = v^b (1−v)^a / b · F(a+b, b+1),   F(c, d) = 1 + c/d·v + c(c+1)/(d(d+1))·v² + …,
//
// so W = F(n+1, n−A+3/2) / ((2(n−A)+1)·F(1, 3/2)).
func (c *checker) leastHits(n int, q *big.Rat) int {
	key := fmt.Sprint(n, q)
	if c.least[key] > 0 {
		return c.least[key]
	}
	v := number(minus(one, q))
	share := c.series(1, 1, 1.5, v, infinite)
	c.least[key] = sort.Search(n+1, func(hits int) bool {
		goal := number(big.NewRat(int64(2*(n-hits)+1)*(1e9+1), 1e9))
		goal.Mul(goal.Quo(goal, number(c.alpha)), share)
		return c.series(n+1, 1, float64(n-hits)+1.5, v, goal).Cmp(goal) >= 0
	})
	return c.least[key]
}
