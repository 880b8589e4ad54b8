package corrupt

import "github.com/certspec/certspec/internal/portable"

// shotNoise makes of each value x a Poisson number of mean c·x, by c; c = 500, 250, 100, 75, 50 photons.
func shotNoise(j job) func() operator {
	return poissonLaw([...]float64{500, 250, 100, 75, 50}[j.Severity-1]).operator
}

func poissonLaw(photons float64) *law {
	var below [256][256]float64
	for x := range below {
		mean := float64(photons * unit[x])
		p := portable.Exp(-mean)
		for n := 0.0; n < photons; n++ { // the rest of the law becomes 255
			below[x][truncated(n/photons)] += p
			p = float64(p * (mean / (n + 1)))
		}
		for k := 1; k < 256; k++ {
			below[x][k] += below[x][k-1]
		}
	}
	return newLaw(func(x, k int) float64 { return min(below[x][k], 1) })
}
