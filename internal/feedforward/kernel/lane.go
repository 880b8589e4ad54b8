// Package kernel computes the inner loops of a network's values and bounds on plain slices: products of matrices,
// points side by side, and rows of coefficients. Each has a plain form, and forms in vectors with the same bits.
package kernel

// Lanes is how many points an evaluation can take side by side: value i of a layer at point j is at i·Lanes + j, so
// that vectors hold points. Each point's values equal an evaluation of it alone, bit by bit but for the sign
// of zeros.
const Lanes = 8

// Lane is one value at all points.
type Lane [Lanes]float64

func LaneOf(x []float64, i int) *Lane { return (*Lane)(x[i*Lanes:]) }

// Everywhere is one value at all points.
func Everywhere(v float64) Lane { return Lane{v, v, v, v, v, v, v, v} }

// Scratch is memory for the steps of a layer, whose content does not last.
type Scratch [2][]Lane

func (s *Scratch) Take(which, n int) []Lane {
	if len(s[which]) < n {
		s[which] = make([]Lane, n)
	}
	return s[which][:n]
}
