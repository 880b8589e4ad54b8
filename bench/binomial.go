package main

import (
	"math"
	"math/rand/v2"
)

// binomial is the law of the hits of n trials as a table. distuv.Binomial will not do where counts are to be exact: below a mean
// of 1 it takes the law of Poisson instead.
type binomial struct {
	first int
	below []float64 // probability of at most first, first + 1, … hits
}

// newBinomial leaves out the ends of probability below 2⁻⁶⁰, which a uniform number of 53 bits cannot reach.
func newBinomial(n int, p float64) binomial {
	mode := min(n, int(float64(n+1)*p))
	odds := p / (1 - p)
	var low []float64 // from the mode downwards, in units of the mode's
	for k, mass := mode, 1.0; k >= 0 && mass > 0x1p-60; k-- {
		low = append(low, mass)
		mass *= float64(k) / float64(n-k+1) / odds
	}
	b := binomial{first: mode - len(low) + 1}
	sum := 0.0
	for i := len(low) - 1; i >= 0; i-- {
		sum += low[i]
		b.below = append(b.below, sum)
	}
	for k, mass := mode, 1.0; k < n; k++ {
		if mass *= float64(n-k) / float64(k+1) * odds; mass <= 0x1p-60 {
			break
		}
		sum += mass
		b.below = append(b.below, sum)
	}
	for i := range b.below {
		b.below[i] /= sum
	}
	b.below[len(b.below)-1] = math.Inf(1)
	return b
}

func (b binomial) draw(random *rand.Rand) int {
	u := random.Float64()
	low, high := 0, len(b.below)-1
	for low < high {
		if middle := (low + high) / 2; b.below[middle] > u {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return b.first + low
}
