package bound

import (
	"fmt"
	"math"
)

// Betting is a test of "p ≤ p0" for the probability p of a hit that may look at the counts after every trial.
//
// After A hits in N independent trials its wealth is the Krichevsky-Trofimov mixture of likelihood ratios, restricted
// to the alternatives above p0. With q0 = 1−p0 and θ the Beta(½, ½) law,
//
//	W(A, N) = ∫_{q>p0} (q/p0)^A ((1−q)/q0)^(N−A) dθ(q) / θ(q > p0).
//
// For every p ≤ p0 a trial contributes the factor q/p0 or (1−q)/q0, whose mean is at most 1. So W is a non-negative
// supermartingale that starts at 1. By Ville's inequality the probability that W ≥ 1/α ever, whatever the number of
// looks, is at most α. So where W reaches 1/α, p > p0 is certified at level α.
//
// Several p0 in increasing order may be tested on the same trials at level α each until one is not rejected. The first
// false statement is on the smallest p0 ≥ p, which is not random.
//
// (Ville 1939; Krichevsky and Trofimov 1981 for the mixture; Voráček 2024, arXiv 2406.17830, for its use in randomized
// smoothing. Restricting it to one side makes the threshold 1/α, without a union bound over sides.)
type Betting struct {
	p0    Probability
	alpha float64
	odds  float64 // w = q0/p0
	limit float64 // h at which W is 1/α, rounded up
}

// NewBetting returns the test of p ≤ p0 at level α. The two values of p0 may be off the exact p0 and 1−p0 by a relative
// 2⁻⁵² each, as those of a decimal number are. The test is then for the exact p0.
//
// Errors: α outside [1e-280, 1), p0 outside [1e-20, 1−1e-20] or without its complement, as *InputError.
func NewBetting(p0 Probability, alpha float64) (*Betting, error) {
	const least = 1e-20
	if !(p0.P >= least && p0.Q >= least && math.Abs(p0.P+p0.Q-1) <= 1e-15) {
		return nil, inputError("p0", fmt.Sprintf("{P: %g, Q: %g}", p0.P, p0.Q),
			fmt.Sprintf("P and Q of at least %g with P+Q = 1", least))
	}
	if err := checkAlpha(alpha); err != nil {
		return nil, err
	}
	odds := p0.Q / p0.P
	return &Betting{
		p0: p0, alpha: alpha, odds: odds,
		limit: (1 + slack) * (1 + 32*unit) / (alpha * wealthPerH(odds)),
	}, nil
}

// P0 is the probability that is tested.
func (b *Betting) P0() Probability { return b.p0 }

// Alpha is the probability with which the test may reject a p ≤ p0.
func (b *Betting) Alpha() float64 { return b.alpha }

func (*Betting) Name() string { return "betting test" }

func (b *Betting) String() string {
	return fmt.Sprintf("%s of p ≤ %v at α = %g", b.Name(), b.p0, b.alpha)
}

// LeastHits returns the least A with W(A, n)·(1−ε) ≥ (1+10⁻⁹)/α. Here ε bounds the rounding error, so W(A, n) ≥ 1/α
// holds in exact arithmetic. It is n+1 where no A reaches it, and for an n outside [1, MaxTrials]. As W grows with A,
// "at least LeastHits(n) hits" is the whole decision after n trials. It takes time of order √n; a loop over many images
// keeps the values of its looks.
func (b *Betting) LeastHits(n int) int {
	if n < 1 || n > MaxTrials {
		return max(n, 0) + 1
	}
	hits, h, steps := b.start(n, n)
	for ; hits <= n; hits++ {
		if h >= b.limit && h*(1-float64(steps)*stepError) >= b.limit {
			return hits
		}
		r := 1 / (float64(n-hits) - 0.5)
		h = r + b.odds*(float64(hits)+0.5)*r*h
		steps++
	}
	return n + 1
}

