package corrupt

// saturate makes clip(m·S + a, 0, 1) of the saturation S in HSV; (m, a) = (0.3, 0), (0.1, 0), (1.5,
// 0), (2, 0.1), (2.5, 0.2).
func saturate(j job) func() operator {
	c := [...][2]float64{{.3, 0}, {.1, 0}, {1.5, 0}, {2, .1}, {2.5, .2}}[j.Severity-1]
	return saturateBy(c[0], c[1])
}

func saturateBy(factor, add float64) func() operator {
	return inHSV(func(h, s, v float64) (float64, float64, float64) {
		return h, min(max(float64(s*factor)+add, 0), 1), v
	})
}
