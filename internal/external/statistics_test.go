//go:build external

package external

import (
	"testing"

	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/noise"
)

// closeBelow reports whether got is at most want, allowing for SciPy's own rounding, and at most a relative 10⁻⁸ less.
func closeBelow(got, want float64) bool { return got <= want*(1+1e-10) && got >= want*(1-1e-8) }

type trial struct {
	K, N  int
	Alpha float64
}

var trials = []trial{
	{100, 100, 0.001}, {99, 100, 0.001}, {51, 100, 0.05}, {1, 100, 0.5}, {0, 10, 0.01}, {990, 1000, 0.000125},
	{100000, 100000, 0.001}, {99990, 100000, 0.001}, {90000, 100000, 0.001}, {50500, 100000, 0.001},
	{9999999, 10000000, 1e-9}, {123456, 10000000, 1e-12}, {7, 7, 0.5},
}

// SciPy's quantile of the Beta distribution is the exact Clopper-Pearson bound up to rounding.
func TestExternalClopperPearson(t *testing.T) {
	var want []struct{ P, Q, Upper float64 }
	python(t, `
from scipy.stats import beta
def bounds(k, n, a):
    p = beta.ppf(a, k, n-k+1) if k else 0.0
    q = beta.isf(a, n-k+1, k) if k else 1.0
    u = beta.isf(a, k+1, n-k) if k < n else 1.0
    return {"P": float(p), "Q": float(q), "Upper": float(u)}
answer = [bounds(t["K"], t["N"], t["Alpha"]) for t in arg]`, trials, &want)
	for i, c := range trials {
		lower, err := bound.Lower(c.K, c.N, c.Alpha)
		if err != nil {
			t.Fatal(err)
		}
		upper, err := bound.Upper(c.K, c.N, c.Alpha)
		if err != nil {
			t.Fatal(err)
		}
		if !closeBelow(lower.P, want[i].P) || !closeBelow(want[i].Q, lower.Q) || !closeBelow(want[i].Upper, upper.P) {
			t.Errorf("%+v: lower %.12g (q %.12g), upper %.12g; SciPy %.12g (q %.12g), %.12g",
				c, lower.P, lower.Q, upper.P, want[i].P, want[i].Q, want[i].Upper)
		}
	}
}

func TestExternalRadius(t *testing.T) {
	var want []float64
	python(t, `
from scipy.stats import beta, norm
answer = [float(0.25*norm.isf(beta.isf(t["Alpha"], t["N"]-t["K"]+1, t["K"]))) if t["K"] else 0.0 for t in arg]`, trials, &want)
	for i, c := range trials {
		lower, err := bound.Lower(c.K, c.N, c.Alpha)
		if err != nil {
			t.Fatal(err)
		}
		got, err := bound.Radius(0.25, lower)
		if err != nil {
			t.Fatal(err)
		}
		// Where the bound is below one half, SciPy's formula is negative and nothing is certified. Close to
		// one half the radius is a small difference, so that its error is absolute.
		if exact := max(0, want[i]); got > exact+1e-11 || got < exact*(1-1e-7)-1e-8 {
			t.Errorf("%+v: radius %.12g, SciPy %.12g", c, got, exact)
		}
	}
}

func TestExternalTopTwoPValue(t *testing.T) {
	pairs := [][2]int{{100, 0}, {60, 40}, {50, 50}, {51, 49}, {5500, 4500}, {8, 1}, {1, 0}, {50300, 49700}}
	var want []float64
	python(t, `
from scipy.stats import binomtest
answer = [float(binomtest(a, a+b, 0.5).pvalue) for a, b in arg]`, pairs, &want)
	for i, c := range pairs {
		got, err := bound.TopTwoPValue(c[0], c[1])
		if err != nil {
			t.Fatal(err)
		}
		if !closeBelow(want[i], got) && got != 1 {
			t.Errorf("%v: p-value %.12g, SciPy %.12g", c, got, want[i])
		}
	}
}

// The law of grid noise is the normal law rounded to the grid: SciPy's test of a million drawn
// values against it. The seed is fixed; with another, it fails once in a million times.
func TestExternalGridNoise(t *testing.T) {
	const sigma, size, samples = 0.25, 1000, 1000
	grid, err := noise.NewGrid(sigma)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]int16, size*samples)
	if failed, err := grid.AddTo(values, make([]int16, size), noise.Address{Seed: 7, Image: 3}, 0, nil); err != nil || len(failed) > 0 {
		t.Fatal(err, failed)
	}
	counts := map[int16]int{}
	for _, v := range values {
		counts[v]++
	}
	low, high := grid.Limits()
	var p float64
	python(t, `
import numpy as np
from scipy.stats import chisquare, norm
low, high = arg["low"], arg["high"]
k = np.arange(low, high+1)
cdf = norm.cdf((k[:-1]+0.5)/(255*arg["sigma"]))
law = np.diff(np.concatenate([[0.0], cdf, [1.0]]))
seen = np.array([arg["counts"].get(str(v), 0) for v in k], dtype=float)
n = seen.sum()
# Rare values are put together, so that each cell expects enough.
keep = law*n >= 20
answer = float(chisquare(np.append(seen[keep], seen[~keep].sum()), np.append(law[keep], law[~keep].sum())*n).pvalue)`,
		map[string]any{"low": low, "high": high, "sigma": sigma, "counts": counts}, &p)
	if p < 1e-6 {
		t.Errorf("SciPy gives the drawn noise a p-value of %g", p)
	}
}
