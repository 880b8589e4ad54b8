package attack

import (
	"math"

	"github.com/certspec/certspec/feedforward"
)

// ContrastStart is the corner of the ball of radius ε around x with the most contrast: 1 where x >
// 1 − ε, else max(0, x − ε) (appendix A of Bitterwolf et al. 2020).
func ContrastStart(x []float64, epsilon float64) []float64 {
	z := make([]float64, len(x))
	for i, v := range x {
		if v > 1-epsilon {
			z[i] = 1
		} else {
			z[i] = max(0, v-epsilon)
		}
	}
	return z
}

// MeanStart pulls x towards the mean of an image set by at most ε a value.
func MeanStart(x, mean []float64, epsilon float64) []float64 {
	z := make([]float64, len(x))
	for i, v := range x {
		z[i] = v + min(max(mean[i]-v, -epsilon), epsilon)
	}
	return z
}

// noisy are starts moved by uniform noise: of half-width in every value, or scaled so that the
// largest move is the box's whole half-width.
func (p Problem) noisy(near float64, restart int) [][]float64 {
	points := make([][]float64, len(p.Starts))
	for i, x := range p.Starts {
		rng := p.stream(i, uint64(restart)+1)
		z := make([]float64, len(x))
		largest := 0.0
		for j := range z {
			z[j] = 2*rng.Float64() - 1
			largest = max(largest, math.Abs(z[j]))
		}
		reach := near
		if reach == 0 {
			reach = halfWidth(p.Boxes[i]) / largest
		}
		for j, v := range x {
			z[j] = v + reach*z[j]
		}
		project(z, p.Boxes[i])
		points[i] = z
	}
	return points
}

// UniformStarts are the starts moved by uniform noise of half-width reach in every value, another for each run.
func (p Problem) UniformStarts(reach float64, run int) [][]float64 {
	return p.noisy(reach, uniformRuns+run)
}

// GaussianStarts are the starts moved by Gaussian noise of deviation sigma, another for each run.
func (p Problem) GaussianStarts(sigma float64, run int) [][]float64 {
	points := make([][]float64, len(p.Starts))
	for i, x := range p.Starts {
		rng := p.stream(i, gaussianRuns+uint64(run))
		z := make([]float64, len(x))
		for j, v := range x {
			z[j] = v + sigma*rng.NormFloat64()
		}
		project(z, p.Boxes[i])
		points[i] = z
	}
	return points
}

// Streams of these, beyond the restarts of Auto-PGD.
const (
	uniformRuns  = 1 << 20
	gaussianRuns = 1 << 21
)

// halfWidth is half the longest side of a box, for a ball that is not cut off ε.
func halfWidth(b feedforward.Box) float64 {
	w := 0.0
	for i, lo := range b.Lower {
		w = max(w, b.Upper[i]-lo)
	}
	return w / 2
}
