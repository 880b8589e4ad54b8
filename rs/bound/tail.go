package bound

import "math"

// unit is the largest relative error of one rounded float64 operation.
const unit = 0x1p-53

// tail is ln P[Bin(n, p) ≥ k] at one p, with what a Newton step needs.
type tail struct {
	log   float64 // estimate of the logarithm
	err   float64 // bound on the absolute error of log, truncation and rounding together
	slope float64 // derivative of the logarithm with respect to ln(p/q)
	lead  float64 // k − (n+1)p; the second derivative is slope·(lead − slope)
}

// split is a p and its complement. The smaller of the two is exact and defines the real
// p; the other one is 1 minus it, rounded to nearest.
type split struct{ p, q float64 }

// upperTail evaluates ln P[Bin(n, p) ≥ k] for 1 ≤ k ≤ n ≤ MaxTrials and p in (0, 1).
func upperTail(k, n int, at split) tail {
	lead := lead(float64(k), float64(n), at)
	if lead >= 0 {
		t, pmf := shortTail(float64(k), float64(n), at, lead)
		t.slope = pmf
		return t
	}
	// P[Bin(n, p) ≥ k] = 1 − P[Bin(n, q) ≥ n−k+1], whose continued fraction converges here.
	c, slope := shortTail(float64(n-k+1), float64(n), split{at.q, at.p}, -lead)
	complement := math.Exp(c.log)
	rest := -math.Expm1(c.log)
	t := tail{log: math.Log(rest), lead: lead}
	t.err = complement/rest*(c.err+4*unit) + 4*unit*(1+math.Abs(t.log))
	t.slope = slope * complement / rest
	return t
}

// lead returns k − (n+1)p, rounded once.
func lead(k, n float64, at split) float64 {
	if at.p <= at.q {
		return math.FMA(-(n + 1), at.p, k)
	}
	return math.FMA(n+1, at.q, -(n - k + 1))
}

// shortTail evaluates ln P[Bin(n, p) ≥ k] where λ = k − (n+1)p ≥ 0, and the slope of it
// with respect to ln(p/q).
//
// With a = k, b = n−k+1 the tail is I_p(a, b) = p^a q^b / B(a, b) · F, where F is the
// continued fraction of DiDonato and Morris (ACM TOMS 18, 1992, §3, "BFRAC"),
//
//	F = 1/(β₀ + α₁/(β₁ + α₂/(β₂ + ...))),
//	α_i = (a+i−1)(a+b+i−1) i (b−i) p² / (a+2i−1)²,
//	β_i = i + i(b−i)p/(a+2i−1) + (a+i)/(a+2i+1)·(λ+1+i(1+q)).
//
// All α_i and β_i are positive and α_b = 0, so it ends, and two successive convergents
// enclose F. Numerator and denominator are summed forwards, sums of positive terms, so their
// relative rounding errors grow by at most 27 units a step.
func shortTail(k, n float64, at split, lambda float64) (t tail, slope float64) {
	const (
		tolerance = 0x1p-40
		huge      = 0x1p400
	)
	a, b, p, q := k, n-k+1, at.p, at.q
	reciprocal := 1 / (a + 1)
	// Convergents top/bottom: the last one and the one before.
	top0, bottom0 := 0.0, 1.0
	top, bottom := 1.0, a*reciprocal*(lambda+1)
	steps, gap := 1.0, 0.0
	for i := 1.0; i < b; i++ {
		scaled := p * reciprocal
		reciprocal = 1 / (a + 2*i + 1)
		alpha := (a + i - 1) * (n + i) * i * (b - i) * scaled * scaled
		beta := i + i*(b-i)*scaled + (a+i)*reciprocal*(lambda+1+i*(1+q))
		top0, top = top, beta*top+alpha*top0
		bottom0, bottom = bottom, beta*bottom+alpha*bottom0
		steps++
		if now, before := top*bottom0, top0*bottom; math.Abs(now-before) <= tolerance*before {
			gap = tolerance
			break
		}
		if bottom > huge {
			top, bottom, top0, bottom0 = top/huge, bottom/huge, top0/huge, bottom0/huge
		}
	}
	f := top / bottom
	logMass, massErr := logMass(k, n, at)
	t.log = logMass + math.Log(k*q*f)
	t.err = massErr + gap + (55*steps+16)*unit + 2*unit*math.Abs(t.log)
	t.lead = lambda
	return t, 1 / f
}

// logMass returns ln P[Bin(n, p) = k] for 1 ≤ k ≤ n and a bound on its absolute error, by the
// saddle point form of Loader, "Fast and accurate computation of binomial probabilities"
// (2000): ½ ln(n/(2πk(n−k))) + δ(n) − δ(k) − δ(n−k) − D(k; np) − D(n−k; nq).
func logMass(k, n float64, at split) (log, err float64) {
	if k == n {
		log = n * logOf(at)
		return log, 3 * unit * math.Abs(log)
	}
	miss := n - k
	var excess float64 // k − np, rounded once
	if at.p <= at.q {
		excess = math.FMA(-n, at.p, k)
	} else {
		excess = math.FMA(n, at.q, -miss)
	}
	d1, size1 := deviance(k, n*at.p, excess)
	d2, size2 := deviance(miss, n*at.q, -excess)
	log = 0.5*math.Log(n/(2*math.Pi*k)/miss) + stirlingError(n) - stirlingError(k) - stirlingError(miss) - d1 - d2
	return log, 32*unit*(size1+size2) + 4*unit*math.Abs(log) + 128*unit
}

func logOf(at split) float64 {
	if at.q < at.p {
		return math.Log1p(-at.q)
	}
	return math.Log(at.p)
}

// deviance returns D(x; m) = x ln(x/m) − (x−m) with excess = x−m, and the sum of the
// magnitudes that went into it.
func deviance(x, m, excess float64) (d, size float64) {
	v := excess / (x + m)
	if math.Abs(v) >= 0.1 {
		l := x * math.Log(x/m)
		return l - excess, math.Abs(l) + math.Abs(excess)
	}
	// x ln(x/m) = 2x artanh(v); the term of first order combines with x−m to (x−m)v.
	d = excess * v
	size = d
	term := 2 * x * v
	for i := 3.0; ; i += 2 {
		term *= v * v
		next := d + term/i
		if next == d {
			return d, size + math.Abs(2*x*v*v*v)
		}
		d = next
	}
}

// stirlingError returns δ(n) = ln n! − ½ ln(2πn) − n ln n + n for an integer n ≥ 1.
func stirlingError(n float64) float64 {
	if n < float64(len(stirlingTable)) {
		return stirlingTable[int(n)]
	}
	r := 1 / n
	r2 := r * r
	// Asymptotic series; the first term left out is below 2e-16 at n = 16.
	return r * (1./12 - r2*(1./360-r2*(1./1260-r2*(1./1680-r2/1188))))
}

// stirlingTable holds δ(n) for 1 ≤ n < 16, from the definition with 40 digits (mpmath).
var stirlingTable = [16]float64{
	0,
	0.08106146679532725822,
	0.041340695955409294094,
	0.027677925684998339149,
	0.020790672103765093112,
	0.016644691189821192163,
	0.013876128823070747999,
	0.011896709945891770095,
	0.010411265261972096497,
	0.0092554621827127329177,
	0.0083305634333628712565,
	0.007573675487951840795,
	0.0069428401072095298657,
	0.0064089941880042070684,
	0.0059513701127588477356,
	0.005554733551962801371,
}
