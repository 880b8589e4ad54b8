package loss

import . "github.com/gomlx/gomlx/core/graph"

// normalQuantile is Φ⁻¹(q) by the rational functions of Wichura 1988, algorithm AS 241 (PPND16),
// with a relative error near the number format's; infinite at 0 and 1, NaN outside. It is not
// to be differentiated.
func normalQuantile(q *Node) *Node {
	centered := AddScalar(q, -0.5)
	near := Mul(centered, ratio(AddScalar(Neg(Mul(centered, centered)), 0.180625), centralP, centralQ))

	upper := OneMinus(q)
	tail := Where(LessThan(centered, ZerosLike(q)), q, upper)
	r := Sqrt(Neg(Log(tail)))
	middle := ratio(AddScalar(r, -1.6), middleP, middleQ)
	far := ratio(AddScalar(r, -5), farP, farQ)
	// Where r is infinite the ratio is ∞/∞.
	far = Where(LogicalOr(IsFinite(r), IsNaN(r)), far, r)
	out := Where(LessOrEqual(r, Scalar(q.Graph(), q.DType(), 5.0)), middle, far)
	out = Mul(out, Sign(centered))
	return Where(LessOrEqual(Abs(centered), Scalar(q.Graph(), q.DType(), 0.425)), near, out)
}

// ratio divides two polynomials, coefficients from the constant on.
func ratio(x *Node, p, q []float64) *Node { return Div(polynomial(x, p), polynomial(x, q)) }

func polynomial(x *Node, c []float64) *Node {
	y := AddScalar(ZerosLike(x), c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		y = AddScalar(Mul(y, x), c[i])
	}
	return y
}

// Coefficients of AS 241: |q − ½| ≤ 0.425, then √(−log tail) ≤ 5, then beyond.
var (
	centralP = []float64{3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3,
		1.3731693765509461125e+4,
		4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3}
	centralQ = []float64{1, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3,
		2.1213794301586595867e+4, 3.9307895800092710610e+4, 2.8729085735721942674e+4, 5.2264952788528545610e+3}
	middleP = []float64{1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
		3.64784832476320460504e0,
		1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4}
	middleQ = []float64{1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
		1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}
	farP = []float64{6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
		2.96560571828504891230e-1,
		2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7}
	farQ = []float64{1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
		7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15}
)
