package loss

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
)

// Ascent raises a loss of single images in the ball |z − x| ≤ ε, 0 ≤ z ≤ 1 (Hein, Andriushchenko and Bitterwolf 2019).
// From x, steps of 2ε/(Steps + 1) go along the sign of the gradient, each back into the ball. Of all points, x and the
// last one included, the first of the highest loss is kept, image by image.
type Ascent struct {
	Steps int
	Loss  func(logits *Node) *Node // [M] of logits [M, K]
}

// Check says what is wrong with an attack.
func (a *Ascent) Check() error {
	if a.Steps < 1 || a.Loss == nil {
		return fmt.Errorf("attack: %d steps of ascent; expected at least 1, and a loss", a.Steps)
	}
	return nil
}
