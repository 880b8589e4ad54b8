package corrupt

// impulseNoise replaces each value with the probability p by 0 or 1, equally likely; p = 0.01, 0.02, 0.03, 0.05, 0.07.
func impulseNoise(j job) func() operator {
	return impulseLaw([...]float64{.01, .02, .03, .05, .07}[j.Severity-1]).operator
}

func impulseLaw(p float64) *law {
	return newLaw(func(x, k int) float64 {
		if k < x {
			return p / 2
		}
		return 1 - p/2
	})
}
