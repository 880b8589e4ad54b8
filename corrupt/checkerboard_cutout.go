package corrupt

import (
	"math"

	"github.com/certspec/certspec/internal/portable"
)

// checkerboardCutout makes cells of a randomly turned checkerboard grey, each with the probability
// 0.1, 0.2, 0.3, 0.4, 0.5 (black cells of the board only). The side of a cell is 0.1 to 0.25 of the
// image's.
func checkerboardCutout(j job) func() operator {
	const grey = 128
	share := float64(j.Severity) / 10
	height, width, channels := j.shape.Height, j.shape.Width, j.shape.Channels
	short, long := float64(min(height, width)), float64(max(height, width))
	return func() operator {
		var chosen []bool
		return func(dst, src []uint8, r *stream) {
			sin, cos := portable.Sincos(2 * math.Pi * r.uniform())
			cell := max(1, short*r.between(.1, .25))
			n := int(4 * long / cell)
			chosen = chosen[:0]
			for range n * n {
				chosen = append(chosen, r.uniform() < share)
			}
			copy(dst, src)
			for y := range height {
				for x := range width {
					a := (float64(float64(y)*cos) + float64(float64(x)*sin)) / cell
					b := (float64(float64(x)*cos) - float64(float64(y)*sin)) / cell
					if even(a) != even(b) {
						continue
					}
					// Cells before the first count from the end.
					if i, k := (int(a)+n)%n, (int(b)+n)%n; chosen[i*n+k] {
						for c := range channels {
							dst[(y*width+x)*channels+c] = grey
						}
					}
				}
			}
		}
	}
}

// even reports whether the whole number at or below v is even.
func even(v float64) bool { return int(math.Floor(v))&1 == 0 }