// LogWealth returns ln W(hits, n), to about a relative 10⁻¹² in W, for display. Decide by LeastHits.
// It takes time of order hits − p0·n + √n.
//
// Errors: n outside [1, MaxTrials], hits outside [0, n], as *InputError.
func (b *Betting) LogWealth(hits, n int) (float64, error) {
	if err := checkCount(hits, n); err != nil {
		return 0, err
	}
	at, h, _ := b.start(n, hits)
	const huge = 0x1p500
	one, log := 1.0, 0.0
	for ; at < hits; at++ {
		r := 1 / (float64(n-at) - 0.5)
		h = one*r + b.odds*(float64(at)+0.5)*r*h
		if h > huge {
			h, one, log = h/huge, one/huge, log+math.Log(huge)
		}
	}
	return math.Log(wealthPerH(b.odds)) + math.Log(h) + log, nil
}

// wealthPerH is the factor √w/(2 atan √w) of the wealth W = √w/(2 atan √w) · h(A), w = q0/p0, where
//
//	h(A) = p0 ∫₀^{q0} t^(N−A−½) (1−t)^(A−½) dt / (p0^(A+½) q0^(N−A+½)),
//
// and integration by parts gives
//
//	h(A) = (1 + w·(A−½)·h(A−1)) / (N−A+½).
//
// All terms are positive, so nothing cancels, and a lower bound on one h gives lower bounds on all that follow.
// (The other way, 1 minus an incomplete beta function, leaves rounding dust of 10⁻¹⁶ where the
// value may be 10⁻⁴⁰, which then certifies what is false.)
func wealthPerH(odds float64) float64 {
	root := math.Sqrt(odds)
	return root / (2 * math.Atan(root))
}

// stepError bounds the relative error that one step of the recurrence adds: five roundings, and that of w.
const stepError = 10.5 * unit

// start returns a count of hits of at most last, a lower bound on its h, and the number of steps' worth of
// rounding error in it. It lies so far below both last and the mean that what is left out is a
// relative e⁻⁴⁰ of h(last), by Bernstein's inequality; where that is below zero, h(0) is computed.
func (b *Betting) start(n, last int) (hits int, h float64, steps int) {
	mean := float64(n+1) * b.p0.P
	away := 9*math.Sqrt(mean*b.p0.Q) + 30
	if from := math.Floor(min(mean, float64(last)) - away); from > 0 {
		return int(from), 0, 0
	}
	h, steps = zeroHits(float64(n), b.odds)
	return 0, h, steps
}

// zeroHits returns a lower bound on h(0) = F(½, 1; N+3/2; −w)/(N+½), with F the hypergeometric
// function, by Gauss's continued fraction
//
//	F = 1/(1 + d₁w/(1 + d₂w/(1 + …))),   with b = N+½,
//	d₂ₖ₊₁ = (k+½)(b+k)/((b+2k)(b+2k+1)),  d₂ₖ = k(N+k)/((b+2k−1)(b+2k)).
//
// All d are positive, so the convergents that end with an odd d lie below F and rise.
func zeroHits(n, w float64) (h float64, steps int) {
	const (
		tolerance = 0x1p-50
		huge      = 0x1p300
		most      = 20_000 // a fraction cut short is a lower bound still
	)
	b := n + 0.5
	upper, upperBottom := 1.0, 1.0
	lower, lowerBottom := 1.0, 1+0.5*w/(b+1)
	steps = errorOfPair
	for k := 1.0; k < most; k++ {
		if above, below := upper*lowerBottom, lower*upperBottom; above-below <= tolerance*below {
			break
		}
		d := w * k * (n + k) / ((b + 2*k - 1) * (b + 2*k))
		upper, upperBottom = lower+d*upper, lowerBottom+d*upperBottom
		d = w * (k + 0.5) * (b + k) / ((b + 2*k) * (b + 2*k + 1))
		lower, lowerBottom = upper+d*lower, upperBottom+d*lowerBottom
		steps += errorOfPair
		if lowerBottom > huge {
			upper, upperBottom, lower, lowerBottom = upper/huge, upperBottom/huge, lower/huge, lowerBottom/huge
		}
	}
	return lower / lowerBottom / b, steps
}

// errorOfPair is the rounding error of two steps of the continued fraction, at most 22 units each, in steps
// of the recurrence.
const errorOfPair = 5
