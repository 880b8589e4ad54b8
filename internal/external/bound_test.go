//go:build external

package external

import (
	"math"
	"testing"

	"github.com/certspec/certspec/calib/confidence"
	"github.com/certspec/certspec/rs/bound"
)

// The two-sided interval against the one that SciPy states for a proportion.
func TestExternalTwoSidedInterval(t *testing.T) {
	var want []struct{ Low, High float64 }
	python(t, `
from scipy.stats import binomtest
def interval(k, n, a):
    ci = binomtest(k, n).proportion_ci(confidence_level=1-a, method="exact")
    return {"Low": float(ci.low), "High": float(ci.high)}
answer = [interval(t["K"], t["N"], t["Alpha"]) for t in arg if t["Alpha"] >= 1e-4]`, trials, &want)
	i := 0
	for _, c := range trials {
		if c.Alpha < 1e-4 { // 1−α has too few digits of α
			continue
		}
		lower, upper, err := bound.ClopperPearson{Alpha: c.Alpha}.Interval(c.K, c.N)
		if err != nil {
			t.Fatal(err)
		}
		if !closeBelow(lower.P, want[i].Low) || !closeBelow(want[i].High, upper.P) {
			t.Errorf("%+v: [%.12g, %.12g]; SciPy [%.12g, %.12g]", c, lower.P, upper.P, want[i].Low, want[i].High)
		}
		i++
	}
}

// The randomized bound against the root of its equation, which SciPy finds with its binomial law.
func TestExternalRandomized(t *testing.T) {
	type draw struct {
		trial
		U float64
	}
	var draws []draw
	for _, c := range trials {
		for _, u := range []float64{1, .9, .5, .1} {
			if c.K > 0 && c.Alpha < .1 {
				draws = append(draws, draw{c, u})
			}
		}
	}
	var want []float64
	python(t, `
from math import log
from scipy.optimize import brentq
from scipy.stats import beta, binom
def root(k, n, a, u):
    if k == n:
        return (a/u)**(1/n)
    low, high = beta.ppf(a, k, n-k+1)*(1-1e-6), k/n # the plain bound, and where the left side is near one half
    return brentq(lambda p: log(binom.sf(k, n, p) + u*binom.pmf(k, n, p)) - log(a), low, high, xtol=1e-300, rtol=1e-14)
answer = [float(root(t["K"], t["N"], t["Alpha"], t["U"])) for t in arg]`, draws, &want)
	for i, c := range draws {
		got, err := bound.Randomized{Alpha: c.Alpha, U: c.U}.Lower(c.K, c.N)
		if err != nil {
			t.Fatal(err)
		}
		if !closeBelow(got.P, want[i]) {
			t.Errorf("%+v: %.12g, SciPy %.12g", c, got.P, want[i])
		}
	}
}

