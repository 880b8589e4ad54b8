package feedforward

import (
	"fmt"
	"math"
)

// Box holds a lower and an upper bound on each value of a tensor.
type Box struct{ Lower, Upper []float64 }

func newBox(size int) Box { return Box{make([]float64, size), make([]float64, size)} }

// Arithmetic says what bounds account for.
type Arithmetic string

const (
	// Rigorous bounds hold for the network in exact arithmetic, and for its evaluation in float32 (IEEE 754 single
	// precision). Sums may have any order, with or without fused multiply-add. Subnormal numbers may be kept or flushed
	// to zero, and normalisation may be folded into the convolution before it. They do not cover arithmetic of lower
	// precision (half, TF32, bfloat16) or Winograd's and Fourier forms of convolution.
	Rigorous Arithmetic = "exact+float32"
	// Plain bounds come from interval arithmetic without regard to rounding.
	Plain Arithmetic = "plain"
	// Integers are the bounds of an integer network: nothing in it is rounded. No Network here takes it.
	Integers Arithmetic = "integers"
)

func (a Arithmetic) check() (Arithmetic, error) {
	switch a {
	case "":
		return Rigorous, nil
	case Rigorous, Plain:
		return a, nil
	}
	return "", &InputError{fmt.Sprintf("arithmetic %q, want %q or %q", a, Rigorous, Plain)}
}

const (
	single = 0x1p-24  // unit roundoff of float32
	tiny   = 0x1p-126 // the smallest normal float32: what flushing to zero can lose in one operation
	// host is an allowance for the float64 rounding errors of our own sums, relative to the sum of
	// magnitudes: it is above γ_m(2⁻⁵³) for all m up to 2²⁰ terms, and the Builder refuses larger
	// layers.
	host      = 0x1p-32
	mostTerms = 1 << 20
	// extraTerms are the operations on each term beside its product: scaling folded in, a bias, a
	// division by a count.
	extraTerms = 16
)

// gamma is the error of a sum of n products in float32, relative to the sum of their magnitudes, γ_m =
// m·u/(1−m·u) with m = n + extraTerms (Higham 2002, lemma 3.1), and our own float64 rounding besides; 0 in plain
// arithmetic.
func (a Arithmetic) gamma(n int) float64 {
	if a == Plain {
		return 0
	}
	m := float64(n+extraTerms) * single
	return m/(1-m)*(1+0x1p-40) + host
}

// lose is the absolute allowance for n operations in which a result may be flushed to zero.
func (a Arithmetic) lose(n int) float64 {
	if a == Plain {
		return 0
	}
	return float64(2*n+extraTerms) * tiny
}

// down and up move a computed end of an interval outwards by more than the float64 rounding of the last few operations.
func (a Arithmetic) down(v float64) float64 {
	if a == Plain {
		return v
	}
	return v - math.Abs(v)*0x1p-50 - 0x1p-1000
}

func (a Arithmetic) up(v float64) float64 {
	if a == Plain {
		return v
	}
	return v + math.Abs(v)*0x1p-50 + 0x1p-1000
}

// centre writes the centres, radii and magnitudes max(|lower|, |upper|) of a box; centre ± radius contains the box.
func (b Box) centre(c, r, m []float64, a Arithmetic) {
	for i, lo := range b.Lower {
		hi := b.Upper[i]
		c[i] = lo + (hi-lo)/2
		r[i] = max(hi-c[i], c[i]-lo)
		if a != Plain {
			r[i] *= 1 + 0x1p-51
		}
		m[i] = max(math.Abs(lo), math.Abs(hi))
	}
}

// overflow is the magnitude above which float32 might overflow on the way; a value that can be larger has no bound.
const overflow = 0x1p120

// Ball is the box of all z with |z − x| ≤ ε in every value and 0 ≤ z ≤ 1, rounded outwards. In rigorous arithmetic it
// contains, besides, the values of x rounded to float32, since byte/255 is rounded on its way into a network. Of
// Integers it is the plain one. Errors: ε negative, above 1 or not a number, values outside [0, 1], as *InputError.
func Ball(x []float64, epsilon float64, a Arithmetic) (Box, error) {
	if a == Integers {
		a = Plain
	}
	a, err := a.check()
	if err != nil {
		return Box{}, err
	}
	if !(epsilon >= 0 && epsilon <= 1) {
		return Box{}, &InputError{fmt.Sprintf("epsilon %v, want a number between 0 and 1", epsilon)}
	}
	b := newBox(len(x))
	for i, v := range x {
		if !(v >= 0 && v <= 1) {
			return Box{}, &InputError{fmt.Sprintf("value %d of the input is %v, want 0 to 1", i, v)}
		}
		lo, hi := a.down(v-epsilon), a.up(v+epsilon)
		if a != Plain {
			lo, hi = lo-(v+epsilon)*2*single, hi+(v+epsilon)*2*single
		}
		b.Lower[i], b.Upper[i] = max(lo, 0), min(hi, 1)
	}
	return b, nil
}

// guard gives no bound at all to a value that might overflow float32, or whose bounds are not numbers, and says
// whether there is one.
func (b Box) guard() (any bool) {
	for i := range b.Lower {
		if !(b.Lower[i] >= -overflow && b.Upper[i] <= overflow) {
			b.Lower[i], b.Upper[i] = math.Inf(-1), math.Inf(1)
			any = true
		}
	}
	return any
}

func (n *Network) checkBox(b Box) error {
	if want := n.nodes[0].shape.Size(); len(b.Lower) != want || len(b.Upper) != want {
		return &InputError{fmt.Sprintf("a box of %d and %d values, want %d", len(b.Lower), len(b.Upper), want)}
	}
	for i, lo := range b.Lower {
		if !(lo <= b.Upper[i]) || math.IsInf(lo, 0) || math.IsInf(b.Upper[i], 0) {
			return &InputError{fmt.Sprintf("value %d of the box is [%v, %v]", i, lo, b.Upper[i])}
		}
	}
	return nil
}
