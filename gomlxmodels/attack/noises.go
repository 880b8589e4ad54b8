package attack

import (
	"fmt"
	"math"
)

// Noises moves each noise sample of an image by itself, by at most ε in the Euclidean norm. It goes to where the
// network is furthest from what is known of the image (Jeong, Kim and Shin 2023, arXiv 2212.09000). It raises
//
//	KL(ŷ ‖ softmax f(x + δ_i))
//
// by steps of 2ε/Steps along the normalised gradient, each back into the ball around the noise as it was drawn. Then
// the noise is shifted and stretched to its first mean and mean square, as in the authors' code, so that it still looks
// like noise. That may leave the ball by a little. Values are not clipped.
type Noises struct {
	Epsilon float64 // 1 = full range of a value
	Steps   int
}

// Check says what is wrong with an attack.
func (a *Noises) Check() error {
	if !(a.Epsilon >= 0) || math.IsInf(a.Epsilon, 0) {
		return fmt.Errorf("attack: epsilon is %v; expected a finite number of at least 0", a.Epsilon)
	}
	if a.Steps < 1 {
		return fmt.Errorf("attack: %d steps; expected at least 1", a.Steps)
	}
	return nil
}
