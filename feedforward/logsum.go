package feedforward

import "math"

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

func outwards(upper, lower float64, classes int) (float64, float64) {
	relative := max(1e-13, 4e-16*float64(classes)) // of exp, a sum of as many terms, and log1p
	upper, lower = min(upper+relative*math.Abs(upper), 0), lower-relative*math.Abs(lower)
	return upper, max(lower, -math.Log(float64(classes))*(1+relative))
}
