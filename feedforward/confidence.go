package feedforward

import (
	"context"
	"math"
	"slices"
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
	pairs := slices.DeleteFunc(upTo(0, k*k), func(pair int) bool { return pair/k == pair%k })
	return u, b.differences(ctx, pairs, func(pair int, v float64) { u[pair] = v })
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

// LogConfidence returns the class and ln max_k softmax_k(f) = −ln(1 + Σ_{l≠k} exp(f_l − f_k)) at the largest output. It
// keeps its digits where the confidence itself rounds to 1. It is NaN if an output is not a number.
func LogConfidence(f []float64) (class int, log float64) {
	for k, v := range f {
		if v > f[class] {
			class = k
		}
	}
	sum := 0.0
	for l, v := range f {
		if l != class {
			sum += math.Exp(v - f[class])
		}
	}
	return class, -math.Log1p(sum)
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

func outwards(upper, lower float64, classes int) (float64, float64) {
	relative := max(1e-13, 4e-16*float64(classes)) // of exp, a sum of as many terms, and log1p
	upper, lower = min(upper+relative*math.Abs(upper), 0), lower-relative*math.Abs(lower)
	return upper, max(lower, -math.Log(float64(classes))*(1+relative))
}

// logSumExp is ln Σ exp(v), where v[zero] is 0: by log1p where that is the largest, so that a small
// sum of the others keeps its digits.
func logSumExp(v []float64, zero int) float64 {
	most := 0.0
	for _, x := range v {
		most = max(most, x)
	}
	if math.IsInf(most, 1) {
		return most
	}
	sum := 0.0
	for l, x := range v {
		if most > 0 || l != zero {
			sum += math.Exp(x - most)
		}
	}
	if most > 0 {
		return most + math.Log(sum)
	}
	return math.Log1p(sum)
}