// The wealth of the betting test against its defining integral, which SciPy evaluates numerically. The integrand is scaled
// by its largest value; with q = sin²(x) the factor 1/√(q(1−q)) of the prior is constant.
func TestExternalBettingWealth(t *testing.T) {
	type bet struct {
		A, N int
		P0   float64
	}
	bets := []bet{
		{10, 10, .5}, {60, 100, .5}, {80, 100, .5}, {20, 100, .5}, {0, 50, .5}, {47, 47, .841345}, {97, 100, .841345}, {80, 100, .841345},
		{500, 500, .97725}, {995, 1000, .97725}, {300, 500, .97725}, {9835, 10000, .97725}, {9600, 10000, .97725},
		{99000, 100000, .98}, {99990, 100000, .999}, {100000, 100000, .9986501}, {5235, 10000, .5}, {70, 1000, .05},
	}
	var want []float64
	python(t, `
import numpy as np
from scipy.integrate import quad
def log_wealth(A, N, p0):
    low, high = np.arcsin(np.sqrt(p0)), np.pi/2
    def f(x):
        s, c = 2*np.log(np.sin(x)), 2*np.log(np.cos(x)) if x < high else -np.inf
        return A*(s-np.log(p0)) + ((N-A)*(c-np.log1p(-p0)) if N > A else 0.0)
    peak = max(low, min(high, np.arcsin(np.sqrt(A/N))))
    top = f(peak)
    width = 1/np.sqrt(N)
    cuts = sorted({low, high} | {min(high, max(low, peak + d*width)) for d in (-12, -6, -3, -1, 0, 1, 3, 6, 12)}
                  | {min(high, low + d/N) for d in (0.1, 1, 10, 100)})
    total = sum(quad(lambda x: np.exp(f(x)-top), a, b, epsabs=0, epsrel=1e-12, limit=500)[0] for a, b in zip(cuts, cuts[1:]) if b > a)
    return float(top + np.log(total) - np.log(high-low))
answer = [log_wealth(t["A"], t["N"], t["P0"]) for t in arg]`, bets, &want)
	for i, c := range bets {
		test, err := bound.NewBetting(bound.Probability{P: c.P0, Q: 1 - c.P0}, .001)
		if err != nil {
			t.Fatal(err)
		}
		got, err := test.LogWealth(c.A, c.N)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got-want[i]) > 1e-9*max(1, math.Abs(want[i])) {
			t.Errorf("%+v: ln W = %.12g, SciPy's integral %.12g", c, got, want[i])
		}
		// The decision agrees with the integral's, away from rounding.
		if goal := -math.Log(.001); math.Abs(want[i]-goal) > 1e-6 && (c.A >= test.LeastHits(c.N)) != (want[i] >= goal) {
			t.Errorf("%+v: least hits %d; SciPy's ln W is %.12g, 1/α is e^%.6g", c, test.LeastHits(c.N), want[i], goal)
		}
	}
}

// Hoeffding's bound and the width of the Dvoretzky-Kiefer-Wolfowitz band against their formulas in NumPy, and both against
// exact laws of SciPy: the chance
// of a binomial mean, or of the one-sided Kolmogorov-Smirnov statistic, to be farther off is at most α.
func TestExternalHoeffdingAndBand(t *testing.T) {
	type sample struct {
		N     int
		Alpha float64
	}
	samples := []sample{{10, .05}, {100, .001}, {1000, .45}, {1000, 1e-6}, {100000, .001}, {3, .1}}
	var widths []float64
	for _, c := range samples {
		width, err := confidence.HalfWidth(c.N, 2*c.Alpha) // α a side
		if err != nil {
			t.Fatal(err)
		}
		widths = append(widths, width)
	}
	var want []struct{ Width, Hoeffding, Smirnov float64 }
	python(t, `
import numpy as np
from scipy.stats import binom, ksone
answer = []
for t, width in zip(arg["samples"], arg["widths"]):
    n, a = t["N"], t["Alpha"]
    miss = max(float(binom.sf(np.ceil(n*(p+width))-1, n, p)) for p in np.linspace(0.01, 0.99, 99))
    answer.append({"Width": float(np.sqrt(np.log(1/a)/(2*n))), "Hoeffding": miss, "Smirnov": float(ksone.sf(width, n)) if width < 1 else 0.0})`,
		map[string]any{"samples": samples, "widths": widths}, &want)
	for i, c := range samples {
		if widths[i] < want[i].Width || widths[i] > want[i].Width*(1+1e-8) {
			t.Errorf("%+v: width %.12g, NumPy %.12g", c, widths[i], want[i].Width)
		}
		if want[i].Hoeffding > c.Alpha || want[i].Smirnov > c.Alpha {
			t.Errorf("%+v: SciPy gives the width %.6g a failure probability of %.6g for a mean and %.6g for a distribution function", c, widths[i], want[i].Hoeffding, want[i].Smirnov)
		}
		for _, average := range []float64{0, .3, .5, .987, 1} {
			lower, err := bound.Hoeffding{Alpha: c.Alpha}.Lower(average, c.N)
			if err != nil {
				t.Fatal(err)
			}
			upper, err := bound.Hoeffding{Alpha: c.Alpha}.Upper(average, c.N)
			if err != nil {
				t.Fatal(err)
			}
			low, high := max(0, average-want[i].Width), min(1, average+want[i].Width)
			if lower.P > low || lower.P < low-1e-8 || upper.P < high || upper.P > high+1e-8 {
				t.Errorf("%+v, average %v: [%.12g, %.12g], NumPy [%.12g, %.12g]", c, average, lower.P, upper.P, low, high)
			}
		}
	}
}
