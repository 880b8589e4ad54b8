package corrupt

// speckleNoise adds x·N(0, s²) to each value x, s = 0.06, 0.1, 0.12, 0.16, 0.2.
func speckleNoise(j job) func() operator {
	s := [...]float64{.06, .1, .12, .16, .2}[j.Severity-1]
	return normalLaw(func(x float64) float64 { return s * x }).operator
}
