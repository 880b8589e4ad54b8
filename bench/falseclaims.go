package main

import (
	"gonum.org/v1/gonum/mathext"
)

func (r *soundness) pValue(c soundnessCell) float64 {
	return atLeast(c.wrong(), c.Through.Trials+c.Drawn.Trials, r.Alpha)
}

// atLeast is P(X ≥ k), X ~ Bin(n, p).
func atLeast(k, n int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}

// apart is how probable it is that two parts of one law share their false ones so unevenly: twice the smaller tail of the binomial law, which is
// wider than the hypergeometric one.
func apart(a, b counts) float64 {
	n, share := a.False+b.False, float64(a.Trials)/float64(a.Trials+b.Trials)
	return min(1, 2*min(atLeast(a.False, n, share), 1-atLeast(a.False+1, n, share)))
}

// beyond reports whether a number of false certificates lies above α: a probability of at most .001 in the whole table, by Bonferroni.
func (r *soundness) beyond(c soundnessCell) bool {
	return c.PValue < .001/float64(len(r.Rows)*len(r.Names))
}
