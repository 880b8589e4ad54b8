package feedforward

import (
	"context"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/array"
)

// Confidence holds a network's softmax confidence, Conf(z) = max_k softmax_k(f(z)), at an input, and its bounds in a
// box.
type Confidence struct {
	Class    int     // arg max of the outputs at the input, the first of equal ones
	Log      float64 // ln Conf at the input
	LogUpper float64 // ln of an upper bound over the box
	LogLower float64 // ln of a lower bound over the box
}

// Method says how pairs of outputs are bounded.
type Method string

// The methods.
const (
	IBP   Method = "ibp"   // intervals, the last layer merged: U_kl = (W_k−W_l)c + |W_k−W_l|r + b_k − b_l
	CROWN Method = "crown" // the smaller of IBP and CROWN, pair by pair; the zero value means it
	// FullCROWN is CROWN for the bounds between the layers, too, and with three lines below each
	// activation
	FullCROWN Method = "full-crown"
	// AlphaCROWN is FullCROWN with the lines below each ReLU optimised in ten steps, bound by bound
	// (α-CROWN)
	AlphaCROWN Method = "alpha-crown"
	// Split is AlphaCROWN, and ReLUs are split until a bound is below zero or thousands of splits
	// did not help (β-CROWN)
	Split Method = "split"
)

// Differences returns U, K × K, with U[k·K+l] an upper bound on f_k(z) − f_l(z) over the set, and 0 on the diagonal.
// Errors: those of Intervals, an unknown method, that of ctx.
func (n *Network) Differences(ctx context.Context, input Set, method Method, a Arithmetic) ([]float64, error) {
	b, err := n.bounder(ctx, input, method, a)
	if err != nil {
		return nil, err
	}
	k := n.Outputs()
	u := make([]float64, k*k)
	pairs := slices.DeleteFunc(array.UpTo(0, k*k), func(pair int) bool { return pair/k == pair%k })
	return u, b.differences(ctx, pairs, func(pair int, v float64) { u[pair] = v })
}

// Confidence bounds the confidence over a box around x (see Ball), or a segment through it:
//
//	ln Conf(z) ≤ max_k −ln Σ_l exp(−U_kl)   and   ln Conf(z) ≥ max_k −ln Σ_l exp(U_lk)
//
// for every z in the set, with U from Differences (Bitterwolf et al. 2020, equation 6, and its mirror). The bounds are
// rounded outwards. Pairs that cannot change either are left out.
//
// Errors: those of Differences and Forward.
func (n *Network) Confidence(ctx context.Context, x []float64, set Set, method Method, a Arithmetic) (Confidence,
	error) {
	f, err := n.Forward(x)
	if err != nil {
		return Confidence{}, err
	}
	b, err := n.bounder(ctx, set, method, a)
	if err != nil {
		return Confidence{}, err
	}
	c := Confidence{}
	c.Class, c.Log = LogConfidence(f)
	c.LogUpper, c.LogLower, err = b.logBounds(ctx, f, c.Class)
	return c, err
}

// LogBounds returns the upper and the lower bound on ln Conf that follow from U (see Confidence), rounded outwards. The
// upper is at most 0, the lower at least −ln K.
func LogBounds(u []float64, classes int) (upper, lower float64) {
	upper, lower = math.Inf(-1), math.Inf(-1)
	for k := range classes {
		upper, lower = max(upper, upperOf(u, classes, k)), max(lower, lowerOf(u, classes, k))
	}
	return outwards(upper, lower, classes)
}

// upperOf is −ln Σ_l exp(−U_kl), and lowerOf −ln Σ_l exp(U_lk).
func upperOf(u []float64, classes, k int) float64 {
	minus := make([]float64, classes)
	for l := range minus {
		minus[l] = -u[k*classes+l]
	}
	return -logSumExp(minus, k)
}

func lowerOf(u []float64, classes, k int) float64 {
	column := make([]float64, classes)
	for l := range column {
		column[l] = u[l*classes+k]
	}
	return -logSumExp(column, k)
}
