package noise

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/certspec/certspec/pixel"
)

// Gaussian adds normal noise in floating point: x/255 + σz as float32. The set of sums that can
// occur depends on x, so that certificates hold in real arithmetic only (Voracek and Hein
// 2023); Grid has no such gap. z is the NormFloat64 of math/rand/v2 on ChaCha8, whose key is
// the SHA-256 of law, address and number of the sample. It is safe for concurrent use.
type Gaussian struct{ sigma float64 }

// NewGaussian returns the sampler for a finite standard deviation σ > 0 in units of the full
// pixel range. Errors: another σ, as *InputError.
func NewGaussian(sigma float64) (*Gaussian, error) {
	if !(sigma > 0) || math.IsInf(sigma, 0) {
		return nil, &InputError{Argument: "sigma", Value: fmt.Sprint(sigma),
			Expected: "a finite standard deviation above 0"}
	}
	return &Gaussian{sigma}, nil
}

// AddTo fills dst with len(dst)/len(image) noise samples of the grid image, one after the
// other, in units of the full range: those numbered first, first+1, ... of the block at the
// address. It panics where dst does not hold whole images or first is negative.
func (g *Gaussian) AddTo(dst []float32, image []int16, at Address, first int) {
	n := samples(len(dst), len(image), first)
	var source rand.ChaCha8
	normal := rand.New(&source)
	for number := range n {
		source.Seed(key(LawGaussian, at, uint64(first+number)))
		for i, x := range image {
			noise := float64(g.sigma * normal.NormFloat64()) // rounded by itself, on every platform
			dst[i] = float32(float64(x)/pixel.Steps + noise)
		}
		dst = dst[len(image):]
	}
}
