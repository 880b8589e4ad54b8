package resample

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
)

// acceleration is Σ l³/(6 (Σ l²)^1.5) over the units of all levels, where l is the mean of the
// statistic over the units that are left out less the statistic without the unit, by the number of
// units of its level (Davison and Hinkley 1997, (5.31)).
func acceleration(left []level, k int) float64 {
	squares, cubes := 0., 0.
	for _, l := range left {
		mean, n := 0., float64(len(l.without))
		for _, v := range l.without {
			mean += v[k] / n
		}
		for _, v := range l.without {
			l := (mean - v[k]) * (n - 1) / n
			squares += l * l
			cubes += l * l * l
		}
	}
	if squares == 0 {
		return 0
	}
	return cubes / (6 * math.Pow(squares, 1.5))
}

// bca moves the percentiles (Efron 1987): with z₀ = Φ⁻¹(share of resamples below the statistic,
// ties by half) the level α becomes Φ(z₀ + (z₀+z_α)/(1 − a(z₀+z_α))). Where all resamples are on
// one side, or the fraction has a pole, the end is the most extreme resample.
func bca(sorted []float64, value, a, confidence float64) Interval {
	n := len(sorted)
	under := sort.SearchFloat64s(sorted, value)
	upTo := sort.Search(n, func(i int) bool { return sorted[i] > value })
	share := (float64(under) + float64(upTo-under)/2) / float64(n)
	end := func(level float64, up bool) float64 {
		z0, z := mathext.NormalQuantile(share), mathext.NormalQuantile(level)
		at := level
		switch denominator := 1 - a*(z0+z); {
		case share <= 0 || share >= 1 || denominator <= 0:
			if up {
				return sorted[n-1]
			}
			return sorted[0]
		default:
			at = math.Erfc(-(z0+(z0+z)/denominator)/math.Sqrt2) / 2
		}
		if up {
			return sorted[min(n-1, int(math.Ceil(at*float64(n-1))))]
		}
		return sorted[int(math.Floor(at*float64(n-1)))]
	}
	return Interval{end((1-confidence)/2, false), end((1+confidence)/2, true)}
}
