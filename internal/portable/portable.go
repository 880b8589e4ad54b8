// Package portable holds elementary functions that give the same bits on every platform.
//
// The functions of package math do not: some are assembly on some systems, and the rest is compiled with fused
// multiply-add on others, which rounds otherwise. Here every product is rounded by itself (an explicit conversion, as
// the language promises), and only operations that IEEE 754 rounds correctly are used. Errors are a few units in
// the last place; what is drawn from a seed needs sameness more than the last bit.
package portable

import "math"

// polynomial is c[0] + c[1]·x + c[2]·x² + …, by Horner's rule.
func polynomial(x float64, c []float64) float64 {
	sum := c[len(c)-1]
	for i := len(c) - 2; i >= 0; i-- {
		sum = float64(sum*x) + c[i]
	}
	return sum
}

// reciprocals gives s/(first)!, −s/(first+2)!, … alternating, the Taylor coefficients of sine and cosine.
func reciprocals(first, count int) []float64 {
	c := make([]float64, count)
	factorial := 1.0
	for n := 1; n <= first; n++ {
		factorial *= float64(n)
	}
	sign := 1.0
	for i := range c {
		c[i] = sign / factorial
		n := float64(first + 2*i)
		factorial *= (n + 1) * (n + 2)
		sign = -sign
	}
	return c
}

var (
	cosine = reciprocals(0, 9)
	sine   = reciprocals(1, 9)
)

// π/2 in three parts of which the first two have trailing zeros, so that their products with a small integer are exact.
var (
	halfPi1 = math.Float64frombits(0x3ff921fb40000000)
	halfPi2 = math.Float64frombits(0x3e74442d00000000)
	halfPi3 = math.Float64frombits(0x3cf8469898cc5170)
)

// Sincos is the sine and cosine of x, for |x| up to 10⁵; beyond, the error grows.
func Sincos(x float64) (sin, cos float64) {
	k := math.RoundToEven(x / (math.Pi / 2))
	r := x - float64(k*halfPi1) - float64(k*halfPi2) - float64(k*halfPi3)
	square := float64(r * r)
	sin, cos = float64(r*polynomial(square, sine)), polynomial(square, cosine)
	switch int64(k) & 3 {
	case 1:
		sin, cos = cos, -sin
	case 2:
		sin, cos = -sin, -cos
	case 3:
		sin, cos = -cos, sin
	}
	return sin, cos
}

// Atan2 is the angle of the point (x, y), in [−π, π]; 0 at the origin.
func Atan2(y, x float64) float64 {
	ax, ay := math.Abs(x), math.Abs(y)
	angle := 0.0
	switch {
	case ax == 0 && ay == 0:
		return 0
	case ay <= ax:
		angle = atan(ay / ax)
	default:
		angle = math.Pi/2 - atan(ax/ay)
	}
	if x < 0 {
		angle = math.Pi - angle
	}
	return math.Copysign(angle, y)
}

var arctangent = []float64{1, -1. / 3, 1. / 5, -1. / 7, 1. / 9, -1. / 11, 1. / 13, -1. / 15, 1. / 17}

// atan is the arc tangent of 0 ≤ x ≤ 1: three halvings of the angle, then its series.
func atan(x float64) float64 {
	for range 3 {
		x /= 1 + math.Sqrt(1+float64(x*x))
	}
	return 8 * float64(x*polynomial(float64(x*x), arctangent))
}

// ln 2 in two parts; the product of the first with a small integer is exact.
const (
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
)

var exponential = func() []float64 {
	c := make([]float64, 14)
	factorial := 1.0
	for i := range c {
		c[i] = 1 / factorial
		factorial *= float64(i + 1)
	}
	return c
}()

// Exp is eˣ; 0 below −745 and +Inf above 709.
func Exp(x float64) float64 {
	switch {
	case x != x:
		return x
	case x < -745:
		return 0
	case x > 709:
		return math.Inf(1)
	}
	k := math.RoundToEven(x / math.Ln2)
	r := x - float64(k*ln2High) - float64(k*ln2Low)
	return math.Ldexp(polynomial(r, exponential), int(k))
}

var logarithm = func() []float64 {
	c := make([]float64, 12)
	for i := range c {
		c[i] = 2 / float64(2*i+1)
	}
	return c
}()

// Log is the natural logarithm of a finite x > 0; −Inf at 0, NaN below.
func Log(x float64) float64 {
	switch {
	case x != x || x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	case math.IsInf(x, 1):
		return x
	}
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, k = 2*m, k-1
	}
	t := (m - 1) / (m + 1)
	return float64(t*polynomial(float64(t*t), logarithm)) + float64(float64(k)*ln2Low) + float64(float64(k)*ln2High)
}

// Pow is xᵗ of x ≥ 0: 1 where t = 0, else 0 at x = 0 for t > 0.
func Pow(x, t float64) float64 {
	if t == 0 {
		return 1
	}
	if x == 0 && t > 0 {
		return 0
	}
	return Exp(float64(t * Log(x)))
}
