package corrupt

import "github.com/certspec/certspec/internal/portable"

// gaussianNoise adds N(0, s²) to each value, s = 0.04, 0.06, 0.08, 0.09, 0.10 of the full range.
func gaussianNoise(j job) func() operator {
	return normalLaw(func(float64) float64 { return [...]float64{.04, .06, .08, .09, .10}[j.Severity-1] }).operator
}

// normalLaw adds N(0, deviation(x)²) to a value x. A byte of at most k < 255 comes out where the
// sum is below (k+1)/255.
func normalLaw(deviation func(x float64) float64) *law {
	return newLaw(func(x, k int) float64 {
		margin := float64(k + 1 - x)
		if s := deviation(unit[x]) * 255; s > 0 {
			return portable.NormalCDF(margin / s)
		}
		if margin > 0 {
			return 1
		}
		return 0
	})
}
