package portable

import "math"

// NormalCDF is Φ(x), with an absolute error of some 10⁻¹⁶ (the series of Marsaglia, Evaluating the Normal
// Distribution, Journal of Statistical Software 11(4), 2004); 0 or 1 beyond ±8.
func NormalCDF(x float64) float64 {
	switch {
	case x < -8:
		return 0
	case x > 8:
		return 1
	}
	square := float64(x * x)
	sum, term := x, x
	for i := 3.0; ; i += 2 {
		term = float64(term * (square / i))
		next := sum + term
		if next == sum {
			break
		}
		sum = next
	}
	return min(max(0.5+float64(sum*float64(invSqrt2Pi*Exp(-square/2))), 0), 1)
}

const invSqrt2Pi = 0.39894228040143267793994605993438

// NormalQuantile is Φ⁻¹(p) of 0 < p < 1, with a relative error of some 10⁻¹⁶: algorithm AS 241 of Wichura, The
// Percentage Points of the Normal Distribution, Applied Statistics 37(3), 1988. It is ∓Inf at 0 and 1.
func NormalQuantile(p float64) float64 {
	q := p - 0.5
	if math.Abs(q) <= 0.425 {
		r := 0.180625 - float64(q*q)
		return q * polynomial(r, centre[0]) / polynomial(r, centre[1])
	}
	tail := p
	if q > 0 {
		tail = 1 - p
	}
	if tail <= 0 {
		return math.Copysign(math.Inf(1), q)
	}
	r := math.Sqrt(-Log(tail))
	near := r - 1.6
	form := &middle
	if r > 5 {
		near, form = r-5, &far
	}
	return math.Copysign(polynomial(near, form[0])/polynomial(near, form[1]), q)
}

// Numerators and denominators of AS 241, lowest power first.
var (
	centre = [2][]float64{{
		3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
		4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3,
	}, {
		1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
		2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3,
	}}
	middle = [2][]float64{{
		1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
		1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4,
	}, {
		1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
		1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9,
	}}
	far = [2][]float64{{
		6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
		2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7,
	}, {
		1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
		7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15,
	}}
)
